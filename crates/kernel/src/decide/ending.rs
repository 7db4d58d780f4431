//! How a flow, and with it the run, comes to its end.
//!
//! Owns the effect of a failure on later steps in listed order, and the last events of a run: nothing is live any more,
//! every question is withdrawn, every visit that has a result leaves its hand-off.

use crate::{
    decide::{
        conclude::{self, VisitResult},
        draft::{At, Draft},
        route::Decided,
        subflow, takeover,
    },
    model::{
        event::{Course, Done, EndStatus, Event, InterruptCancelled, RunEnded},
        flow::Step,
        ids::{StepId, VisitId},
        input::Refusal,
    },
    state::{limits::Bound, visit::VisitState},
};
use envoi_contract::code::Code;
use envoi_contract::envelope::TerminalReason;
use envoi_contract::skill_report::SkillError;

/// A decision in its place: an item leads nowhere by itself; in a graph nothing leads anywhere by itself; in listed order a
/// failure leads to the steps that are done all the same.
pub(crate) fn placed(draft: &Draft<'_>, at: &At<'_>, mut decided: Decided) -> Decided {
    if at.item.is_some() {
        (decided.course, decided.end) = (Course::Gathered, None);
        return decided;
    }
    let of_the_run = |end: &RunEnded| Bound::that_ended(end.terminal_reason).is_some();
    // The whole run ends, so no step of this flow is entered any more, not even one that runs after a failure.
    if draft.control.winds_down() || decided.end.as_ref().is_some_and(of_the_run) {
        return decided;
    }
    if at.flow.graph {
        if decided.course == Course::Stop && decided.end.is_some() {
            decided.course = Course::Done(Done::Failed);
        }
        return decided;
    }
    // The first failure is the reason of the end, also if a later step fails as well.
    let Some(end) = draft.flow_state(at).failing.clone().or_else(|| decided.end.clone()) else {
        return decided;
    };
    let next = match &decided.course {
        Course::Enter(next) => at.flow.step(next),
        Course::Stop | Course::Complete => at.flow.after(at.id()),
        Course::LoopBack(_) | Course::Hold | Course::Round(_) | Course::Done(_) | Course::Gathered => {
            return decided;
        }
    };
    decided.course = match next.filter(|next| leads_to_one_regardless(draft, at, next)) {
        Some(next) => Course::Enter(next.id.clone()),
        None => Course::Stop,
    };
    decided.end = Some(end);
    decided
}

/// Whether this step, or one that follows it, is done after any failure.
fn leads_to_one_regardless(draft: &Draft<'_>, at: &At<'_>, step: &Step) -> bool {
    let flow = at.flow;
    let is_done = |step: &Step| step.regardless && !draft.control.leaves_out(flow, &at.scope, &step.id);
    let mut seen = vec![&step.id];
    let mut step = step;
    while !is_done(step) {
        match flow.after(&step.id) {
            Some(next) if !seen.contains(&&next.id) => step = next,
            _ => return false,
        }
        seen.push(&step.id);
    }
    true
}

/// A flow has failed; at the top that is the end of the run.
pub(crate) fn end_flow(draft: &mut Draft<'_>, scope: &str, end: RunEnded) -> Result<(), Refusal> {
    if scope.is_empty() { finish(draft, end) } else { subflow::failed(draft, scope, end) }
}

/// A flow is complete; at the top that is the end of the run.
pub(crate) fn complete(draft: &mut Draft<'_>, scope: &str) -> Result<(), Refusal> {
    if !scope.is_empty() {
        return subflow::returned(draft, scope);
    }
    if takeover::goes_on(draft)? {
        return Ok(());
    }
    let reason = match draft.control.part() {
        Some(part) => format!("Every step of the part is done ({})", part.selection.options()),
        None => "Every step is done".to_owned(),
    };
    finish(draft, RunEnded::new(EndStatus::Succeeded, TerminalReason::Completed, reason, None))
}

/// Nothing further starts; the run ends like this as soon as nothing is live.
pub(crate) fn stop(draft: &mut Draft<'_>, end: RunEnded) -> Result<(), Refusal> {
    if draft.control.winds_down() {
        return Ok(());
    }
    let under_way =
        |state: &VisitState| matches!(state, VisitState::Running | VisitState::ForEach | VisitState::Inside);
    let alone =
        draft.control.ending.is_empty() && !draft.control.open.values().any(|open| under_way(&open.state));
    if alone { finish(draft, end) } else { draft.emit(Event::RunStopping(end)) }
}

/// Ends a run in which nothing is live. A visit between its attempts leaves its hand-off: failed, for the reason of its
/// last attempt. A visit whose items or flow were under way has failed because the run ended.
pub(crate) fn finish(draft: &mut Draft<'_>, end: RunEnded) -> Result<(), Refusal> {
    let open: Vec<_> = draft.control.interrupts.keys().cloned().collect();
    for interrupt in open {
        draft.emit(Event::InterruptCancelled(InterruptCancelled { interrupt, changed: false }))?;
    }
    let mut left: Vec<VisitId> = draft.control.open.keys().cloned().collect();
    left.sort_by_key(|visit| core::cmp::Reverse(depth(visit)));
    for visit in left {
        let Some(open) = draft.control.open.get(&visit) else { continue };
        let error = match open.state {
            VisitState::ForEach | VisitState::Inside => Some(under_way()),
            // Its items are over and wait for their merge: without a hand-off they would be forgotten, and done again under the same names.
            _ if open.for_each.is_some() => open.error.clone().or_else(|| Some(under_way())),
            _ => open.error.clone(),
        };
        if let Some(error) = error {
            leave_as_failed(draft, visit, &error)?;
        }
    }
    draft.emit(Event::RunEnded(end))
}

fn under_way() -> SkillError {
    SkillError::new(Code::RunStopped, "the run ended while this was under way".to_owned())
}

/// An item is deeper than its whole, and the steps that a visit runs are deeper than the visit.
pub(crate) fn depth(visit: &VisitId) -> usize {
    visit.scope.split('.').filter(|segment| !segment.is_empty()).count()
}

fn leave_as_failed(draft: &mut Draft<'_>, visit: VisitId, error: &SkillError) -> Result<(), Refusal> {
    let at = &draft.at(&visit)?;
    let mut decided = conclude::failed(at, error);
    if at.item.is_some() {
        decided.course = Course::Gathered;
    }
    conclude::close_at_once(draft, visit, VisitResult::failed(String::new(), error), decided)
}

/// The step of the run's own flow that holds this visit, at any depth.
pub(crate) fn step_at_the_top(draft: &Draft<'_>, visit: &VisitId) -> StepId {
    draft.control.holder(visit, "").map_or_else(|| visit.step.clone(), |visit| visit.step)
}
