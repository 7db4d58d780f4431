//! The order of steps in a graph: a flow whose steps list their needs.
//!
//! Owns when a step is due, the effect of a failure on other steps, and which steps are abandoned when a step
//! does not wait for all of its needs. Does not handle flows in listed order. A checked graph has no cycles.

use crate::{
    model::{
        event::RunEnded,
        flow::{Flow, Join, Places, Step, reached},
        ids::StepId,
    },
    state::flow_state::{FlowState, Standing},
};
use std::collections::BTreeSet;

/// The steps that need this one directly, in listed order.
pub(crate) fn dependents<'f>(flow: &'f Flow, step: &StepId) -> impl Iterator<Item = &'f Step> {
    let all = flow.structure().dependents();
    let of_step = flow.position(step).and_then(|place| all.get(place));
    of_step.into_iter().flatten().filter_map(|place| flow.steps.get(*place))
}

/// The step and all that depend on it, directly or indirectly.
pub(crate) fn descendants<'f>(flow: &'f Flow, step: &StepId) -> BTreeSet<&'f StepId> {
    ids(flow, &reached(flow.structure().dependents(), flow.position(step)))
}

/// The step and all that it depends on, directly or indirectly.
pub(crate) fn ancestors<'f>(flow: &'f Flow, step: &StepId) -> BTreeSet<&'f StepId> {
    ids(flow, &reached(flow.structure().needs(), flow.position(step)))
}

/// Whether a move from one step to another goes back.
pub(crate) fn is_back(flow: &Flow, from: &StepId, to: &StepId) -> bool {
    if flow.graph { ancestors(flow, from).contains(to) } else { flow.position(to) <= flow.position(from) }
}

fn ids<'f>(flow: &'f Flow, places: &Places) -> BTreeSet<&'f StepId> {
    places.iter().filter_map(|place| flow.steps.get(place)).map(|step| &step.id).collect()
}

/// The state of a step's needs with respect to its `join`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joined {
    /// Not decided yet.
    Waits,
    /// The step may be entered.
    Met,
    /// The step can never be entered.
    Missed,
}

/// Computes the state of a step's needs.
pub(crate) fn joined(flow_state: &FlowState, step: &Step) -> Joined {
    let count = |test: fn(&Standing) -> bool| {
        let standings = step.needs.iter().filter_map(|need| flow_state.standing(need));
        standings.filter(|standing| test(standing)).count()
    };
    let over = count(|_| true) == step.needs.len();
    let passed = count(|standing| matches!(standing, Standing::Passed));
    let content =
        passed.saturating_add(count(|standing| matches!(standing, Standing::Skipped | Standing::Taken)));
    let wanted = match step.join {
        Join::All | Join::Settled => return if over { Joined::Met } else { Joined::Waits },
        Join::Any => 1,
        Join::Quorum(wanted) => usize::try_from(wanted).unwrap_or(usize::MAX),
    };
    if passed >= wanted {
        return Joined::Met;
    }
    if !over {
        return Joined::Waits;
    }
    // Steps that were skipped count only when no further step can pass.
    if content >= wanted { Joined::Met } else { Joined::Missed }
}

/// Whether the needs of the step are met.
pub(crate) fn may_enter(flow: &Flow, flow_state: &FlowState, step: &StepId) -> bool {
    flow.step(step).is_some_and(|step| joined(flow_state, step) == Joined::Met)
}

/// Steps to enter, in listed order: not ended, not in progress, and their needs have been decided. `is_open`
/// returns whether a step has an open visit.
pub(crate) fn due<'f>(
    flow: &'f Flow,
    flow_state: &FlowState,
    is_open: impl Fn(&StepId) -> bool,
) -> Option<&'f Step> {
    let idle = |step: &&Step| {
        let state = flow_state.steps.get(&step.id);
        state.is_none_or(|state| state.standing.is_none() && !state.held) && !is_open(&step.id)
    };
    flow.steps.iter().filter(idle).find(|step| joined(flow_state, step) != Joined::Waits)
}

