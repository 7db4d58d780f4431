//! Errors that prevent a try of a notice: a fault of the store or of the machine, not of the target.

use crate::model::secret_source::SourceError;
use envoi_journal::ReadError;

/// Why a notice cannot be tried.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotPrepared {
    /// The journal cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The row refers to an event that the run does not have.
    #[error("its event is not in the journal")]
    NoEvent,
    /// The event closes a question that the run does not have.
    #[error("its question is not in the journal")]
    NoQuestion,
    /// The id does not match the row: a damaged row must not send a notice about another run.
    #[error("its id `{id}` is not that of its event, `{expected}`")]
    OtherId { id: String, expected: String },
    /// This event has no notices.
    #[error("there is no notice of `{event}`")]
    NoNotice { event: &'static str },
    /// The row was written by another version.
    #[error("its target cannot be understood: {0}")]
    Target(#[from] serde_json::Error),
    /// The token of a webhook is a variable that is not set.
    #[error("`token`: the variable `{variable}` is not set where the engine runs")]
    TokenNotSet { variable: String },
    /// The token of a webhook cannot be read.
    #[error("`token`: {0}")]
    Token(SourceError),
}

impl From<SourceError> for NotPrepared {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::NotSet { variable } => Self::TokenNotSet { variable },
            error @ SourceError::Unreadable { .. } => Self::Token(error),
        }
    }
}
