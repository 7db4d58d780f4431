//! Error: an event cannot be written to the journal.

/// An event that the journal must not store, because no reader could decode it.
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
