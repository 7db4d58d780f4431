//! Steps that a graph gives up: the losers of a join, the branches that were not taken, and steps that are still under way
//! when a loop repeats them.
//!
//! Attempts are ended by the engine ([`crate::model::input::Wants::ending`]); their later reports are recorded and ignored.

use crate::{
    decide::{
        conclude::{self, VisitResult},
        draft::{At, Draft},
        ending,
        route::Decided,
    },
    model::{
        event::{Course, Done, Event, InterruptCancelled, StepsGivenUp, TimerFired},
        ids::{StepId, VisitId},
        input::Refusal,
    },
    state::graph,
};
use envoi_contract::{
    handoff::Status,
    json::Value,
    routing::{Decision, Signal},
};
use std::collections::BTreeSet;

/// The audit of a visit that was given up.
pub(crate) const AUDIT: &str = "given up";

/// Does without these steps of the flow of `at`.
pub(crate) fn steps(draft: &mut Draft<'_>, at: &At<'_>, steps: Vec<StepId>) -> Result<(), Refusal> {
    if steps.is_empty() {
        return Ok(());
    }
    let scope = at.scope.clone();
    let by = at.id().clone();
    draft.emit(Event::StepsGivenUp(StepsGivenUp { scope, by, steps: steps.clone() }))?;
    let reason = format!("Given up: step `{}` goes on without it", at.id());
    withdraw(draft, &at.scope, &reason, |step, _| steps.contains(step))
}

/// A loop goes back to `target`, closed by `visit`: the repeated visits that are still under way are void.
pub(crate) fn repeated(
    draft: &mut Draft<'_>,
    at: &At<'_>,
    visit: &VisitId,
    target: &StepId,
) -> Result<(), Refusal> {
    if !at.flow.graph {
        return Ok(());
    }
    let again = graph::descendants(at.flow, target);
    let reason = format!("Given up: step `{}` goes back to `{target}`", at.id());
    withdraw(draft, &at.scope, &reason, |step, holder| again.contains(step) && holder != visit)
}

/// The run goes back to a step of its own flow, a list, by a correction: everything that is under way is void.
pub(crate) fn everything(draft: &mut Draft<'_>, reason: &str) -> Result<(), Refusal> {
    withdraw(draft, "", reason, |_, _| true)
}

/// As [`everything`], in a graph: the steps that depend on that step, and no others.
pub(crate) fn repeated_from(
    draft: &mut Draft<'_>,
    again: &BTreeSet<&StepId>,
    reason: &str,
) -> Result<(), Refusal> {
    withdraw(draft, "", reason, |step, _| again.contains(step))
}

/// Steps of a graph that a corrected flow does not have any more.
pub(crate) fn gone(
    draft: &mut Draft<'_>,
    scope: &str,
    reason: &str,
    is_gone: impl Fn(&StepId) -> bool,
) -> Result<(), Refusal> {
    withdraw(draft, scope, reason, |step, _| is_gone(step))
}

/// Withdraws the questions and closes the visits of some steps of one flow, with all that is part of them, the innermost
/// first.
fn withdraw(
    draft: &mut Draft<'_>,
    scope: &str,
    reason: &str,
    is_meant: impl Fn(&StepId, &VisitId) -> bool,
) -> Result<(), Refusal> {
    let held = |draft: &Draft<'_>, visit: &VisitId| {
        draft.control.holder(visit, scope).is_some_and(|holder| is_meant(&holder.step, &holder))
    };
    let questions = draft.control.interrupts.values().filter(|raised| held(draft, &raised.visit));
    for interrupt in questions.map(|raised| raised.interrupt.clone()).collect::<Vec<_>>() {
        draft.emit(Event::InterruptCancelled(InterruptCancelled { interrupt, changed: false }))?;
    }
    let mut open: Vec<VisitId> =
        draft.control.open.keys().filter(|visit| held(draft, visit)).cloned().collect();
    open.sort_by_key(|visit| core::cmp::Reverse(ending::depth(visit)));
    for visit in open {
        close(draft, visit, reason)?;
    }
    Ok(())
}

fn close(draft: &mut Draft<'_>, visit: VisitId, reason: &str) -> Result<(), Refusal> {
    let timer = draft.control.timers.iter().find(|(_, (_, waits))| *waits == visit).map(|(id, _)| id.clone());
    if let Some(timer) = timer {
        draft.emit(Event::TimerFired(TimerFired { timer }))?;
    }
    let at = draft.at(&visit)?;
    let course = match at.item {
        Some(_) => Course::Gathered,
        None if at.flow.graph => Course::Done(Done::Skipped),
        None => Course::Stop,
    };
    let decided = Decided::new(Signal::new(Decision::Advance, reason, "1.0"), course, Value::from(AUDIT));
    let visit_result =
        VisitResult { status: Status::Skipped, text: String::new(), is_summary: false, error: None };
    conclude::close_at_once(draft, visit, visit_result, decided)
}
