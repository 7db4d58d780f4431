//! An attempt of which it is not known how it ended, and what a verification says of it.

use crate::model::{
    event::{AttemptSettled, Outcome},
    flow::{InDoubtPolicy, Step},
    ids::AttemptId,
};
use envoi_contract::code::Code;
use envoi_contract::{json::Value, skill_report::SkillError};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// An attempt whose end is not known, until that is settled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Doubt {
    pub(crate) attempt: AttemptId,
    /// What is known of it.
    pub(crate) evidence: Value,
}

/// What a verification has found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VerificationResult {
    Happened,
    DidNotHappen,
    Unknown,
}

impl VerificationResult {
    /// The result of a verification that ended like this.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Exited { code: 0 } => Self::Happened,
            Outcome::Exited { code: 1 } => Self::DidNotHappen,
            _ => Self::Unknown,
        }
    }
}

/// An attempt is in doubt, and is no verification.
pub(crate) fn doubt(event: &AttemptSettled) -> Option<Arc<Doubt>> {
    let Outcome::InDoubt { evidence } = &event.outcome else { return None };
    Some(Arc::new(Doubt { attempt: event.attempt.clone(), evidence: evidence.clone() }))
}

/// Whether a person decides about what is in doubt of this step, or a verification that may ask one.
pub(crate) fn is_asked_about(step: &Step) -> bool {
    matches!(step.on_in_doubt, InDoubtPolicy::Ask | InDoubtPolicy::Verify(_))
}

/// The error of a visit whose attempt stayed in doubt.
pub(crate) fn error(attempt: &AttemptId) -> SkillError {
    SkillError::new(Code::InDoubt, format!("attempt `{attempt}` was started and its end is not known"))
}
