//! An `a2a` step: how far a visit has come with another agent.
//!
//! An attempt exchanges messages with the agent until it has an end, or asks. A question of the agent's is raised as one of
//! the run's; the next attempt of the same visit passes the answer on. Owns the deciding parts: the task and the message, the
//! agent's outcome in an attempt's report, and the consequences of a question and of a denial. The protocol is not known here.
//! An agent program asks in the same way, about a call of a tool; it gets the denial and goes on.

use crate::{
    decide::{
        conclude::{self, Conclusion, Question},
        draft::Draft,
    },
    model::{
        command::{Call, Command},
        event::{About, AgentOutcome, AttemptSettled, EndStatus, RunEnded},
        flow::{InDoubtPolicy, Step, StepKind},
        ids::VisitId,
        input::{AttemptResult, Refusal},
        size::{MAX_QUESTION_BYTES, fits},
    },
    state::visit::OpenVisit,
};
use envoi_contract::code::Code;
use envoi_contract::envelope::{InterruptKind, TerminalReason};
use envoi_contract::{
    json::Value,
    skill_report::{SkillError, SkillReport},
};

/// The call that the live attempt of a visit makes, if it makes one.
fn call(open: &OpenVisit) -> Option<&Call> {
    match &open.plan.as_ref()?.command {
        Command::A2a(call) => Some(call),
        Command::Exec(_) | Command::Shell(_) | Command::Agent(_) | Command::Model(_) | Command::Merge(_) => {
            None
        }
    }
}

/// The agent's outcome in the report of the live attempt of a visit, if it has a session with an agent.
pub(crate) fn outcome(open: &OpenVisit, result: &AttemptResult) -> Option<AgentOutcome> {
    let command = &open.plan.as_ref()?.command;
    let is_program = matches!(command, Command::Agent(_));
    if !is_program {
        call(open)?;
    }
    let report = SkillReport::decode(result.report.as_deref()?).ok()?;
    let state = report.unknown.get("agent")?;
    match state.get("said").and_then(Value::as_str)? {
        "asks" => {
            let text = state.get("question").and_then(Value::as_str).unwrap_or("");
            let evidence = state.get("evidence").cloned().unwrap_or_default();
            let evidence = if fits(&evidence) { evidence } else { Value::Null };
            let takes_words = state.get("takes").and_then(Value::as_str) != Some("decision");
            let kind = if takes_words { InterruptKind::Clarification } else { InterruptKind::Confirmation };
            let kind = is_program.then_some(kind);
            Some(AgentOutcome::Asks { text: cut(text).to_owned(), evidence, kind })
        }
        _ if is_program => None,
        "over" => Some(AgentOutcome::Over),
        "unclear" => Some(AgentOutcome::Unclear),
        _ => None,
    }
}

fn cut(text: &str) -> &str {
    let end = (0..=MAX_QUESTION_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or(text)
}

/// Whether the live attempt of a visit passes a denial on to the agent.
pub(crate) fn tells_a_denial(open: &OpenVisit) -> bool {
    call(open).is_some_and(|call| call.denied)
}

/// Whether a person has denied what the agent of this visit asks for.
pub(crate) fn is_denied(draft: &Draft<'_>, visit: &VisitId) -> bool {
    draft.control.open.get(visit).is_some_and(|open| open.agent_session.denied_by.is_some())
}

/// The agent has a question, or it is not known whether it took the message: a question is put to a person.
pub(crate) fn follow(
    draft: &mut Draft<'_>,
    step: &Step,
    settled: &AttemptSettled,
    error: Option<SkillError>,
) -> Result<(), Refusal> {
    let visit = &settled.attempt.visit;
    let asks = match &settled.agent {
        Some(AgentOutcome::Asks { text, evidence, kind }) => Some((text, evidence, *kind)),
        _ => None,
    };
    let error = error.unwrap_or_else(|| {
        SkillError::new(Code::AgentUnanswered, "the agent asks, and the run does not go on".to_owned())
    });
    // A run that is ending puts no question.
    if draft.control.winds_down() {
        return conclude::conclude(draft, visit, Conclusion::CutShort(error, String::new()));
    }
    if asks.is_none() && step.on_in_doubt == InDoubtPolicy::Fail {
        return conclude::conclude(draft, visit, Conclusion::Failed(error));
    }
    if let Some((text, evidence, kind)) = asks {
        let blank = text.trim().is_empty();
        let question = if blank { format!("The agent of step `{}` asks.", step.id) } else { text.clone() };
        let lapses = match &step.kind {
            StepKind::Agent(plan) => plan.ask.expires_in_ms,
            _ => None,
        };
        let expires_at = lapses.map(|ms| draft.now.saturating_add_ms(ms));
        let question = Question { kind, expires_at, text: question, evidence: evidence.clone() };
        return conclude::raise_question(draft, visit, About::Agent, question);
    }
    let question = format!("{}. Send it again, or fail?", error.message);
    conclude::raise(draft, visit, About::InDoubt, question, settled.data.clone())
}

/// Closes a visit after a person denied what its agent wanted.
pub(crate) fn deny(draft: &mut Draft<'_>, visit: &VisitId) -> Result<(), Refusal> {
    let open = draft.control.open.get(visit);
    let by = open.and_then(|open| open.agent_session.denied_by.clone()).unwrap_or_default();
    let error = SkillError::new(Code::Denied, format!("{by} denied what the agent asked for"));
    let end = RunEnded::new(EndStatus::Failed, TerminalReason::PolicyViolation, String::new(), None);
    conclude::conclude(draft, visit, Conclusion::Ended(error, end))
}
