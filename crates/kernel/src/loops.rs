//! Which steps a loop spans, and when it starts over.
//!
//! A loop is known by the step that closes it. It spans the listed steps from the earliest one it can go back to, up to
//! that step. Coming from outside, its count starts at 0; a loop inside a loop therefore starts over in each round of the
//! outer one.

use crate::{control::LoopState, flow::Flow, flow::Step, ids::AttemptId, ids::StepId};
use std::{collections::BTreeMap, ops::RangeInclusive};

/// The loop that `step` closes, as positions in the listed order; `None` if it never goes back.
pub(crate) fn body(flow: &Flow, step: &Step) -> Option<RangeInclusive<usize>> {
    let end = flow.position(&step.id)?;
    let loop_start = closes_a_loop(step).then(|| back_target(step)).and_then(|target| flow.position(target));
    let hints = step.routing.branches.iter().filter_map(|target| flow.position(target));
    let start = loop_start.into_iter().chain(hints).filter(|start| *start <= end).min()?;
    Some(start..=end)
}

/// Whether its own verdict can send the run back.
pub(crate) fn closes_a_loop(step: &Step) -> bool {
    step.routing.declared && !step.routing.success_values.is_empty()
}

/// Where `step` goes back to.
pub(crate) fn back_target(step: &Step) -> &StepId {
    step.routing.loop_to.as_ref().unwrap_or(&step.id)
}

/// The run goes from one step to another on its ordinary way.
pub(crate) fn enter(flow: &Flow, loops: &mut BTreeMap<StepId, LoopState>, from: &StepId, to: &StepId) {
    start_over(flow, loops, from, to, None);
}

/// The loop that `from` closes goes back to `to`.
pub(crate) fn go_back(
    flow: &Flow,
    loops: &mut BTreeMap<StepId, LoopState>,
    from: &StepId,
    to: &StepId,
    feedback: Option<AttemptId>,
) {
    start_over(flow, loops, from, to, Some(from));
    let state = loops.entry(from.clone()).or_default();
    state.iteration = state.iteration.saturating_add(1);
    state.feedback = feedback;
}

fn start_over(
    flow: &Flow,
    loops: &mut BTreeMap<StepId, LoopState>,
    from: &StepId,
    to: &StepId,
    except: Option<&StepId>,
) {
    let (Some(from), Some(to)) = (flow.position(from), flow.position(to)) else { return };
    for step in flow.steps.iter().filter(|step| Some(&step.id) != except) {
        if body(flow, step).is_some_and(|body| !body.contains(&from) && body.contains(&to)) {
            loops.remove(&step.id);
        }
    }
}

/// The innermost loop around `step` that has gone back at least once, and its state.
pub(crate) fn innermost<'a>(
    flow: &Flow,
    loops: &'a BTreeMap<StepId, LoopState>,
    step: &StepId,
) -> Option<&'a LoopState> {
    let position = flow.position(step)?;
    flow.steps
        .iter()
        .filter_map(|closing| Some((body(flow, closing)?, loops.get(&closing.id)?)))
        .filter(|(body, _)| body.contains(&position))
        .min_by_key(|(body, _)| body.end().saturating_sub(*body.start()))
        .map(|(_, state)| state)
}
