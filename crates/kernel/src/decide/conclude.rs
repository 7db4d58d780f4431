//! The end of a visit: its hand-off, and the way on.
//!
//! Owns the order of the events that close a visit: `routed`, `handoff_written`, then the event of the course
//! (`interrupt_raised` or `run_ended`). [`crate::decide::route`] decides where a text leads.

use crate::model::files;
use crate::state::limits::Bound;
use crate::{
    decide::{
        abandon,
        draft::{At, Draft},
        ending, left_out, on_deny, rounds,
        route::{self, Decided},
        subflow, subject, takeover,
    },
    model::{
        event::{
            About, AttemptSettled, Course, Done, EndStatus, Event, HandoffWritten, InterruptRaised, Routed,
            RunEnded,
        },
        files::FileChange,
        ids::VisitId,
        input::Refusal,
        size,
    },
    state::visit::VisitState,
};
use envoi_contract::envelope::{InterruptKind, TerminalReason};
use envoi_contract::{
    handoff::{self, Handoff, Status},
    json::{Members, Value},
    routing::{Decision, Signal},
    skill_report::SkillError,
    time::Timestamp,
};
use std::{collections::BTreeMap, sync::Arc};

/// How a visit ended.
pub(crate) enum Conclusion {
    /// It is not to be done, for this reason.
    Skipped(&'static str),
    /// It failed without an attempt that left a text.
    Failed(SkillError),
    /// Its last attempt failed and left this text.
    FailedAfter(SkillError, String),
    /// As the one before. It would not have failed yet if the run were not being ended. So it stops the run also with
    /// `continue_on_error`, and a run that is reopened does it again.
    CutShort(SkillError, String),
    /// The flow that it ran ended like this.
    Ended(SkillError, RunEnded),
    /// Its last attempt succeeded and left this text.
    Succeeded(String),
}

/// The result of a visit for its hand-off.
pub(crate) struct VisitResult {
    pub(crate) status: Status,
    pub(crate) text: String,
    /// The text is a summary, or is made of one, of a longer text: no expression may take it for that.
    pub(crate) is_summary: bool,
    pub(crate) error: Option<String>,
}

impl VisitResult {
    fn of(conclusion: &Conclusion) -> Self {
        match conclusion {
            Conclusion::Skipped(_) => {
                Self { status: Status::Skipped, text: String::new(), is_summary: false, error: None }
            }
            Conclusion::Failed(error) | Conclusion::Ended(error, _) => Self::failed(String::new(), error),
            // The text of a failed step is kept for the next steps: the error is beside it.
            Conclusion::FailedAfter(error, text) | Conclusion::CutShort(error, text) => {
                Self::failed(text.clone(), error)
            }
            Conclusion::Succeeded(text) => Self::succeeded(text.clone()),
        }
    }

    pub(crate) fn succeeded(text: String) -> Self {
        Self { status: Status::Succeeded, text, is_summary: false, error: None }
    }

