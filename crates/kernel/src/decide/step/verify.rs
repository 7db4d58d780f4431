//! `on_in_doubt: {verify: …}`: a command finds out whether an attempt in doubt happened.
//!
//! A verification is an attempt of the same visit, with a number of its own, and counts as a hop. It has no budget and is no
//! try. Exit code 0: it happened, and the verification's output counts as the step's. 1: it did not, and is run again. Any
//! other end decides nothing: a person decides, with the output of the verification as evidence.

use crate::state::{
    doubt::{self, Doubt, VerificationResult},
    visit,
};
use crate::{
    decide::{
        conclude::{self, Conclusion},
        draft::Draft,
        settle::MAX_RERUNS,
    },
    model::{
        event::{About, AttemptSettled, Outcome},
        flow::Step,
        ids::{AttemptId, VisitId},
        input::Refusal,
    },
    state::visit::OpenVisit,
};
use envoi_contract::code::Code;
use envoi_contract::{
    json::{Object, Value},
    skill_report::{SkillError, Verdict},
};

/// The code of a verification that found that nothing happened.
const DID_NOT_HAPPEN: Code = Code::DidNotHappen;

/// The verdict on a verification; it is the verdict on the step if the step's attempt happened.
pub(crate) fn judged(
    verification: Option<VerificationResult>,
    verified: Option<&AttemptId>,
    mut verdict: Verdict,
) -> Verdict {
    if let (Some(VerificationResult::DidNotHappen), Some(attempt)) = (verification, verified) {
        let message = format!("attempt `{attempt}` did not happen, says its verification");
        verdict.ok = false;
        verdict.error = Some(SkillError::new(DID_NOT_HAPPEN, message));
    }
    verdict
}

/// Decides after a verification that did not confirm the attempt.
pub(crate) fn follow(
    draft: &mut Draft<'_>,
    settled: &AttemptSettled,
    verification: VerificationResult,
    stderr: &str,
) -> Result<(), Refusal> {
    let visit = &settled.attempt.visit;
    let Some(open) = draft.control.open.get(visit) else { return Ok(()) };
    if draft.control.winds_down() {
        let unknown = || doubt::error(&in_doubt(open, visit));
        let error = open.error.clone().unwrap_or_else(unknown);
        return conclude::conclude(draft, visit, Conclusion::CutShort(error, String::new()));
    }
    let again = verification == VerificationResult::DidNotHappen;
    if again && open.doubts <= MAX_RERUNS {
        return Ok(());
    }
    let also = if again {
        format!(
            "its verification `{}` says that it did not. It has been run again {MAX_RERUNS} times",
            settled.attempt
        )
    } else {
        format!("its verification `{}` {}, which says neither", settled.attempt, ended(&settled.outcome))
    };
    ask(draft, visit, &also, &settled.outcome, stderr)
}

/// The run was reopened while an attempt was in doubt. The question is put again before the step runs again.
pub(crate) fn ask_again(draft: &mut Draft<'_>, visit: &VisitId, doubt: &Doubt) -> Result<(), Refusal> {
    let question = format!(
        "Attempt `{}` was started and nobody knows whether it finished. Run it again, or fail?",
        doubt.attempt
    );
    conclude::raise(draft, visit, About::InDoubt, question, doubt.evidence.clone())
}

/// A verification that cannot even be started, because its templates cannot be filled in, confirms nothing either. False if
/// the next attempt of `visit` is none.
pub(crate) fn cannot_start(
    draft: &mut Draft<'_>,
    visit: &VisitId,
    step: &Step,
    error: &SkillError,
) -> Result<bool, Refusal> {
    if draft.control.open.get(visit).is_none_or(|open| visit::next(open, step).is_none()) {
        return Ok(false);
    }
    let reason = format!("{}: {}", error.code, error.message);
    let outcome = Outcome::CannotStart { reason };
    let also = format!("its verification {}", ended(&outcome));
    ask(draft, visit, &also, &outcome, "").map(|()| true)
}

/// The attempt of a visit that is in doubt: the last one, or the one that the last one verifies.
pub(crate) fn in_doubt(open: &OpenVisit, visit: &VisitId) -> AttemptId {
    let known = open.doubt.as_ref().map(|doubt| doubt.attempt.clone());
    known.unwrap_or_else(|| visit.attempt(open.attempts))
}

fn ask(
    draft: &mut Draft<'_>,
    visit: &VisitId,
    also: &str,
    outcome: &Outcome,
    stderr: &str,
) -> Result<(), Refusal> {
    let Some(open) = draft.control.open.get(visit) else { return Ok(()) };
    let question = format!(
        "Attempt `{}` was started and nobody knows whether it finished; {also}. Run it again, or fail?",
        in_doubt(open, visit)
    );
    let known = open.doubt.as_ref().and_then(|doubt| doubt.evidence.as_object());
    let mut members = known.cloned().unwrap_or_default();
    add_output(&mut members, outcome, stderr);
    conclude::raise(draft, visit, About::InDoubt, question, Value::Object(members))
}

/// Adds the output of the verification to the evidence.
fn add_output(members: &mut Object, outcome: &Outcome, stderr: &str) {
    members.insert("verification", Value::from(ended(outcome)));
    if !stderr.trim_ascii().is_empty() {
        members.insert("verification_said", Value::from(stderr));
    }
    if let Outcome::InDoubt { evidence } = outcome {
        members.insert("verification_evidence", evidence.clone());
    }
}

fn ended(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Exited { code } => format!("exited with code {code}"),
        Outcome::Signalled { signal } => format!("was ended by signal {signal}"),
        Outcome::TimedOut => "ran longer than the step may".to_owned(),
        Outcome::Cancelled => "was cancelled".to_owned(),
        Outcome::CannotStart { reason } => format!("cannot be started: {reason}"),
        Outcome::InDoubt { .. } => "is in doubt itself".to_owned(),
    }
}
