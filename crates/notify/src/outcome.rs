//! What one try has come to.

use std::time::Duration;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver has it, and says so.
    Delivered,
    /// It may or may not have it; another try may go better.
    Failed {
        /// Why, on one line, without secrets.
        error: String,
        /// How long the receiver asks to be left alone.
        wait: Option<Duration>,
    },
    /// The receiver does not want it, and no further try will change that.
    Refused {
        /// Why, on one line.
        error: String,
    },
}

impl Outcome {
    /// A failure after which the ordinary wait is right.
    #[must_use]
    pub fn failed(error: impl Into<String>) -> Self {
        Self::Failed { error: error.into(), wait: None }
    }
}
