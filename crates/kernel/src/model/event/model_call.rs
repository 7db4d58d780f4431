//! Events of a model call: its announcement, and what it used.

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
    /// The attempt whose command called. `None`: another caller, on the account of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptId>,
    /// Which model, as the configuration names it.
    pub model: String,
    /// Who offers it, as the configuration names it.
    pub provider: String,
}

/// See [`Event::ModelCallEnded`](super::Event::ModelCallEnded).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCallEnded {
    /// Which.
    pub call: CallId,
    /// As in [`ModelCallStarted::attempt`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptId>,
    /// How.
    pub outcome: CallOutcome,
    /// Tokens that the model was given; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<u64>,
    /// Tokens that the model gave; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<u64>,
    /// What it cost; `None`: not known, or the model has no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// How long it took; 0 where that is not known.
    pub duration_ms: u64,
    /// The provider refused it because of a limit of its account, and says that the limit is over then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_until: Option<Timestamp>,
}

/// How a call of a model ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// It was answered.
    Ok,
    /// It was not, or with an error.
    Failed,
    /// The caller or the engine went away. The usage is known up to that point.
    BrokenOff,
}

impl CallOutcome {
    /// The word for it, as it is written.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::BrokenOff => "broken_off",
        }
    }
}
