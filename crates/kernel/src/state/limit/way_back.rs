//! Loop-backs that a bound blocked: whether they are possible now, after the bound was raised.
//!
//! When the text of a visit sends the run back, the bound of its loop, of all loops or of the rounds may be
//! used up. Then a person is asked, or the run ends. The visit has ended in any case: after the bound is
//! raised, its loop goes on, and the visit is not repeated.

use crate::{
    model::{
        event::{About, EndStatus},
        flow::{Change, Flow, RoutingPlan, Step, change_within},
        ids::{StepId, VisitId},
    },
    state::{bounds, control::Control, limit_question, limits::Bound, loops},
};
use envoi_contract::{envelope::TerminalReason, handoff::Status, json::Value};

/// The step that `step` sends its flow back to, if it is unique.
pub(crate) fn target<'f>(of: &'f Flow, step: &'f Step) -> Option<&'f StepId> {
    let closed = of.position(&step.id).and_then(|place| of.structure().closed_by(place))?;
    if !step.routing.success_values.is_empty() {
        return Some(loops::back_target(step));
    }
    let [place] = closed.targets.as_slice() else { return None };
    of.steps.get(*place).map(|step| &step.id)
}

/// How many times the loop that this visit closes has gone back.
pub(crate) fn used(control: &Control, visit: &VisitId) -> u64 {
    let loops = &control.flow_state(visit.flow_scope()).loops;
    loops.get(&visit.step).map_or(0, |state| state.iteration)
}

/// The step that the question about this visit leads back to without an answer, now that the run's flow is
/// `flow`.
pub(crate) fn of_question(
    control: &Control,
    flow: &Flow,
    about: About,
    visit: &VisitId,
    evidence: &Value,
) -> Option<StepId> {
    match about {
        About::Exhausted => within_the_loop(control, flow, visit),
        About::Limit if limit_question::bound(evidence) == Some(Bound::Rounds) => {
            another_round(control, flow)
        }
        About::Limit => {
            let target = limit_question::back_to(evidence)?;
            let of = control.counterpart(flow, visit.flow_scope())?;
            let stands = of.step(&target).is_some() && of.step(&visit.step).is_some();
            (stands && is_free(control, flow, visit, &target)).then_some(target)
        }
        About::Stuck => another_round(control, flow),
        _ => None,
    }
}

/// A run that ended because a bound forbade the loop-back of a step's last visit.
pub(crate) struct Ended {
    /// That visit, which succeeded.
    pub(crate) visit: VisitId,
    /// The step that the run goes back to.
    pub(crate) target: StepId,
    /// Whether the loop-back is another round for the goals.
    pub(crate) is_round: bool,
}

/// The loop-back that a bound alone blocked when the run ended, and that is possible now. `before` is the
/// flow under which it was decided. `None` also if the step has changed: it has to decide again.
pub(crate) fn of_end(control: &Control, before: &Flow, now: &Flow) -> Option<Ended> {
    let ended = control.phase.ended().filter(|ended| ended.status == EndStatus::Exhausted)?;
    let id = ended.stopped_by.as_ref()?;
    let state = control.top.steps.get(id)?;
    state.last.as_ref().filter(|last| last.status == Status::Succeeded)?;
    let visit = VisitId { scope: String::new(), step: id.clone(), visit: state.visits };
    // The last visit must be the one that decided, not one that never began.
    let is_the_last = state.handed.as_ref().is_some_and(|(_, handed)| *handed == visit);
    if !is_the_last || !is_the_same(before, now, id) {
        return None;
    }
    let found = |target: StepId, is_round| Some(Ended { visit: visit.clone(), target, is_round });
    match (ended.terminal_reason, Bound::that_ended(ended.terminal_reason)) {
        (TerminalReason::MaxLoopExceeded, _) | (_, Some(Bound::Iterations)) => {
            found(within_the_loop(control, now, &visit)?, false)
        }
        (_, Some(Bound::Rounds)) => found(another_round(control, now)?, true),
        _ => None,
    }
}

/// Whether the step differs only in how often it may go back, and in the reaction after that.
fn is_the_same(before: &Flow, now: &Flow, id: &StepId) -> bool {
    let (Some(old), Some(new)) = (before.step(id), now.step(id)) else { return false };
    let unbounded = |step: &Step| RoutingPlan {
        max_iterations: 0,
        on_exhausted: RoutingPlan::default().on_exhausted,
        ..step.routing.clone()
    };
    match change_within((before, now), (before, now), id) {
        Change::Kept => true,
        Change::Changed(keys) => keys == ["routing"] && unbounded(old) == unbounded(new),
        Change::New | Change::Gone => false,
    }
}

fn within_the_loop(control: &Control, flow: &Flow, visit: &VisitId) -> Option<StepId> {
    let of = control.counterpart(flow, visit.flow_scope())?;
    let step = of.step(&visit.step)?;
    let target = target(of, step)?;
    let has_rounds = used(control, visit) < step.routing.max_iterations;
    (has_rounds && is_free(control, flow, visit, target)).then(|| target.clone())
}

/// Whether the bound on all loops allows it, and the step is in the part that is run.
fn is_free(control: &Control, flow: &Flow, visit: &VisitId, target: &StepId) -> bool {
    !control.leaves_out(flow, visit.flow_scope(), target)
        && bounds::for_a_loop_back(&flow.limits, &control.raised, &control.ledger).is_none()
}

fn another_round(control: &Control, flow: &Flow) -> Option<StepId> {
    let (plan, goals) = (flow.goals.as_ref()?, control.goals.as_ref()?);
    let once = control.part().is_some_and(|part| !part.selection.has_rounds(flow));
    let is_stuck = goals.round >= plan.stuck_after && goals.reached.is_empty();
    let goes_on = !once && !is_stuck && !goals.remaining().is_empty();
    (goes_on && bounds::for_a_round(flow, control).is_none()).then(|| plan.from.clone())
}
