//! The end of a visit: its hand-off, and where it leads.
//!
//! Owns the order of the events that close a visit: `routed`, `handoff_written`, then what the course asks for
//! (`interrupt_raised` or `run_ended`). Where a text leads is [`crate::route`]'s business.

use crate::{
    control::VisitState,
    diversion,
    draft::Draft,
    event::{
        About, AttemptSettled, Course, EndStatus, Event, FileChange, HandoffWritten, InterruptRaised, Routed,
        RunEnded,
    },
    flow::Step,
    ids::VisitId,
    input::Refusal,
    route::{self, Decided},
    subject,
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

/// What a hand-off tells of a visit.
pub(crate) struct Told {
    pub(crate) status: Status,
    pub(crate) text: String,
    pub(crate) error: Option<String>,
}

impl Told {
    fn of(conclusion: &Conclusion) -> Self {
        match conclusion {
            Conclusion::Skipped => Self { status: Status::Skipped, text: String::new(), error: None },
            Conclusion::Failed(error) => Self::failed(String::new(), error),
            Conclusion::Succeeded(text) => Self::succeeded(text.clone()),
        }
    }

    pub(crate) fn succeeded(text: String) -> Self {
        Self { status: Status::Succeeded, text, error: None }
    }

    pub(crate) fn failed(text: String, error: &SkillError) -> Self {
        Self { status: Status::Failed, text, error: Some(sentence(error)) }
    }
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
        Conclusion::Failed(error) if step.continue_on_error => passed_over(draft, step, error),
        Conclusion::Failed(error) => failed(step, error),
        Conclusion::Succeeded(text) => route::decide(draft, visit, step, text)?,
    };
    leave(draft, visit, Told::of(&conclusion), decided)
}

/// Writes the hand-off that `told` makes, and obeys what is decided.
pub(crate) fn leave(
    draft: &mut Draft<'_>,
    visit: &VisitId,
    told: Told,
    decided: Decided,
) -> Result<(), Refusal> {
    let decided = decided.naming_next();
    let handoff = write_handoff(draft, visit, told, &decided)?;
    close(draft, visit, decided, Some(handoff))
}

/// Ends the run between the attempts of its open visits. One that has had an attempt leaves the hand-off it has come to:
/// failed, for the reason of its last attempt.
pub(crate) fn give_up(draft: &mut Draft<'_>, end: RunEnded) -> Result<(), Refusal> {
    let tried =
        draft.control.open.iter().filter_map(|(visit, open)| Some((visit.clone(), open.error.clone()?)));
    for (visit, error) in tried.collect::<Vec<_>>() {
        let decided = failed(draft.step(&visit.step)?, &error);
        let handoff = write_handoff(draft, &visit, Told::failed(String::new(), &error), &decided)?;
        let Decided { signal, course, audit, .. } = decided;
        let answer = None;
        draft.emit(Event::Routed(Box::new(Routed {
            visit: visit.clone(),
            signal,
            course,
            audit,
            answer,
        })))?;
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
    let decided = diversion::end_of(draft, visit, within_cancel(draft, decided));
    let Decided { signal, course, audit, hold, end, answer, .. } = decided;
    let complete = course == Course::Complete;
    draft.emit(Event::Routed(Box::new(Routed { visit: visit.clone(), signal, course, audit, answer })))?;
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

/// Puts a question of the engine's own to a person; these never expire.
pub(crate) fn raise(
    draft: &mut Draft<'_>,
    visit: &VisitId,
    about: About,
    question: String,
    evidence: Value,
) -> Result<(), Refusal> {
    let raised = InterruptRaised {
        interrupt: draft.interrupt_id()?,
        about,
        visit: visit.clone(),
        question,
        evidence,
        raised_at: draft.now,
        kind: None,
        expires_at: None,
        subject: Some(subject::digest(draft, &[])),
        found: Vec::new(),
    };
    draft.emit(Event::InterruptRaised(Box::new(InterruptRaised { kind: Some(raised.kind()), ..raised })))
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

/// The visit has failed, and the flow says that the run goes on all the same.
fn passed_over(draft: &Draft<'_>, step: &Step, error: &SkillError) -> Decided {
    let signal = Signal::new(Decision::Advance, format!("Step failed: {}", error.code), "1.0");
    Decided::new(
        signal,
        route::onward(draft, step),
        Value::from("a failed attempt is not routed: continue_on_error"),
    )
}

pub(crate) fn failed(step: &Step, error: &SkillError) -> Decided {
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

/// Where the files of an answer stand, relative to the run's folder.
fn answered_files(draft: &Draft<'_>, visit: &VisitId) -> Members<String> {
    let Some(VisitState::Answered(answered)) = draft.control.open.get(visit).map(|open| &open.state) else {
        return Members::new();
    };
    let place = |name: String| {
        let path = format!("answers/{}/files/{name}", answered.interrupt);
        (name, path)
    };
    answered.files().into_iter().map(|(name, _)| place(name)).collect()
}

fn write_handoff(
    draft: &Draft<'_>,
    visit: &VisitId,
    told: Told,
    decided: &Decided,
) -> Result<Handoff, Refusal> {
    let settled = draft.control.open.get(visit).and_then(|open| match &open.state {
        VisitState::Settled(settled) => Some(Arc::clone(settled)),
        _ => None,
    });
    let mut paths = answered_files(draft, visit);
    let files = settled.as_deref().map(|settled| settled.files.as_slice()).unwrap_or_default();
    let flow_key = draft.flow.id.as_str();
    for (name, path) in artifacts(flow_key, files).iter() {
        paths.insert(name, path.clone());
    }
    let input = handoff::Draft {
        identity: Some(handoff::Identity {
            step_id: visit.step.to_string(),
            flow_key: flow_key.to_owned(),
            run_id: draft.run()?.to_string(),
        }),
        routing_signal: Some(decided.signal.clone()),
        output: Some(told.text),
        artifacts: handoff::Artifacts::Paths(paths),
        status: Some(told.status),
        error: told.error,
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
