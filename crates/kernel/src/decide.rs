//! The decisions: one function for each input, and the rules that they share.
//!
//! A decision reads the state and emits events on a [`draft::Draft`], which tries each of them on a copy of the state. Decisions
//! may call each other; [`crate::model`] and [`crate::state`] do not know them.

pub(crate) mod abandon;
pub(crate) mod advance;
pub(crate) mod agent;
pub(crate) mod answer;
pub(crate) mod ask;
pub(crate) mod call;
pub(crate) mod cancel;
pub(crate) mod conclude;
pub(crate) mod correct;
pub(crate) mod data;
pub(crate) mod draft;
pub(crate) mod ending;
pub(crate) mod expire;
pub(crate) mod files;
pub(crate) mod for_each;
pub(crate) mod fork;
pub(crate) mod left_out;
pub(crate) mod model_call;
pub(crate) mod on_deny;
pub(crate) mod program;
pub(crate) mod raise;
pub(crate) mod render;
pub(crate) mod reopen;
pub(crate) mod retry;
pub(crate) mod rounds;
pub(crate) mod route;
pub(crate) mod set_back;
pub(crate) mod settle;
pub(crate) mod start;
pub(crate) mod subflow;
pub(crate) mod subject;
pub(crate) mod takeover;
pub(crate) mod throttle;
pub(crate) mod timer;
pub(crate) mod try_now;
pub(crate) mod verdict;
pub(crate) mod verify;
