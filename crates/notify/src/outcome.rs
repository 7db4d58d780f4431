//! The outcome of one try.

use std::time::Duration;

/// The outcome of one try to deliver a notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver has confirmed that it has the notice.
    Delivered,
    /// The receiver may or may not have it. Another try may succeed.
    Failed {
        /// Why, on one line, without secrets.
        error: String,
        /// The wait that the receiver wants before the next try.
        wait: Option<Duration>,
    },
    /// The receiver refuses it for good: another try would not change that.
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
