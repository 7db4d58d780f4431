//! Where a run of a flow can go: onward, and back.
//!
//! Says of each step which later steps can follow it, and of each step that can send the run back where to and how often.
//! It has to allow everything that the kernel does (its `route`, `verdict`, `expire` and `loops`), whatever commands and
//! people say; that it does is tested against the kernel.

use envoi_kernel::{
    flow::{Flow, Next, Step},
    ids::StepId,
};
use std::collections::BTreeMap;

/// The steps by their places in the listed order, and the ways between them.
#[derive(Debug)]
pub(super) struct Ways {
    /// Later steps that can follow each step, besides the end of the run.
    pub(super) onward: Vec<Vec<usize>>,
    /// In the order in which they begin; of those that begin at the same step, the longest first.
    pub(super) loops: Vec<Back>,
    /// The places of loops among these, by the step that closes them.
    closed_by: BTreeMap<usize, usize>,
}

/// A step that can send the run back.
#[derive(Debug)]
pub(super) struct Back {
    /// Its place: the end of the loop.
    pub(super) end: usize,
    /// Where to, none of them later than itself.
    pub(super) targets: Vec<usize>,
    /// The earliest target: the beginning of the loop.
    pub(super) start: usize,
    /// Returns for each entry into the loop.
    pub(super) times: u64,
    /// It goes back only where a person says so.
    pub(super) by_people: bool,
}

impl Ways {
    pub(super) fn of(flow: &Flow) -> Self {
        let places: BTreeMap<&StepId, usize> =
            flow.steps.iter().enumerate().map(|(place, step)| (&step.id, place)).collect();
        let place_of = |id: &StepId| places.get(id).copied();
        let last_resorts = side_ways(flow, &place_of);
        let (mut onward, mut loops) = (Vec::new(), Vec::new());
        for (place, step) in flow.steps.iter().enumerate() {
            let next = match &step.routing.next {
                Some(Next::End) => None,
                Some(Next::Step(next)) => place_of(next),
                None if last_resorts.contains_key(&place) => None,
                None => place.checked_add(1).filter(|next| *next < flow.steps.len()),
            };
            let named: Vec<usize> = named(step).filter_map(place_of).collect();
            let (back, on): (Vec<_>, Vec<_>) = named.into_iter().partition(|target| *target <= place);
            onward.push(next.into_iter().chain(on).filter(|next| *next > place).collect());
            loops.extend(loop_of(step, place, back, &place_of));
        }
        loops.sort_by_key(|back: &Back| (back.start, core::cmp::Reverse(back.end)));
        let closed_by = loops.iter().enumerate().map(|(at, back)| (back.end, at)).collect();
        Self { onward, loops, closed_by }
    }

    /// The loop that the step at this place closes.
    pub(super) fn back_from(&self, place: usize) -> Option<&Back> {
        self.loops.get(*self.closed_by.get(&place)?)
    }
}

/// The steps to which a denial or an expiry leads on.
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

/// How `step` can send the run back; `back` are the earlier ones of the steps that it can name.
fn loop_of(
    step: &Step,
    place: usize,
    back: Vec<usize>,
    place_of: &impl Fn(&StepId) -> Option<usize>,
) -> Option<Back> {
    let routing = &step.routing;
    let waits = routing.declared && !routing.success_values.is_empty();
    let own = routing.loop_to.as_ref().and_then(place_of).filter(|target| *target <= place);
    let mut targets = back;
    let by_people = match step.asks() {
        Some(_) => {
            targets.extend(own);
            true
        }
        None if waits || !routing.branches.is_empty() => {
            let by_people = !waits && targets.is_empty();
            // Without a loop of its own too: where a text is unclear a person may say `again`.
            targets.push(own.unwrap_or(place));
            by_people
        }
        None => false,
    };
    let start = targets.iter().copied().min()?;
    targets.sort_unstable();
    targets.dedup();
    Some(Back { end: place, targets, start, times: routing.max_iterations, by_people })
}
