//! The requests that all interfaces send to the engine: start a run, answer, raise a limit.
//!
//! Owns how a request reaches the engine's desk, and that a request with a key is carried out once. `rest`,
//! `a2a` and `bridge` decide how a client states its request and how the result is shown.

pub(crate) mod amount;
pub(crate) mod start;
pub(crate) mod submit;
