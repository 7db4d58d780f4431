//! The one loop: read, decide, commit, reconcile.
//!
//! [`Engine`] is the loop, free of threads, clocks and disks: they are arguments. [`Host`] puts it to work: a thread, the
//! journal's writer, real commands under supervisors, and a socket through which other processes hand their runs over. No
//! decision about a run is made here (crate `kernel`), and nothing is formatted for people (crate `cli`).

mod active;
mod activity;
mod alarms;
mod chronicle;
mod claim;
mod courier;
mod desk;
mod engine;
mod followers;
mod host;
mod message;
mod outbox;
mod outputs;
mod placing;
mod processes;
mod runner;

pub mod protocol;
pub mod trace;
mod trouble;

pub use activity::{is_alive, is_held, look_at, run_row};
pub use alarms::SteadyClock;
pub use courier::Notices;
pub use desk::{Desk, load_run};
pub use engine::{Engine, World};
pub use envoi_step::plain;
pub use followers::{Followers, Shower, Watcher};
pub use host::{Client, ClientError, Host, HostError, Settings, now};
pub use message::{Adopt, Ask, Begin, EngineError, Message, Purpose, Reply};
pub use processes::{PerAttempt, Point, Processes, Variable, is_allowed};
pub use runner::{Caller, CallingAttempt, Clock, Job, Log, Observer, Runner, Settlement};
pub use trouble::{Trouble, TroubleKind};
