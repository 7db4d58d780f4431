//! The paths of a run through a flow: forward, and back.
//!
//! Determines for each step what can follow it, and for each step that can send the run back how many times it can,
//! which steps that repeats, and which other loops it starts over. The kernel (`Flow::structure`) determines the
//! targets and the extent of a loop. This module has to allow everything that the kernel does (its `route`,
//! `verdict`, `expire`, `loops`, `graph` and `rounds`), whatever commands and people say. Tests compare it with the
//! kernel.

use envoi_kernel::{
    flow::{Flow, Join, Loop, Next, Places, Step, reached},
    ids::StepId,
};
use std::collections::BTreeMap;

/// The steps of one flow by their positions in the list, and the edges between them.
#[derive(Debug)]
pub(super) struct ControlFlow {
    pub(super) form: Form,
    /// A loop comes after the loops that start it over.
    pub(super) loops: Vec<Back>,
}

/// How the order of steps is determined.
#[derive(Debug)]
pub(super) enum Form {
    /// A list: the later steps that can follow each step, besides the end of the run.
    Listed(Vec<Vec<usize>>),
    Graph(Graph),
}

/// A graph: steps with `needs`.
#[derive(Debug)]
pub(super) struct Graph {
    /// The steps that each one needs.
    pub(super) needs: Vec<Vec<usize>>,
    /// All steps, each after those that it needs.
    pub(super) order: Vec<usize>,
}

/// A step that can send the run back.
#[derive(Debug)]
pub(super) struct Back {
    /// The position of the step, which is the end of the loop.
    pub(super) end: usize,
    /// The targets: the step itself, or earlier steps.
    pub(super) targets: Vec<usize>,
    /// The earliest target in the order of the list.
    pub(super) start: usize,
    /// Returns per entry into the loop.
    pub(super) times: u64,
    /// True if it goes back only when a person decides so.
    pub(super) by_people: bool,
    /// True for the rounds of `goals`, which are counted separately and not as returns.
    pub(super) rounds: bool,
    /// The steps that a return may visit again.
    pub(super) repeats: Places,
    /// The loops whose returns start this one over.
    pub(super) restarted_by: Places,
}

impl ControlFlow {
    pub(super) fn of(flow: &Flow) -> Self {
        let places: BTreeMap<&StepId, usize> =
            flow.steps.iter().enumerate().map(|(place, step)| (&step.id, place)).collect();
        let place_of = |id: &StepId| places.get(id).copied();
        if flow.graph { graph(flow) } else { listed(flow, &place_of) }
    }

    /// The number of steps.
    pub(super) fn len(&self) -> usize {
        match &self.form {
            Form::Listed(onward) => onward.len(),
            Form::Graph(graph) => graph.needs.len(),
        }
    }
}

fn listed(flow: &Flow, place_of: &impl Fn(&StepId) -> Option<usize>) -> ControlFlow {
    let last_resorts = side_ways(flow, place_of);
    let mut onward = Vec::new();
    let mut loops = Vec::new();
    loops.extend(rounds(flow, place_of));
    for (place, step) in flow.steps.iter().enumerate() {
        let next = match &step.routing.next {
            Some(Next::End) => None,
            Some(Next::Step(next)) => place_of(next),
            None if last_resorts.contains_key(&place) => None,
            None => place.checked_add(1).filter(|next| *next < flow.steps.len()),
        };
        let named = named(step).filter_map(place_of);
        onward.push(next.into_iter().chain(named).filter(|next| *next > place).collect());
    }
    loops.extend(flow.structure().loops().filter_map(|found| Back::of(flow, found)));
    loops.sort_by_key(|back: &Back| (!back.rounds, back.start, core::cmp::Reverse(back.end)));
    let mut closed_by: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, back) in loops.iter().enumerate().filter(|(_, back)| back.times > 0) {
        closed_by.entry(back.end).or_default().push(at);
    }
    let found: Vec<(Places, Places)> = loops
        .iter()
        .enumerate()
        .map(|(at, back)| (repeated_by(back, &onward, &loops, &closed_by), started_over(at, back, &loops)))
        .collect();
    for (back, (repeats, restarted_by)) in loops.iter_mut().zip(found) {
        (back.repeats, back.restarted_by) = (repeats, restarted_by);
    }
    ControlFlow { form: Form::Listed(onward), loops }
}

/// The loops whose returns start this one over.
///
/// A loop starts over when the run enters it from before its first step. This requires a return of a loop that begins
/// earlier and ends inside or after it, or of a loop around it. A round starts over every loop with which it shares a
/// step.
fn started_over(at: usize, back: &Back, loops: &[Back]) -> Places {
    let earlier = loops.iter().enumerate().take(at);
    let met = |other: &Back| other.end >= back.start && (!other.rounds || other.start <= back.end);
    earlier.filter(|(_, other)| met(other)).map(|(place, _)| place).collect()
}

/// The steps that the run can reach from the targets of a loop, including through other loops that end before it.
fn repeated_by(
    back: &Back,
    onward: &[Vec<usize>],
    loops: &[Back],
    closed_by: &BTreeMap<usize, Vec<usize>>,
) -> Places {
    let follows =
        |place: usize| onward.get(place).is_some_and(|next| next.contains(&(place.saturating_add(1))));
    if (back.start..back.end).all(follows) {
        return (back.start..=back.end).collect();
    }
    let mut reached = Places::default();
    let mut open = back.targets.clone();
    while let Some(place) = open.pop() {
        if reached.has(place) {
            continue;
        }
        reached.add(place);
        open.extend(onward.get(place).into_iter().flatten().filter(|next| **next <= back.end));
        let inner = closed_by.get(&place).into_iter().flatten().filter_map(|at| loops.get(*at));
        open.extend(inner.flat_map(|inner| &inner.targets));
    }
    reached.iter().filter(|place| *place >= back.start).collect()
}