/// Whether some ancestor of the step has failed and no step handles the failure.
pub(crate) fn has_failed_before(flow: &Flow, flow_state: &FlowState, step: &StepId) -> bool {
    let has_failed =
        |state: &crate::state::flow_state::StepState| matches!(state.standing, Some(Standing::Failed(_)));
    // Shortcut for the usual case without failures: this runs for every step that waits.
    if !flow_state.steps.values().any(has_failed) {
        return false;
    }
    let before = ancestors(flow, step);
    before.into_iter().any(|ancestor| ancestor != step && failure(flow, flow_state, ancestor).is_some())
}

/// How the flow ends because of this step, if it has failed and no step handles the failure.
fn failure<'a>(flow: &Flow, flow_state: &'a FlowState, step: &StepId) -> Option<&'a RunEnded> {
    let Some(Standing::Failed(end)) = flow_state.standing(step) else { return None };
    let mut needed = dependents(flow, step).peekable();
    // A step that was not executed itself handles no failure.
    let takes_it = |step: &Step| {
        step.join != Join::All
            && !matches!(flow_state.standing(&step.id), Some(Standing::Skipped | Standing::Taken))
    };
    let in_hand = needed.peek().is_some() && needed.all(takes_it);
    (!in_hand).then_some(end)
}

/// How the flow ends when all of its steps have ended: by its first unhandled failure in listed order.
pub(crate) fn end(flow: &Flow, flow_state: &FlowState) -> Option<RunEnded> {
    flow.steps.iter().find_map(|step| failure(flow, flow_state, &step.id)).cloned()
}

/// The steps that nothing waits for once `step` is entered without them, in listed order. A step that has
/// been entered no longer waits, whether or not all its needs are met. `is_open` returns whether a step has
/// an open visit.
pub(crate) fn losers<'f>(
    flow: &'f Flow,
    flow_state: &FlowState,
    step: &'f Step,
    is_open: impl Fn(&StepId) -> bool,
) -> Vec<&'f StepId> {
    let before = ancestors(flow, &step.id);
    let over = |other: &&Step| flow_state.standing(&other.id).is_some() || other.id == step.id;
    let candidates: Vec<&Step> =
        flow.steps.iter().filter(|other| before.contains(&other.id) && !over(other)).collect();
    let waits = |by: &Step| {
        let state = flow_state.steps.get(&by.id);
        let entered = state.is_some_and(|state| state.standing.is_some() || state.held) || is_open(&by.id);
        !entered && !flow_state.passed_by.contains(&by.id)
    };
    let mut lost: BTreeSet<&StepId> = BTreeSet::new();
    loop {
        let unwanted = |other: &&&Step| {
            let mut needed = dependents(flow, &other.id);
            !lost.contains(&other.id) && needed.all(|by| lost.contains(&by.id) || !waits(by))
        };
        let Some(next) = candidates.iter().find(unwanted) else { break };
        lost.insert(&next.id);
    }
    candidates.into_iter().map(|step| &step.id).filter(|id| lost.contains(id)).collect()
}

/// Makes the failed steps, and those that depend on them, pending again; except steps that ran in spite of
/// the failure and succeeded.
pub(crate) fn take_up_failed(flow: &Flow, flow_state: &mut FlowState) {
    let failed =
        flow.steps.iter().filter(|step| matches!(flow_state.standing(&step.id), Some(Standing::Failed(_))));
    let stands = |step: &&Step| {
        step.join != Join::All && matches!(flow_state.standing(&step.id), Some(Standing::Passed))
    };
    let mut again: BTreeSet<&StepId> = BTreeSet::new();
    let mut left: Vec<&Step> = failed.collect();
    while let Some(step) = left.pop() {
        if again.insert(&step.id) {
            left.extend(dependents(flow, &step.id).filter(|step| !stands(step)));
        }
    }
    flow_state.reset(&again);
    // Questions about where a step leads are not raised any more.
    flow_state.steps.values_mut().for_each(|state| state.held = false);
}
