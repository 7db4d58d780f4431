//! The one loop: read, decide, commit, reconcile.
//!
//! [`Engine`] is the loop, free of threads, clocks and disks: they are arguments. [`Host`] puts it to work: a thread, the
//! journal's writer, real commands under supervisors, and a socket through which other processes hand their runs over. No
//! decision about a run is made here (crate `kernel`), and nothing is formatted for people (crate `cli`).
//!
//! Layers, the lowest first: `model` (what the parts pass to each other), `query` (what is read), `event_loop`, `observe`
//! (what follows a commit at once), `attempts`, `delivery` (notices), `commands` (requests), `host`.

mod attempts;
mod commands;
mod delivery;
mod event_loop;
mod host;
mod model;
mod observe;
mod query;

pub use attempts::{
    accounts::{AccountError, AgentAccount, AgentAccounts},
    callable_models::{Callable, CallableModel, CallableModels},
    git::{GitUnusable, git_version},
    merge::run as merge_items,
    not_passed::is_aside,
    outside::{Outside, OutsideUnknown, changed_outside},
    processes::Processes,
    secrets::findable_secrets,
    variables::{PerAttempt, Variable, is_allowed},
};
pub use commands::{
    apply::last_applied, collect::collectable, elsewhere, handler::Commands, names::Names, take_up::TakingUp,
    trees,
};
pub use delivery::settings::Notices;
pub use envoi_step::plain;
pub use event_loop::engine::{Engine, World};
pub use host::{Client, ClientError, Host, HostError, Settings};
pub use model::{
    clock::{SteadyClock, now},
    crash_point::Point,
    message::{Adopt, Begin, Corrected, EngineError, Message, Purpose, Reply},
    protocol, retention,
    runner::{Caller, CallingAttempt, Clock, Job, Log, Observer, Runner, Settlement, ShowError, StoreGone},
    secret_source::{SourceError, secret_value},
    trace,
    trouble::{Trouble, TroubleKind},
};
pub use observe::{
    file_projector::FileProjector,
    followers::{Followers, Watcher},
    step_cache::{CachedResult, cached_results, remove_cached},
};
pub use query::{
    activity::{is_alive, is_held, look_at, run_row},
    flow_cache::{ParsedFlow, flow_parsed_now, parsed_flow, parsed_flow_of},
    load::{check_not_aside, flow_folder, flow_versions, load_run, load_without_envelope, why_unreadable},
    obstacles::{check_family_over, files_otherwise},
    question::{Changed, LoadedQuestion, changed_files, files_of_visit, load_question},
    snapshots,
};