/// The rounds of `goals`, as a loop.
fn rounds(flow: &Flow, place_of: &impl Fn(&StepId) -> Option<usize>) -> Option<Back> {
    let goals = flow.goals.as_ref()?;
    let start = place_of(&goals.from)?;
    let end = place_of(&goals.to)?;
    let times = goals.max_rounds.saturating_sub(1);
    Some(Back { rounds: true, ..Back::new(end, vec![start], times, false)? })
}

fn graph(flow: &Flow) -> ControlFlow {
    let structure = flow.structure();
    let needs = structure.needs();
    let dependents = structure.dependents();
    let order = in_order(needs, dependents);
    let mut rank = vec![0_usize; needs.len()];
    for (nth, place) in order.iter().enumerate() {
        if let Some(rank) = rank.get_mut(*place) {
            *rank = nth;
        }
    }
    let mut loops: Vec<Back> = Vec::new();
    for found in structure.loops() {
        let Some(mut back) = Back::of(flow, found) else { continue };
        let again = reached(dependents, back.targets.iter().copied());
        let behind = waiting_for(flow, needs, &order, back.end);
        back.repeats = again.iter().filter(|step| !behind.has(*step)).collect();
        loops.push(back);
    }
    // An outer loop ends later than the loops inside it.
    loops.sort_by_key(|back| core::cmp::Reverse(rank.get(back.end).copied()));
    let mut restarted: Vec<Places> = vec![Places::default(); loops.len()];
    for (at, outer) in loops.iter().enumerate() {
        let span = structure.span(outer.end, &outer.targets);
        let within = |inner: &Back| {
            span.contains(inner.end) && inner.targets.iter().all(|target| span.contains(*target))
        };
        let inner = loops.iter().zip(&mut restarted).skip(at.saturating_add(1));
        for (_, by) in inner.filter(|(inner, _)| within(inner)) {
            by.add(at);
        }
    }
    for (back, by) in loops.iter_mut().zip(restarted) {
        back.restarted_by = by;
    }
    ControlFlow { form: Form::Graph(Graph { needs: needs.to_vec(), order }), loops }
}

fn in_order(needs: &[Vec<usize>], dependents: &[Vec<usize>]) -> Vec<usize> {
    let mut waiting: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut ready: Vec<usize> = (0..needs.len()).filter(|place| waiting.get(*place) == Some(&0)).collect();
    let mut order = Vec::with_capacity(needs.len());
    while let Some(place) = ready.pop() {
        order.push(place);
        for next in dependents.get(place).into_iter().flatten() {
            if let Some(left) = waiting.get_mut(*next) {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    ready.push(*next);
                }
            }
        }
    }
    order
}

/// The steps that cannot be entered before the step at `place` has ended. A step with `join: any` or `quorum` may be
/// entered earlier.
fn waiting_for(flow: &Flow, needs: &[Vec<usize>], order: &[usize], place: usize) -> Places {
    let mut waiting = Places::default();
    for at in order {
        let (Some(step), Some(needs)) = (flow.steps.get(*at), needs.get(*at)) else { continue };
        let free = needs.iter().filter(|need| **need != place && !waiting.has(**need)).count();
        let enough = match step.join {
            Join::All | Join::Settled => needs.len(),
            Join::Any => 1,
            Join::Quorum(many) => usize::try_from(many).unwrap_or(usize::MAX),
        };
        if *at != place && free < enough.min(needs.len()) {
            waiting.add(*at);
        }
    }
    waiting
}

/// Later steps that are targets of a denial or an expiry.
fn side_ways(flow: &Flow, place_of: &impl Fn(&StepId) -> Option<usize>) -> BTreeMap<usize, ()> {
    let asking = flow.steps.iter().enumerate().filter_map(|(place, step)| Some((place, step.asks()?)));
    let targets = asking.flat_map(|(from, plan)| {
        plan.diversions().filter_map(place_of).filter(move |to| *to > from).map(|to| (to, ()))
    });
    targets.collect()
}

/// The steps that the text of a step, a denial or an expiry can name.
fn named(step: &Step) -> impl Iterator<Item = &StepId> {
    step.routing.branches.iter().chain(step.asks().into_iter().flat_map(|plan| plan.diversions()))
}

impl Back {
    /// A loop of the flow, including one in which only a person goes back.
    fn of(flow: &Flow, found: &Loop) -> Option<Self> {
        let times = flow.steps.get(found.end)?.routing.max_iterations;
        Self::new(found.end, found.all_targets(), times, found.asks || !found.is_closed())
    }

    /// `None` if it has no target.
    fn new(end: usize, mut targets: Vec<usize>, times: u64, by_people: bool) -> Option<Self> {
        let start = targets.iter().copied().min()?;
        targets.sort_unstable();
        targets.dedup();
        let repeats = Places::default();
        let restarted_by = Places::default();
        Some(Self { end, targets, start, times, by_people, rounds: false, repeats, restarted_by })
    }
}
