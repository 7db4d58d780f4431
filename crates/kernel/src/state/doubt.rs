//! Attempts in doubt (their end is not known), and the results of verifying them.

use crate::model::{
    event::{AttemptSettled, Outcome},
    flow::{InDoubtPolicy, Step},
    ids::AttemptId,
};
use envoi_contract::code::Code;
use envoi_contract::{json::Value, skill_report::SkillError};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// An attempt whose end is not known, until that is decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Doubt {
    pub(crate) attempt: AttemptId,
    /// The known facts about it.
    pub(crate) evidence: Value,
}

/// The result of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VerificationResult {
    Happened,
    DidNotHappen,
    Unknown,
}

impl VerificationResult {
    /// The result of a verification that ended with this outcome.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Exited { code: 0 } => Self::Happened,
            Outcome::Exited { code: 1 } => Self::DidNotHappen,
            _ => Self::Unknown,
        }
    }
}

/// The doubt that this event raises: its attempt is in doubt, and is not a verification.
pub(crate) fn doubt(event: &AttemptSettled) -> Option<Arc<Doubt>> {
    let Outcome::InDoubt { evidence } = &event.outcome else { return None };
    Some(Arc::new(Doubt { attempt: event.attempt.clone(), evidence: evidence.clone() }))
}

/// Whether a person decides about a doubt of this step, or a verification that may ask a person.
pub(crate) fn is_asked_about(step: &Step) -> bool {
    matches!(step.on_in_doubt, InDoubtPolicy::Ask | InDoubtPolicy::Verify(_))
}

/// The error of a visit whose attempt remained in doubt.
pub(crate) fn error(attempt: &AttemptId) -> SkillError {
    SkillError::new(Code::InDoubt, format!("attempt `{attempt}` was started and its end is not known"))
}
