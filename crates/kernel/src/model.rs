//! The types of a run: ids, events, inputs, the flow as it is executed, and what is counted.
//!
//! Nothing here holds the state of a run ([`crate::state`]) or decides ([`crate::decide`]).

pub(crate) mod attached;
mod bytes_as_text;
pub(crate) mod command;
pub mod event;
pub mod expression;
pub mod family;
pub mod files;
pub mod flow;
pub mod ids;
pub mod input;
pub mod ledger;
pub mod notify;
pub(crate) mod on_conflict;
pub mod part;
pub mod path;
mod refusal;
pub mod requester;
pub(crate) mod secret;
pub(crate) mod size;
pub mod test_result;
pub mod throttle;
mod wants;
pub mod wire;
