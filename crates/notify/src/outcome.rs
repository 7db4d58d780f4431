//! The outcome of one try.

use std::time::Duration;

/// The outcome of one try to deliver a notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver has confirmed that it has the notice.
    Delivered,
    /// The receiver may or may not have the notice. Another try may succeed.
    Failed {
        /// Why, on one line, without secrets.
        error: String,
        /// How long the receiver wants the sender to wait before the next try.
        wait: Option<Duration>,
    },
    /// The receiver refuses the notice for good: another try would not help.
    Refused {
        /// Why, on one line.
        error: String,
    },
}

impl Outcome {
    /// A failure with the usual wait.
    #[must_use]
    pub fn failed(error: impl Into<String>) -> Self {
        Self::Failed { error: error.into(), wait: None }
    }
}
