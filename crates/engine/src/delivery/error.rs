//! Why a notice cannot even be tried: a fault of the store or of the machine, not of the target.

use crate::model::secret_source::SourceError;
use envoi_journal::ReadError;

/// See the module.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotPrepared {
    /// The journal cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The row names an event that the run does not have.
    #[error("its event is not in the journal")]
    NoEvent,
    /// The event closes a question that the run does not have.
    #[error("its question is not in the journal")]
    NoQuestion,
    /// A row that was damaged must not tell of another run.
    #[error("its id `{id}` is not that of its event, `{expected}`")]
    OtherId { id: String, expected: String },
    /// This event has no notices.
    #[error("there is no notice of `{event}`")]
    NoNotice { event: &'static str },
    /// The row is another version's.
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
