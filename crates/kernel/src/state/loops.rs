//! Which steps a loop spans, and when it starts over.
//!
//! A loop is known by the step that closes it. It spans the listed steps from the earliest one it can go back to, up to
//! that step; in a graph, what lies between them. Coming from outside, its count starts at 0; a loop inside a loop therefore starts over in each round of the
//! outer one. Loops that merely cross do not start each other over, so that every run ends.

use crate::{
    model::{
        flow::{Flow, Step},
        ids::{AttemptId, InterruptId, StepId},
    },
    state::{flow_state::LoopState, graph},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
};

/// The steps that a step repeats when it goes back, as positions in the listed order.
enum Body {
    /// In listed order: from the earliest step it can go back to.
    Listed(RangeInclusive<usize>),
    /// In a graph: what lies between.
    Graph(BTreeSet<usize>),
}

impl Body {
    fn contains(&self, position: usize) -> bool {
        match self {
            Self::Listed(range) => range.contains(&position),
            Self::Graph(set) => set.contains(&position),
        }
    }

    fn has_within(&self, other: &Self) -> bool {
        match other {
            Self::Listed(range) => self.contains(*range.start()) && self.contains(*range.end()),
            Self::Graph(set) => set.iter().all(|position| self.contains(*position)),
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Listed(range) => range.end().saturating_sub(*range.start()),
            Self::Graph(set) => set.len(),
        }
    }
}

/// What `step` repeats: just itself where a person asks for another round of what is no loop.
fn body(flow: &Flow, step: &Step) -> Option<Body> {
    let end = flow.position(&step.id)?;
    let targets: Vec<usize> = earlier_targets(flow, step).collect();
    if !flow.graph {
        return Some(Body::Listed(targets.into_iter().min().unwrap_or(end)..=end));
    }
    let before = graph::ancestors(flow, &step.id);
    let from = targets.into_iter().filter_map(|target| flow.steps.get(target));
    let between =
        from.flat_map(|target| graph::descendants(flow, &target.id)).filter(|id| before.contains(id));
    Some(Body::Graph(between.filter_map(|id| flow.position(id)).chain([end]).collect()))
}

/// Whether its text can send the run back.
fn closes_a_loop(flow: &Flow, step: &Step) -> bool {
    earlier_targets(flow, step).next().is_some()
}

/// Where its text can send the run back to.
fn earlier_targets(flow: &Flow, step: &Step) -> impl Iterator<Item = usize> {
    let asks = step.asks();
    let waits = step.routing.declared && !step.routing.success_values.is_empty();
    // Most steps lead nowhere back: their place is not looked for, so that a long flow does not cost its square.
    let leads = waits || asks.is_some() || !step.routing.branches.is_empty();
    let end = leads.then(|| flow.position(&step.id)).flatten();
    let loop_start =
        if asks.is_some() { step.routing.loop_to.as_ref() } else { waits.then(|| back_target(step)) };
    let diversions = asks.into_iter().flat_map(|plan| plan.diversions());
    let targets = loop_start.into_iter().chain(&step.routing.branches).chain(diversions);
    // In a graph the way back leads to an ancestor, wherever it is listed.
    let before = (flow.graph && leads).then(|| graph::ancestors(flow, &step.id));
    let back = move |target: &usize| match &before {
        Some(before) => flow.steps.get(*target).is_some_and(|target| before.contains(&target.id)),
        None => Some(*target) <= end,
    };
    targets.filter_map(|target| flow.position(target)).filter(back)
}

/// Whether `closing` closes a loop of the flow in which `step` stands.
pub(crate) fn encloses(flow: &Flow, closing: &StepId, step: &StepId) -> bool {
    let closing = flow.step(closing).filter(|closing| closes_a_loop(flow, closing));
    let body = closing.and_then(|closing| body(flow, closing));
    body.zip(flow.position(step)).is_some_and(|(body, position)| body.contains(position))
}

/// The step that the loop which `closing` closes goes back to first; `None`: it closes none.
pub(crate) fn ends<'f>(flow: &'f Flow, closing: &StepId) -> Option<&'f StepId> {
    let closing = flow.step(closing).filter(|closing| closes_a_loop(flow, closing))?;
    let first = earlier_targets(flow, closing).min()?;
    flow.steps.get(first).map(|step| &step.id)
}

/// Where `step` goes back to.
pub(crate) fn back_target(step: &Step) -> &StepId {
    step.routing.loop_to.as_ref().unwrap_or(&step.id)
}

/// The run goes from one step to another on its ordinary way.
pub(crate) fn enter(flow: &Flow, loops: &mut BTreeMap<StepId, LoopState>, from: &StepId, to: &StepId) {
    let (Some(from), Some(to)) = (flow.position(from), flow.position(to)) else { return };
    start_over(flow, loops, |body| !body.contains(from) && body.contains(to));
}

/// The loop that `from` closes goes back to `to`.
pub(crate) fn go_back(
    flow: &Flow,
    loops: &mut BTreeMap<StepId, LoopState>,
    from: &StepId,
    to: &StepId,
    feedback: Option<AttemptId>,
) {
    if let (Some(from), Some(to), Some(outer)) =
        (flow.position(from), flow.position(to), flow.step(from).and_then(|step| body(flow, step)))
    {
        // Loops that cross this one keep their count: two that started each other over would never end.
        // In a graph the ways into them are not known one by one.
        let entered = |body: &Body| flow.graph || body.contains(to);
        start_over(flow, loops, |body| outer.has_within(body) && !body.contains(from) && entered(body));
    }
    let state = loops.entry(from.clone()).or_default();
    state.iteration = state.iteration.saturating_add(1);
    state.feedback = feedback;
}

/// A round ends at `from`, and the next one begins at `to`: every loop within starts over.
pub(crate) fn start_round(flow: &Flow, loops: &mut BTreeMap<StepId, LoopState>, from: &StepId, to: &StepId) {
    let (Some(last), Some(first)) = (flow.position(from), flow.position(to)) else { return };
    start_over(flow, loops, |body| (first..=last).any(|place| body.contains(place)));
}

fn start_over(flow: &Flow, loops: &mut BTreeMap<StepId, LoopState>, is_entered: impl Fn(&Body) -> bool) {
    loops.retain(|id, _| {
        !flow.step(id).and_then(|step| body(flow, step)).is_some_and(|body| is_entered(&body))
    });
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
    let position = steps.iter().position(|other| other.id == *step);
    steps.iter().filter_map(move |closing| {
        if !closes_a_loop(flow, closing) && !loops.contains_key(&closing.id) {
            return None;
        }
        let body = body(flow, closing)?;
        body.contains(position?).then(|| (body.size(), closing))
    })
}
