//! Steps that are left out of the part that a run does.
//!
//! Such a step is entered where the whole flow would enter it, and is over at once: skipped, or with the hand-off of another run. It
//! starts nothing and asks nothing. No loop can go back to it.

use crate::{
    decide::{
        conclude::{self, Conclusion, VisitResult},
        draft::{At, Draft},
        route::{self, Decided},
    },
    model::{
        event::{AttemptSettled, Course, Done, EndStatus, Event, Outcome},
        flow::OnExhausted,
        ids::{StepId, VisitId},
        input::Refusal,
        part::{TakenFrom, TakenHandOff},
        size::is_shortened,
    },
    state::graph,
};
use envoi_contract::{
    envelope::TerminalReason,
    json::{Object, Value},
    routing::{Decision, Signal},
};

/// Closes the visit of a step that is left out.
pub(crate) fn pass(draft: &mut Draft<'_>, visit: &VisitId, at: &At<'_>) -> Result<(), Refusal> {
    if draft.flow_state(at).passed_by.contains(at.id()) {
        return conclude::conclude(draft, visit, Conclusion::Skipped("Another branch was taken"));
    }
    match taken(draft, at) {
        Some((from, taken)) => take(draft, visit, at, from, taken),
        None => conclude::conclude(draft, visit, Conclusion::Skipped("Left out of the part that is run")),
    }
}

/// The hand-off that is taken for the step. After a failure the whole flow would not do the step either.
fn taken(draft: &Draft<'_>, at: &At<'_>) -> Option<(TakenFrom, TakenHandOff)> {
    let part = draft.control.part()?;
    let flow_state = draft.flow_state(at);
    let after_failure = match at.flow.graph {
        true => graph::has_failed_before(at.flow, flow_state, at.id()),
        false => flow_state.failing.is_some(),
    };
    let taken = part.taken_of(at.id()).filter(|_| !after_failure)?;
    Some((TakenFrom { run: part.with.clone()?, visit: taken.visit.clone() }, taken.clone()))
}

fn take(
    draft: &mut Draft<'_>,
    visit: &VisitId,
    at: &At<'_>,
    from: TakenFrom,
    taken: TakenHandOff,
) -> Result<(), Refusal> {
    let TakenHandOff { summary, data, data_kept, text, report, files, manifest, .. } = taken;
    let reason = format!("Taken from visit {} of {}", from.visit, from.run);
    let audit = Value::Object(Object::from([(
        "taken_from",
        Value::Object(Object::from([
            ("run", Value::from(from.run.as_str())),
            ("visit", Value::from(from.visit.to_string())),
        ])),
    )]));
    draft.emit(Event::AttemptSettled(Box::new(AttemptSettled {
        attempt: visit.attempt(1),
        outcome: Outcome::Exited { code: 0 },
        ok: true,
        error: None,
        text,
        text_cut: false,
        report,
        data,
        data_kept,
        metrics: Object::default(),
        files,
        manifest,
        started_at: draft.now,
        duration_ms: 0,
        warnings: Vec::new(),
        late: false,
        given_up: false,
        flow: None,
        workspace_digest: None,
        workspace_moving: false,
        workspace_before: None,
        set_back: None,
        cache: None,
        agent: None,
        report_filled: Vec::new(),
        session: None,
        test_result: None,
        taken: Some(from),
        throttled: None,
    })))?;
    let course = match route::onward(at) {
        Course::Done(_) => Course::Done(Done::Taken),
        course => course,
    };
    let decided = Decided::new(Signal::new(Decision::Advance, reason, "1.0"), course, audit);
    let is_summary = is_shortened(&summary);
    conclude::leave(draft, visit, VisitResult { is_summary, ..VisitResult::succeeded(summary) }, decided)
}

/// The decision of a step that would go back to a step that is left out: its loop has no round left. The flow's rule for that
/// holds, but no question is raised: the only possible answer would be to go past the loop.
pub(crate) fn cut(at: &At<'_>, target: &StepId, mut decided: Decided) -> Decided {
    if at.step.routing.on_exhausted == OnExhausted::Proceed {
        decided.course = route::onward(at);
        return decided;
    }
    let reason = format!(
        "Step `{}` sends the work back to `{target}`, which is left out of the part that is run",
        at.id()
    );
    decided.ending(EndStatus::Exhausted, TerminalReason::MaxLoopExceeded, reason, at.id())
}

/// An advance in the order of the list with no step of the part after it: the run is complete. On the way of a failure or a
/// denial the flow goes on by its own rules.
pub(crate) fn end_of(draft: &Draft<'_>, at: &At<'_>, mut decided: Decided) -> Decided {
    let Some(part) = draft.control.part().filter(|_| at.scope.is_empty() && !at.flow.graph) else {
        return decided;
    };
    let flow_state = draft.flow_state(at);
    let is_ordinary = decided.end.is_none() && flow_state.failing.is_none() && flow_state.diverted.is_empty();
    let Course::Enter(next) = &decided.course else { return decided };
    let Some(place) = at.flow.position(next) else { return decided };
    let mut ahead = at.flow.steps.iter().skip(place);
    if is_ordinary && !ahead.any(|step| part.selection.includes(at.flow, &step.id)) {
        decided.course = Course::Complete;
    }
    decided
}
