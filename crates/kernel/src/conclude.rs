//! The end of a visit: its hand-off, and where it leads.
//!
//! Owns the order of the events that close a visit: `routed`, `handoff_written`, then what the course asks for
//! (`interrupt_raised` or `run_ended`). Where a text leads is [`crate::route`]'s business.

use crate::{
    control::VisitState,
    draft::Draft,
    event::{
        About, AttemptSettled, Course, EndStatus, Event, FileChange, HandoffWritten, InterruptRaised, Routed,
        RunEnded,
    },
    flow::Step,
    ids::VisitId,
    input::Refusal,
    route::{self, Decided},
};
use envoi_contract::{
    handoff::{self, Handoff, Status},
    json::{Members, Object, Value},
    routing::{Decision, Signal},
    skill_report::SkillError,
};
use std::sync::Arc;

/// How a visit ended.
pub(crate) enum Conclusion {
    /// Its condition was false.
    Skipped,
    /// It failed, with or without an attempt.
    Failed(SkillError),
    /// Its last attempt succeeded and left this text.
    Succeeded(String),
}

/// Closes `visit` and obeys what follows from it.
pub(crate) fn conclude(
    draft: &mut Draft<'_>,
    visit: &VisitId,
    conclusion: Conclusion,
) -> Result<(), Refusal> {
    let step = draft.step(&visit.step)?;
    let decided = match &conclusion {
        Conclusion::Skipped => skipped(draft, step),
        Conclusion::Failed(error) => failed(step, error),
        Conclusion::Succeeded(text) => route::decide(draft, visit, step, text)?,
    }
    .naming_next();
    let handoff = write_handoff(draft, visit, &conclusion, &decided)?;
    close(draft, visit, decided, Some(handoff))
}

/// Ends the run between the attempts of its open visits. One that has had an attempt leaves the hand-off it has come to:
/// failed, for the reason of its last attempt.
pub(crate) fn give_up(draft: &mut Draft<'_>, end: RunEnded) -> Result<(), Refusal> {
    let tried =
        draft.control.open.iter().filter_map(|(visit, open)| Some((visit.clone(), open.error.clone()?)));
    for (visit, error) in tried.collect::<Vec<_>>() {
        let decided = failed(draft.step(&visit.step)?, &error);
        let handoff = write_handoff(draft, &visit, &Conclusion::Failed(error), &decided)?;
        let Decided { signal, course, audit, .. } = decided;
        draft.emit(Event::Routed(Box::new(Routed { visit: visit.clone(), signal, course, audit })))?;
        draft.emit(Event::HandoffWritten(Box::new(HandoffWritten { visit, handoff })))?;
    }
    draft.emit(Event::RunEnded(end))
}

/// Emits what `decided` says; `handoff` is `None` where the visit's own stands already (a person decided later).
pub(crate) fn close(
    draft: &mut Draft<'_>,
    visit: &VisitId,
    decided: Decided,
    handoff: Option<Handoff>,
) -> Result<(), Refusal> {
    let Decided { signal, course, audit, hold, end, .. } = within_cancel(draft, decided);
    let complete = course == Course::Complete;
    draft.emit(Event::Routed(Box::new(Routed { visit: visit.clone(), signal, course, audit })))?;
    if let Some(handoff) = handoff {
        draft.emit(Event::HandoffWritten(Box::new(HandoffWritten { visit: visit.clone(), handoff })))?;
    }
    if let Some(hold) = hold {
        raise(draft, visit, hold.about, hold.question, hold.evidence)?;
    }
    match end {
        Some(end) => draft.emit(Event::RunEnded(end)),
        None if complete => draft.emit(Event::RunEnded(completed())),
        None => Ok(()),
    }
}

/// A run that is being cancelled asks nothing and ends as cancelled, whatever its last attempt came to; only one that is
/// complete anyway has nothing left to cancel.
fn within_cancel(draft: &Draft<'_>, mut decided: Decided) -> Decided {
    if draft.control.cancelling.is_some() {
        (decided.hold, decided.end) = (None, None);
        if decided.course == Course::Hold {
            decided.course = Course::Stop;
        }
    }
    decided
}

/// Puts a question to a person.
pub(crate) fn raise(
    draft: &mut Draft<'_>,
    visit: &VisitId,
    about: About,
    question: String,
    evidence: Value,
) -> Result<(), Refusal> {
    let interrupt = draft.interrupt_id()?;
    let raised =
        InterruptRaised { interrupt, about, visit: visit.clone(), question, evidence, raised_at: draft.now };
    draft.emit(Event::InterruptRaised(Box::new(raised)))
}

