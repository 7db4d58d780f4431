//! When what was changed in trees of their own comes into the run's tree: one merge at a time, in the order of the flow, and nothing begins
//! beside one.
//!
//! Owns what a merge waits for, and what waits for it. A merge that was cut off counts as under way until it is done again: the run's tree
//! is set back before that.

use crate::{
    model::{
        event::AttemptStarted,
        flow::{Flow, Step},
        ids::VisitId,
    },
    state::control::Control,
};

/// Whether the next attempt of `visit` has to wait. `flow` is the one that its step stands in. When what it waits for settles, it is
/// looked at again.
pub(crate) fn waits(flow: &Flow, control: &Control, visit: &VisitId) -> bool {
    let is_beside_a_merge = control.open.merging().any(|other| other != visit);
    is_beside_a_merge || is_to_merge(control, visit) && is_before_its_turn(flow, control, visit)
}

/// Whether a visit that is ready goes on with a merge. One that has begun is done again at once, because everything waits for it.
fn is_to_merge(control: &Control, visit: &VisitId) -> bool {
    control.open.get(visit).is_some_and(|open| open.for_each.is_some() && open.attempts == 0)
}

/// A step that stands earlier in the flow is merged first, whichever has ended first. Nobody else works in the run's tree meanwhile.
fn is_before_its_turn(flow: &Flow, control: &Control, visit: &VisitId) -> bool {
    let flow_state = control.flow_state(&visit.scope);
    let is_open = |step: &Step| {
        let last = flow_state.steps.get(&step.id).map(|state| state.visits);
        let id = |visits| VisitId { scope: visit.scope.clone(), step: step.id.clone(), visit: visits };
        step.isolate && last.is_some_and(|visits| control.open.contains_key(&id(visits)))
    };
    let works_in_the_runs_tree = |plan: &AttemptStarted| plan.tree.is_none();
    flow.steps.iter().take_while(|step| step.id != visit.step).any(is_open)
        || control.live().any(|(_, open)| open.plan.as_deref().is_some_and(works_in_the_runs_tree))
}
