//! Events of a model call: its announcement, and its end with its usage.

use crate::model::{
    ids::{AttemptId, CallId},
    ledger::Cost,
};
use envoi_contract::time::Timestamp;
use serde::{Deserialize, Serialize};

/// See [`Event::ModelCallStarted`](super::Event::ModelCallStarted).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCallStarted {
    /// Its id.
    pub call: CallId,
    /// The attempt whose command made the call. `None`: another caller, charged to the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptId>,
    /// The model, by its name in the configuration.
    pub model: String,
    /// The provider, by its name in the configuration.
    pub provider: String,
}

/// See [`Event::ModelCallEnded`](super::Event::ModelCallEnded).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCallEnded {
    /// The call.
    pub call: CallId,
    /// As in [`ModelCallStarted::attempt`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptId>,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Input tokens; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<u64>,
    /// Output tokens; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<u64>,
    /// The cost; `None`: not known, or the model has no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Duration in milliseconds; 0 if not known.
    pub duration_ms: u64,
    /// Set if the provider refused the call because of a limit of its account: when that limit ends,
    /// according to the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_until: Option<Timestamp>,
}

/// How a call of a model ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// It was answered.
    Ok,
    /// It was not answered, or answered with an error.
    Failed,
    /// The caller or the engine disappeared. The usage is known up to that point.
    BrokenOff,
}

impl CallOutcome {
    /// The word for it in events.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::BrokenOff => "broken_off",
        }
    }
}