fn completed() -> RunEnded {
    RunEnded {
        status: EndStatus::Succeeded,
        terminal_reason: "completed".to_owned(),
        reason: "Every step is done".to_owned(),
        stopped_by: None,
    }
}

fn skipped(draft: &Draft<'_>, step: &Step) -> Decided {
    let signal = Signal::new(Decision::Advance, "Condition is false", "1.0");
    Decided::new(signal, route::onward(draft, step), Value::from("condition is false"))
}

fn failed(step: &Step, error: &SkillError) -> Decided {
    let reason = format!("Step failed: {}", error.code);
    let mut decided = Decided::new(
        Signal::new(Decision::Terminate, reason, "1.0"),
        Course::Stop,
        Value::from("a failed attempt is not routed"),
    );
    decided.end = Some(RunEnded {
        status: EndStatus::Failed,
        terminal_reason: "tool_failed_fatally".to_owned(),
        reason: format!("Step `{}` failed: {}", step.id, sentence(error)),
        stopped_by: Some(step.id.clone()),
    });
    decided
}

/// `CODE: message`.
fn sentence(error: &SkillError) -> String {
    format!("{}: {}", error.code, error.message)
}

fn write_handoff(
    draft: &Draft<'_>,
    visit: &VisitId,
    conclusion: &Conclusion,
    decided: &Decided,
) -> Result<Handoff, Refusal> {
    let settled = draft.control.open.get(visit).and_then(|open| match &open.state {
        VisitState::Settled(settled) => Some(Arc::clone(settled)),
        _ => None,
    });
    let (status, output, error) = match conclusion {
        Conclusion::Skipped => (Status::Skipped, String::new(), None),
        Conclusion::Failed(error) => (Status::Failed, String::new(), Some(sentence(error))),
        Conclusion::Succeeded(text) => (Status::Succeeded, text.clone(), None),
    };
    let files = settled.as_deref().map(|settled| settled.files.as_slice()).unwrap_or_default();
    let flow_key = draft.flow.id.as_str();
    let input = handoff::Draft {
        identity: Some(handoff::Identity {
            step_id: visit.step.to_string(),
            flow_key: flow_key.to_owned(),
            run_id: draft.run()?.to_string(),
        }),
        routing_signal: Some(decided.signal.clone()),
        output: Some(output),
        artifacts: handoff::Artifacts::Paths(artifacts(flow_key, files)),
        status: Some(status),
        error,
        duration_ms: settled.as_deref().map_or(0, |settled: &AttemptSettled| settled.duration_ms),
        timestamp: Some(draft.now.to_string()),
        file_changes: file_changes(files),
        verification_passed: decided.verified(),
        routing_audit: decided.audit.clone(),
        ..handoff::Draft::default()
    };
    handoff::write(input)
        .map_err(|error| Refusal::Inconsistent { reason: format!("no hand-off can be written: {error}") })
}

/// A file whose name no path of the contract can hold is among the changes only.
fn artifacts(flow_key: &str, files: &[FileChange]) -> Members<String> {
    let kept = files.iter().filter(|file| file.blob.is_some() && is_portable(&file.path));
    kept.map(|file| (file.path.clone(), format!("{flow_key}/{}", file.path))).collect()
}

/// Contract 2: relative, `/` between names, no `..`. The flow's key stands before it, so a drive letter does no harm.
fn is_portable(path: &str) -> bool {
    !path.contains(['\\', '\0']) && path.split('/').all(|name| !name.is_empty() && name != "..")
}

/// Nothing at all where nothing changed: the member is then left out.
fn file_changes(files: &[FileChange]) -> Value {
    if files.is_empty() { Value::Null } else { Value::Array(files.iter().map(file_change).collect()) }
}

fn file_change(file: &FileChange) -> Value {
    let change = match file.change {
        crate::event::Change::Created => "created",
        crate::event::Change::Modified => "modified",
        crate::event::Change::Deleted => "deleted",
    };
    let mut members = Object::default();
    members.insert("path".to_owned(), Value::from(file.path.as_str()));
    if let Some(blob) = &file.blob {
        members.insert("digest".to_owned(), Value::from(blob.digest.to_string()));
        members.insert("size".to_owned(), Value::from(blob.size));
    }
    members.insert("change".to_owned(), Value::from(change));
    Value::Object(members)
}
