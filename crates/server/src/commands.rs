//! What every way in requests from the engine: to start a run, to answer, to raise a bound.
//!
//! Owns how a request reaches the engine's desk, and that a request with a key is done once. `rest`, `a2a` and `bridge`
//! decide how a client states its request and how the result is shown.

pub(crate) mod amount;
pub(crate) mod start;
pub(crate) mod submit;
