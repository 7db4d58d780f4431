//! One run as a pure state machine: events in, state and wants out.
//!
//! Owns every decision about what happens next. Does no IO, reads no clock, makes no random choice and starts no thread: time
//! arrives with the input, ids are derived. Living through a run and recovering it share [`Run::apply`]. It does not know
//! how a step is executed (`step`), what lasts (`journal`), or how a flow is written (`flow`).

mod accounts;
mod advance;
mod agent;
mod answer;
mod ask;
mod attached;
mod bounds;
mod budget;
mod call;
mod cancel;
mod conclude;
mod control;
mod diversion;
mod draft;
mod ending;
mod expire;
mod fan;
mod fit;
mod fork;
mod frame;
mod give_up;
mod graph;
mod inner;
mod limit;
mod loops;
mod projection;
mod raise;
mod render;
mod reopen;
pub mod requester;
mod retry;
mod rounds;
mod route;
mod run;
mod settle;
mod size;
mod start;
mod status;
mod subject;
mod timer;
mod verdict;
mod verify;

pub mod event;
pub mod expression;
pub mod family;
pub mod files;
pub mod flow;
pub mod ids;
pub mod input;
pub mod ledger;
pub mod notify;

pub use control::ApplyError;
pub use event::{Event, Record};
pub use flow::Flow;
pub use fork::{Cut, Fork};
pub use input::{Input, Refusal, Wants};
pub use run::{Progress, ReplayError, Run};
pub use settle::{COPIED, MAX_RERUNS};
pub use status::Status;
