//! What every way in asks of the engine: to start a run, to answer, to raise a bound.
//!
//! Owns how a request reaches the engine's desk, and that one with a key is done once. How a client says what it wants, and
//! how the result is shown, is decided by `rest`, `a2a` and `bridge`.

pub(crate) mod amount;
pub(crate) mod start;
pub(crate) mod submit;
