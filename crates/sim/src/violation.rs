//! A broken promise.

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{promise}` is not kept: {found}")]
pub struct Violation {
    /// The promise.
    pub promise: &'static str,
    /// The fault that was found.
    pub found: String,
}

impl Violation {
    pub(crate) fn new(promise: &'static str, found: impl Into<String>) -> Self {
        Self { promise, found: found.into() }
    }
}

/// Fails unless it holds.
pub(crate) fn holds(
    holds: bool,
    promise: &'static str,
    found: impl FnOnce() -> String,
) -> Result<(), Violation> {
    if holds { Ok(()) } else { Err(Violation::new(promise, found())) }
}
