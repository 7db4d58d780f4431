//! How often each loop of a run has gone back, and when it starts over.
//!
//! What a loop spans is [`crate::model::flow::Structure`]'s. Coming from outside, its count starts at 0; a loop inside a loop
//! therefore starts over in each round of the outer one. Loops that merely cross do not start each other over, so that every run ends.

use crate::{
    model::{
        flow::{Flow, Span, Step},
        ids::{AttemptId, InterruptId, StepId},
    },
    state::flow_state::LoopState,
};
use std::{borrow::Cow, collections::BTreeMap};

/// What the step at this place repeats: just itself where a person asks for another round of what is no loop.
fn span(flow: &Flow, place: usize) -> Cow<'_, Span> {
    let structure = flow.structure();
    let known = structure.closed_by(place).map(|found| Cow::Borrowed(&found.span));
    known.unwrap_or_else(|| Cow::Owned(structure.span(place, &[])))
}

/// Whether `closing` closes a loop of the flow in which `step` stands.
pub(crate) fn encloses(flow: &Flow, closing: &StepId, step: &StepId) -> bool {
    let closed = flow.position(closing).and_then(|place| flow.structure().closed_by(place));
    closed.zip(flow.position(step)).is_some_and(|(closed, place)| closed.span.contains(place))
}

/// The step that the loop which `closing` closes goes back to first; `None`: it closes none.
pub(crate) fn ends<'f>(flow: &'f Flow, closing: &StepId) -> Option<&'f StepId> {
    let closed = flow.structure().closed_by(flow.position(closing)?)?;
    flow.steps.get(*closed.targets.first()?).map(|step| &step.id)
}

/// Where `step` goes back to.
pub(crate) fn back_target(step: &Step) -> &StepId {
    step.routing.loop_to.as_ref().unwrap_or(&step.id)
}

/// The run goes from one step to another on its ordinary way.
pub(crate) fn enter(flow: &Flow, loops: &mut BTreeMap<StepId, LoopState>, from: &StepId, to: &StepId) {
    let (Some(from), Some(to)) = (flow.position(from), flow.position(to)) else { return };
    start_over(flow, loops, |span| !span.contains(from) && span.contains(to));
}

/// The loop that `from` closes goes back to `to`.
pub(crate) fn go_back(
    flow: &Flow,
    loops: &mut BTreeMap<StepId, LoopState>,
    from: &StepId,
    to: &StepId,
    feedback: Option<AttemptId>,
) {
    if let (Some(from), Some(to)) = (flow.position(from), flow.position(to)) {
        let outer = span(flow, from);
        // Loops that cross this one keep their count: two that started each other over would never end.
        // In a graph the ways into them are not known one by one.
        let entered = |span: &Span| flow.graph || span.contains(to);
        start_over(flow, loops, |span| outer.has_within(span) && !span.contains(from) && entered(span));
    }
    let state = loops.entry(from.clone()).or_default();
    state.iteration = state.iteration.saturating_add(1);
    state.feedback = feedback;
}

/// A round ends at `from`, and the next one begins at `to`: every loop within starts over.
pub(crate) fn start_round(flow: &Flow, loops: &mut BTreeMap<StepId, LoopState>, from: &StepId, to: &StepId) {
    let (Some(last), Some(first)) = (flow.position(from), flow.position(to)) else { return };
    start_over(flow, loops, |span| (first..=last).any(|place| span.contains(place)));
}

fn start_over(flow: &Flow, loops: &mut BTreeMap<StepId, LoopState>, is_entered: impl Fn(&Span) -> bool) {
    loops.retain(|id, _| !flow.position(id).is_some_and(|place| is_entered(&span(flow, place))));
}

/// The round that `step` is in: how often its innermost loop has gone back, 0 outside a loop.
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

/// The loops around `step`: their length and the step that closes them. A step that is no loop counts once it was repeated.
/// While no loop has gone back there is nothing to know of any, and none is looked for: a long flow asks at each start.
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