    pub(crate) fn failed(text: String, error: &SkillError) -> Self {
        Self { status: Status::Failed, text, is_summary: false, error: Some(sentence(error)) }
    }
}

/// Closes `visit` and obeys what follows from it.
pub(crate) fn conclude(
    draft: &mut Draft<'_>,
    visit: &VisitId,
    conclusion: Conclusion,
) -> Result<(), Refusal> {
    conclude_with(draft, visit, conclusion, false)
}

/// As [`conclude`], of a visit whose text is perhaps a summary of a longer one, or is made of such.
pub(crate) fn conclude_with(
    draft: &mut Draft<'_>,
    visit: &VisitId,
    conclusion: Conclusion,
    is_summary: bool,
) -> Result<(), Refusal> {
    let at = &draft.at(visit)?;
    let decided = match &conclusion {
        Conclusion::Skipped(why) => skipped(at, why),
        Conclusion::CutShort(error, _) if at.item.is_none() => failed(at, error),
        Conclusion::CutShort(error, _) => passed_over(at, error),
        Conclusion::Failed(error) | Conclusion::FailedAfter(error, _) | Conclusion::Ended(error, _)
            if at.item.is_some() || at.step.continue_on_error =>
        {
            passed_over(at, error)
        }
        Conclusion::Failed(error) | Conclusion::FailedAfter(error, _) => failed(at, error),
        Conclusion::Ended(error, end) => failed_within(at, error, end.clone()),
        Conclusion::Succeeded(text) => route::decide(draft, visit, at, text)?,
    };
    leave(draft, visit, VisitResult { is_summary, ..VisitResult::of(&conclusion) }, decided)
}

/// Writes the hand-off of `visit_result` and carries out the decision.
pub(crate) fn leave(
    draft: &mut Draft<'_>,
    visit: &VisitId,
    mut visit_result: VisitResult,
    decided: Decided,
) -> Result<(), Refusal> {
    let open = draft.control.open.get(visit);
    let is_cut = open.is_some_and(|open| open.is_text_cut());
    // A text that is made of a cut one has the line already.
    if is_cut && open.is_some_and(|open| matches!(open.state, VisitState::Settled(_))) {
        visit_result.text.insert_str(0, size::CUT_BEGINNING);
    }
    rounds::mark(draft, visit, visit_result.status, &decided)?;
    let decided = within_the_run(draft, &draft.at(visit)?, decided).naming_next();
    let text = visit_result.text.trim_ascii().to_owned();
    let is_whole = !is_cut && !visit_result.is_summary;
    let handoff = write_handoff(draft, visit, visit_result, &decided)?;
    // The summary is cut; an expression that reads `text` needs all of it. Flows without one do not pay for that.
    let is_a_part = handoff.summary != text || size::is_shortened(&handoff.summary);
    let is_kept = draft.flow.reads_text && is_a_part && is_whole && text.len() <= size::MAX_VALUE_BYTES;
    close(draft, visit, decided, Some(Written { handoff, text: Some(text).filter(|_| is_kept) }))
}

/// The output of a visit.
pub(crate) struct Written {
    handoff: Handoff,
    /// The whole text, if the summary is a part of it and it is kept.
    text: Option<String>,
}

/// Emits the events of `decided`; `written` is `None` if the visit has its hand-off already (a person decided later).
pub(crate) fn close(
    draft: &mut Draft<'_>,
    visit: &VisitId,
    decided: Decided,
    written: Option<Written>,
) -> Result<(), Refusal> {
    let at = &draft.at(visit)?;
    let decided = within_the_run(draft, at, decided);
    if let Course::LoopBack(target) = &decided.course {
        abandon::repeated(draft, at, visit, target)?;
    }
    let Decided { signal, course, audit, hold, end, answer, into, instead, .. } = decided;
    // An end at a bound of the run ends all of the run, also from within a subflow.
    let of_the_run = end.as_ref().is_some_and(|end| Bound::that_ended(end.terminal_reason).is_some());
    let complete = course == Course::Complete;
    let stops = course == Course::Stop;
    // The hand-off has the audit. It is not stored twice.
    let audit = if written.is_some() { Value::Null } else { audit };
    let routed =
        Routed { visit: visit.clone(), signal, course, audit, answer, end: end.clone().map(Box::new) };
    draft.emit(Event::Routed(Box::new(routed)))?;
    if let Some(Written { handoff, text }) = written {
        draft.emit(Event::HandoffWritten(Box::new(HandoffWritten {
            visit: visit.clone(),
            handoff,
            text,
        })))?;
    }
    abandon::steps(draft, at, instead)?;
    if let Some(hold) = hold {
        raise(draft, visit, hold.about, hold.question, hold.evidence)?;
    }
    if let Some((flow, step)) = into {
        subflow::enter_by_hint(draft, visit, &flow, &step)?;
    }
    match end {
        Some(end) if of_the_run => {
            let stopped_by = Some(ending::step_at_the_top(draft, visit));
            ending::stop(draft, RunEnded { stopped_by, ..end })
        }
        Some(end) if stops => ending::end_flow(draft, &at.scope, end),
        None if complete => ending::complete(draft, &at.scope),
        _ => Ok(()),
    }
}

/// Decides anew for a visit that has its hand-off and waits for a person: if it is still held, there is a new question.
pub(crate) fn close_anew(draft: &mut Draft<'_>, visit: &VisitId, decided: Decided) -> Result<(), Refusal> {
    let decided = within_the_run(draft, &draft.at(visit)?, decided);
    match decided.hold {
        Some(hold) => raise(draft, visit, hold.about, hold.question, hold.evidence),
        None => close(draft, visit, decided, None),
    }
}

/// The decision with regard to the run: on the way of a denial, after a failure, at the end of a round. Safe to repeat.
pub(crate) fn within_the_run(draft: &Draft<'_>, at: &At<'_>, decided: Decided) -> Decided {
    let decided = on_deny::end_of(draft, at, within_cancel(draft, decided));
    let decided = left_out::end_of(draft, at, rounds::end_of(draft, at, ending::placed(draft, at, decided)));
    takeover::end_of(draft, at, decided)
}

/// A run that is being cancelled, or is stopped, asks nothing and ends as that, no matter how its last attempts end; only a run
/// that is complete anyway has nothing left to cancel.
fn within_cancel(draft: &Draft<'_>, mut decided: Decided) -> Decided {
    if draft.control.winds_down() {
        (decided.hold, decided.end, decided.into) = (None, None, None);
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
    raise_question(draft, visit, about, Question { kind: None, expires_at: None, text: question, evidence })
}

/// A question, and its choices.
pub(crate) struct Question {
    /// `None`: as is usual for what it is about.
    pub(crate) kind: Option<InterruptKind>,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) text: String,
    pub(crate) evidence: Value,
}

/// Puts this question to a person.
pub(crate) fn raise_question(
    draft: &mut Draft<'_>,
    visit: &VisitId,
    about: About,
    question: Question,
) -> Result<(), Refusal> {
    let Question { kind, expires_at, text, evidence } = question;
    let raised = InterruptRaised {
        interrupt: draft.interrupt_id()?,
        about,
        visit: visit.clone(),
        question: text,
        evidence,
        raised_at: draft.now,
        kind,
        expires_at,
        subject: Some(subject::digest(draft, &[])?),
        found: Vec::new(),
    };
    draft.emit(Event::InterruptRaised(Box::new(InterruptRaised { kind: Some(raised.kind()), ..raised })))
}

fn skipped(at: &At<'_>, why: &str) -> Decided {
    let course = match route::onward(at) {
        Course::Done(_) => Course::Done(Done::Skipped),
        course => course,
    };
    let mut reason = why.to_owned();
    if let Some(first) = reason.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    Decided::new(Signal::new(Decision::Advance, why, "1.0"), course, Value::from(reason))
}

/// The visit has failed, and the flow lets the run go on all the same.
pub(crate) fn passed_over(at: &At<'_>, error: &SkillError) -> Decided {
    let signal = Signal::new(Decision::Advance, format!("Step failed: {}", error.code), "1.0");
    let why = if at.item.is_some() { "an item" } else { "continue_on_error" };
    Decided::new(signal, route::onward(at), Value::from(format!("a failed attempt is not routed: {why}")))
}

pub(crate) fn failed(at: &At<'_>, error: &SkillError) -> Decided {
    let reason = format!("Step failed: {}", error.code);
    let mut decided = Decided::new(
        Signal::new(Decision::Terminate, reason, "1.0"),
        Course::Stop,
        Value::from("a failed attempt is not routed"),
    );
    decided.end = Some(RunEnded::new(
        EndStatus::Failed,
        TerminalReason::ToolFailedFatally,
        format!("Step `{}` failed: {}", at.id(), sentence(error)),
        Some(at.id().clone()),
    ));
    decided
}

/// A failure whose cause is the end of the flow that the step ran.
pub(crate) fn failed_within(at: &At<'_>, error: &SkillError, cause: RunEnded) -> Decided {
    let mut decided = failed(at, error);
    if let Some(end) = &mut decided.end {
        end.status = cause.status;
        end.terminal_reason = cause.terminal_reason;
    }
    decided
}

/// `CODE: message`.
fn sentence(error: &SkillError) -> String {
    let SkillError { code, message } = size::of_error(error.clone());
    format!("{code}: {message}")
}

/// The paths of the files of an answer, relative to the run's folder.
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

/// Closes a visit that led nowhere by itself: its decision and its hand-off, and nothing that follows from them.
pub(crate) fn close_at_once(
    draft: &mut Draft<'_>,
    visit: VisitId,
    visit_result: VisitResult,
    decided: Decided,
) -> Result<(), Refusal> {
    let handoff = write_handoff(draft, &visit, visit_result, &decided)?;
    let Decided { signal, course, audit, .. } = decided;
    let routed = Routed { visit: visit.clone(), signal, course, audit, answer: None, end: None };
    draft.emit(Event::Routed(Box::new(routed)))?;
    draft.emit(Event::HandoffWritten(Box::new(HandoffWritten { visit, handoff, text: None })))
}

pub(crate) fn write_handoff(
    draft: &Draft<'_>,
    visit: &VisitId,
    visit_result: VisitResult,
    decided: &Decided,
) -> Result<Handoff, Refusal> {
    let settled = draft.control.open.get(visit).and_then(|open| match &open.state {
        VisitState::Settled(settled) => Some(Arc::clone(settled)),
        _ => None,
    });
    let files = settled.as_deref().map(|settled| settled.files.as_slice()).unwrap_or_default();
    let manifest = settled.as_deref().and_then(|settled| settled.manifest.as_ref());
    let flow_key = draft.at(visit)?.flow.id.as_str();
    let paths = match manifest {
        Some(_) => files::manifest_artifacts(flow_key, visit),
        None => {
            let fan = draft.control.open.get(visit).and_then(|open| open.for_each.as_ref());
            let own = answered_files(draft, visit).into_iter().chain(artifacts(flow_key, files));
            gathered(own.chain(fan.into_iter().flat_map(|fan| fan.artifacts())), flow_key, visit)
        }
    };
    let input = handoff::Draft {
        identity: Some(handoff::Identity {
            step_id: visit.step.to_string(),
            flow_key: flow_key.to_owned(),
            run_id: draft.run()?.to_string(),
        }),
        routing_signal: Some(decided.signal.clone()),
        output: Some(visit_result.text),
        artifacts: handoff::Artifacts::Paths(paths),
        status: Some(visit_result.status),
        error: visit_result.error,
        duration_ms: settled.as_deref().map_or(0, |settled: &AttemptSettled| settled.duration_ms),
        timestamp: Some(draft.now.to_string()),
        file_changes: files::file_changes(files, manifest),
        verification_passed: decided.verified(),
        routing_audit: decided.audit.clone(),
        ..handoff::Draft::default()
    };
    handoff::write(input)
        .map_err(|error| Refusal::Inconsistent { reason: format!("no hand-off can be written: {error}") })
}

/// All of them by name; a later one replaces an earlier one of the same name. If items have more artifacts than a hand-off lists,
/// or one of them has a manifest, the step gets a manifest: it is made when it is placed.
fn gathered(all: impl Iterator<Item = (String, String)>, flow_key: &str, visit: &VisitId) -> Members<String> {
    let mut by_name = BTreeMap::new();
    let mut bytes = 0_usize;
    let mut order = Vec::new();
    for (name, path) in all {
        let is_a_manifest = files::is_manifest([(name.as_str(), path.as_str())]);
        bytes = bytes.saturating_add(name.len());
        if is_a_manifest || !files::are_listed(by_name.len().saturating_add(1), bytes) {
            return files::manifest_artifacts(flow_key, visit);
        }
        if by_name.insert(name.clone(), path).is_none() {
            order.push(name);
        }
    }
    order.into_iter().filter_map(|name| by_name.remove(&name).map(|path| (name, path))).collect()
}

/// A file whose name no path of the contract can hold is among the changes only.
fn artifacts(flow_key: &str, files: &[FileChange]) -> Members<String> {
    let kept = files.iter().filter(|file| file.blob.is_some() && is_portable(&file.path));
    kept.map(|file| (file.path.clone(), format!("{flow_key}/{}", file.path))).collect()
}

/// Contract 2: relative, `/` between names, no `..`. The flow's key is put before it, so a drive letter does no harm.
fn is_portable(path: &str) -> bool {
    !path.contains(['\\', '\0']) && path.split('/').all(|name| !name.is_empty() && name != "..")
}
