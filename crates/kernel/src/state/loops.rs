//! How often each loop of a run has gone back, and when it starts over.
//!
//! [`crate::model::flow::Structure`] owns the span of a loop. When a loop is entered from outside, its count
//! starts at 0; so an inner loop starts over in each round of the outer one. Loops that only overlap do not
//! reset each other, so that every run ends.

use crate::{
    model::{
        flow::{Flow, Span, Step},
        ids::{AttemptId, InterruptId, StepId},
    },
    state::flow_state::LoopState,
};
use std::{borrow::Cow, collections::BTreeMap};

/// The steps that the step with this index repeats. Only itself, if a person asks for another round of a step
/// that closes no loop.
fn span(flow: &Flow, place: usize) -> Cow<'_, Span> {
    let structure = flow.structure();
    let known = structure.closed_by(place).map(|found| Cow::Borrowed(&found.span));
    known.unwrap_or_else(|| Cow::Owned(structure.span(place, &[])))
}

/// Whether `closing` closes a loop that contains `step`.
pub(crate) fn encloses(flow: &Flow, closing: &StepId, step: &StepId) -> bool {
    let closed = flow.position(closing).and_then(|place| flow.structure().closed_by(place));
    closed.zip(flow.position(step)).is_some_and(|(closed, place)| closed.span.contains(place))
}

/// The first step that the loop closed by `closing` goes back to; `None`: it closes no loop.
pub(crate) fn ends<'f>(flow: &'f Flow, closing: &StepId) -> Option<&'f StepId> {
    let closed = flow.structure().closed_by(flow.position(closing)?)?;
    flow.steps.get(*closed.targets.first()?).map(|step| &step.id)
}

/// The step that `step` goes back to.
pub(crate) fn back_target(step: &Step) -> &StepId {
    step.routing.loop_to.as_ref().unwrap_or(&step.id)
}

/// Updates the loops when the run moves from one step to another on its ordinary path.
pub(crate) fn enter(flow: &Flow, loops: &mut BTreeMap<StepId, LoopState>, from: &StepId, to: &StepId) {
    let (Some(from), Some(to)) = (flow.position(from), flow.position(to)) else { return };
    start_over(flow, loops, |span| !span.contains(from) && span.contains(to));
}

/// Updates the loops when the loop that `from` closes goes back to `to`.
pub(crate) fn go_back(
    flow: &Flow,
    loops: &mut BTreeMap<StepId, LoopState>,
    from: &StepId,
    to: &StepId,
    feedback: Option<AttemptId>,
) {
    if let (Some(from), Some(to)) = (flow.position(from), flow.position(to)) {
        let outer = span(flow, from);
        // Overlapping loops keep their counts: two loops that reset each other would never end. In a graph,
        // the paths into a loop are not known individually.
        let entered = |span: &Span| flow.graph || span.contains(to);
        start_over(flow, loops, |span| outer.has_within(span) && !span.contains(from) && entered(span));
    }
    let state = loops.entry(from.clone()).or_default();
    state.iteration = state.iteration.saturating_add(1);
    state.feedback = feedback;
}

/// A round ends at `from`, and the next one begins at `to`: every loop within is reset.
pub(crate) fn start_round(flow: &Flow, loops: &mut BTreeMap<StepId, LoopState>, from: &StepId, to: &StepId) {
    let (Some(last), Some(first)) = (flow.position(from), flow.position(to)) else { return };
    start_over(flow, loops, |span| (first..=last).any(|place| span.contains(place)));
}

fn start_over(flow: &Flow, loops: &mut BTreeMap<StepId, LoopState>, is_entered: impl Fn(&Span) -> bool) {
    loops.retain(|id, _| !flow.position(id).is_some_and(|place| is_entered(&span(flow, place))));
}

/// How many times the innermost loop around `step` has gone back; 0 outside a loop.
pub(crate) fn iteration(flow: &Flow, loops: &BTreeMap<StepId, LoopState>, step: &StepId) -> u64 {
    let innermost = around(flow, loops, step).min_by_key(|(size, _)| *size);
    innermost.and_then(|(_, closing)| loops.get(&closing.id)).map_or(0, |state| state.iteration)
}

/// The feedback for `step`: that of the innermost loop around it that has gone back at least once.
pub(crate) fn feedback<'a>(
    flow: &Flow,
    loops: &'a BTreeMap<StepId, LoopState>,
    step: &StepId,
) -> Option<&'a AttemptId> {
    let gone_back =
        around(flow, loops, step).filter_map(|(size, closing)| Some((size, loops.get(&closing.id)?)));
    gone_back.min_by_key(|(size, _)| *size).and_then(|(_, state)| state.feedback.as_ref())
}

/// The answer that sent the run back into this round of the innermost loop that has gone back.
pub(crate) fn sent_back_by<'a>(
    flow: &Flow,
    loops: &'a BTreeMap<StepId, LoopState>,
    step: &StepId,
) -> Option<&'a InterruptId> {
    let gone_back =
        around(flow, loops, step).filter_map(|(size, closing)| Some((size, loops.get(&closing.id)?)));
    gone_back.min_by_key(|(size, _)| *size).and_then(|(_, state)| state.sent_back_by.as_ref())
}

/// The loops around `step`: length and closing step of each. A step that closes no loop counts once it was
/// repeated. If no loop has gone back, the search is skipped, because it runs at each start and is slow for a
/// long flow.
fn around<'a>(
    flow: &'a Flow,
    loops: &'a BTreeMap<StepId, LoopState>,
    step: &StepId,
) -> impl Iterator<Item = (usize, &'a Step)> {
    let steps = if loops.is_empty() { &[] } else { flow.steps.as_slice() };
    let position = flow.position(step);
    steps.iter().enumerate().filter_map(move |(place, closing)| {
        if flow.structure().closed_by(place).is_none() && !loops.contains_key(&closing.id) {
            return None;
        }
        let span = span(flow, place);
        span.contains(position?).then(|| (span.len(), closing))
    })
}
