//! The decisions: one function for each input, and the rules that they share.
//!
//! A decision reads the state and emits events on a [`draft::Draft`], which tries each of them on a copy of the state. Decisions
//! may call each other; [`crate::model`] and [`crate::state`] do not know them.

pub(crate) mod abandon;
pub(crate) mod advance;
pub(crate) mod after_bound;
pub(crate) mod conclude;
pub(crate) mod draft;
pub(crate) mod ending;
mod input;
pub(crate) mod left_out;
pub(crate) mod merge;
pub(crate) mod on_deny;
pub(crate) mod rounds;
pub(crate) mod route;
pub(crate) mod set_back;
mod step;
pub(crate) mod takeover;

pub(crate) use input::{
    answer, call, cancel, correct, expire, files, fork, raise, reopen, settle, start, timer, try_now,
};
pub(crate) use step::{
    agent, ask, data, for_each, model_call, own_login, program, render, retry, subflow, subject, throttle,
    verdict, verify,
};
