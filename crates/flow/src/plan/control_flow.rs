//! Where a run of a flow can go: onward, and back.
//!
//! Says of each step what can follow it, and of each step that can send the run back how often, what that can repeat and which
//! other loops may start over. Where a loop goes back to, and what it spans, is the kernel's (`Flow::structure`). It has to allow everything that the kernel does (its `route`, `verdict`, `expire`,
//! `loops`, `graph` and `rounds`), whatever commands and people say; that it does is tested against the kernel.

use envoi_kernel::{
    flow::{Flow, Join, Loop, Next, Places, Step, reached},
    ids::StepId,
};
use std::collections::BTreeMap;

/// The steps of one flow by their places in the listed order, and the ways between them.
#[derive(Debug)]
pub(super) struct ControlFlow {
    pub(super) form: Form,
    /// Those that start another one over come before it.
    pub(super) loops: Vec<Back>,
}

/// What says what follows what.
#[derive(Debug)]
pub(super) enum Form {
    /// Later steps that can follow each step, besides the end of the run.
    Listed(Vec<Vec<usize>>),
    Graph(Graph),
}

/// Steps that say what they need.
#[derive(Debug)]
pub(super) struct Graph {
    /// The steps that each one needs.
    pub(super) needs: Vec<Vec<usize>>,
    /// All steps, each of them after those that it needs.
    pub(super) order: Vec<usize>,
}

/// A step that can send the run back.
#[derive(Debug)]
pub(super) struct Back {
    /// Its place: the end of the loop.
    pub(super) end: usize,
    /// Where to: itself, or what comes before it.
    pub(super) targets: Vec<usize>,
    /// The earliest target in the listed order.
    pub(super) start: usize,
    /// Returns for each entry into the loop.
    pub(super) times: u64,
    /// It goes back only where a person says so.
    pub(super) by_people: bool,
    /// The rounds of `goals`, which are counted by themselves and not as returns.
    pub(super) rounds: bool,
    /// The steps that a return may lead to again.
    pub(super) repeats: Places,
    /// The loops of whose returns each lets this one start over.
    pub(super) restarted_by: Places,
}

impl ControlFlow {
    pub(super) fn of(flow: &Flow) -> Self {
        let places: BTreeMap<&StepId, usize> =
            flow.steps.iter().enumerate().map(|(place, step)| (&step.id, place)).collect();
        let place_of = |id: &StepId| places.get(id).copied();
        if flow.graph { graph(flow) } else { listed(flow, &place_of) }
    }

    /// How many steps there are.
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

/// A loop starts over when the run comes into it from before its first step, which takes a return of a loop that begins
/// earlier and ends inside or behind it, or when a loop around it goes back into it. A round starts over every loop that it
/// shares a step with.
fn started_over(at: usize, back: &Back, loops: &[Back]) -> Places {
    let earlier = loops.iter().enumerate().take(at);
    let met = |other: &Back| other.end >= back.start && (!other.rounds || other.start <= back.end);
    earlier.filter(|(_, other)| met(other)).map(|(place, _)| place).collect()
}

/// The steps that the run can come to from where a loop goes back to, also by way of other loops that close before it.
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
    // A loop around another one ends later than that.
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

/// The steps that cannot be entered before the one at `place` is over. One that needs it only as one of several may be.
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

/// Steps to which a denial or an expiry leads on.
fn side_ways(flow: &Flow, place_of: &impl Fn(&StepId) -> Option<usize>) -> BTreeMap<usize, ()> {
    let asking = flow.steps.iter().enumerate().filter_map(|(place, step)| Some((place, step.asks()?)));
    let targets = asking.flat_map(|(from, plan)| {
        plan.diversions().filter_map(place_of).filter(move |to| *to > from).map(|to| (to, ()))
    });
    targets.collect()
}

/// The steps that a step's text, a denial or an expiry can name.
fn named(step: &Step) -> impl Iterator<Item = &StepId> {
    step.routing.branches.iter().chain(step.asks().into_iter().flat_map(|plan| plan.diversions()))
}

impl Back {
    /// A loop of the flow, also one that only a person goes back in.
    fn of(flow: &Flow, found: &Loop) -> Option<Self> {
        let times = flow.steps.get(found.end)?.routing.max_iterations;
        Self::new(found.end, found.all_targets(), times, found.asks || !found.is_closed())
    }

    /// `None` if it leads nowhere.
    fn new(end: usize, mut targets: Vec<usize>, times: u64, by_people: bool) -> Option<Self> {
        let start = targets.iter().copied().min()?;
        targets.sort_unstable();
        targets.dedup();
        let repeats = Places::default();
        let restarted_by = Places::default();
        Some(Self { end, targets, start, times, by_people, rounds: false, repeats, restarted_by })
    }
}
