//! Why an event is not kept.

/// An event that the journal must not have, because no reader could understand it.
#[derive(Debug, thiserror::Error)]
#[error("could not be read again: {reason}")]
pub struct Unreadable {
    reason: String,
}

impl Unreadable {
    pub(super) fn of(error: impl ToString) -> Self {
        Self { reason: error.to_string() }
    }
}
