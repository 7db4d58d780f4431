//! The order of the steps of a flow, and its loops: the step that closes each one, the steps that it can go
//! back to, and the steps that it repeats.
//!
//! Computed once from a checked flow ([`Flow::structure`]) and used by the state of a run (which counts the
//! returns of a loop), the worst case of a plan, and the picture of a run. Steps are named by their places in
//! the listed order, from 0. Knows nothing about a run: the state owns when a loop starts over and how often
//! it has gone back.
//!
//! A loop is identified by the step that closes it. In a list it spans the steps from the earliest one it can
//! go back to, up to that step; in a graph, the steps that lie between them.

use super::{Flow, Places, Step};
use crate::model::ids::StepId;
use std::{collections::BTreeMap, ops::RangeInclusive, sync::OnceLock};

/// The order of the steps of a flow, and its loops.
#[derive(Debug)]
pub struct Structure {
    order: Order,
    /// The loops, by the index of the closing step.
    loops: BTreeMap<usize, Loop>,
}

/// The source of the order.
#[derive(Debug)]
enum Order {
    /// The order in which the steps are listed.
    Listed,
    /// For each step, the steps it needs and the steps that need it, in listed order.
    Graph { needs: Vec<Vec<usize>>, dependents: Vec<Vec<usize>> },
}

/// A step that can send the run back, with the steps that are then repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// The index of the step that closes it.
    pub end: usize,
    /// The steps that its text, a denial or an expiry can lead back to: itself or steps before it, in listed
    /// order, each once. Empty if only a person can send the run back, with an answer that the flow does not
    /// provide for.
    pub targets: Vec<usize>,
    /// The step that the answer `again` leads to, if a question about an unclear text is asked.
    pub again: Option<usize>,
    /// Whether the step asks a person. If so, only the answer sends the run back there.
    pub asks: bool,
    /// The steps between `targets` and `end`, inclusive; only `end` if there are no targets.
    pub span: Span,
}

/// The steps that a loop repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
    /// Listed one after the other.
    Listed(RangeInclusive<usize>),
    /// Anywhere in a graph.
    Graph(Places),
}

impl Loop {
    /// Whether the flow itself can go back there, and not only a person outside of it.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        !self.targets.is_empty()
    }

    /// All steps that it can go back to, in listed order, each once.
    #[must_use]
    pub fn all_targets(&self) -> Vec<usize> {
        sorted(self.targets.iter().copied().chain(self.again))
    }
}

impl Span {
    /// Whether the step with this index is repeated.
    #[must_use]
    pub fn contains(&self, place: usize) -> bool {
        match self {
            Self::Listed(range) => range.contains(&place),
            Self::Graph(places) => places.has(place),
        }
    }

    /// Whether this span contains all of `other`.
    #[must_use]
    pub fn has_within(&self, other: &Self) -> bool {
        match other {
            Self::Listed(range) => self.contains(*range.start()) && self.contains(*range.end()),
            Self::Graph(places) => places.iter().all(|place| self.contains(place)),
        }
    }

    /// Number of steps. The innermost of several loops around a step has the fewest.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Listed(range) => range.end().saturating_add(1).saturating_sub(*range.start()),
            Self::Graph(places) => places.len(),
        }
    }

    /// Whether the span is empty. A span always contains the step that closes the loop.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The indices, in listed order.
    pub fn iter(&self) -> Box<dyn Iterator<Item = usize> + '_> {
        match self {
            Self::Listed(range) => Box::new(range.clone()),
            Self::Graph(places) => Box::new(places.iter()),
        }
    }
}

impl Structure {
    /// Computes the structure of a checked flow: its targets exist, and its graph has no cycles.
    #[must_use]
    pub fn of(flow: &Flow) -> Self {
        let places: BTreeMap<&StepId, usize> =
            flow.steps.iter().enumerate().map(|(place, step)| (&step.id, place)).collect();
        let place_of = |id: &StepId| places.get(id).copied();
        let order = if flow.graph { Order::graph(flow, place_of) } else { Order::Listed };
        let mut structure = Self { order, loops: BTreeMap::new() };
        for (place, step) in flow.steps.iter().enumerate() {
            if let Some(found) = structure.loop_of(step, place, place_of) {
                structure.loops.insert(place, found);
            }
        }
        structure
    }

    /// The loops, in the order of their closing steps. Some can only be closed by a person outside of the
    /// flow ([`Loop::is_closed`]).
    pub fn loops(&self) -> impl Iterator<Item = &Loop> {
        self.loops.values()
    }

    /// The loop that the step with this index closes according to the flow.
    #[must_use]
    pub fn closed_by(&self, place: usize) -> Option<&Loop> {
        self.loops.get(&place).filter(|found| found.is_closed())
    }

    /// The steps that are repeated if the step at `end` goes back to one of `targets`; only that step if
    /// there are no targets.
    #[must_use]
    pub fn span(&self, end: usize, targets: &[usize]) -> Span {
        match &self.order {
            Order::Listed => Span::Listed(targets.iter().copied().min().unwrap_or(end)..=end),
            Order::Graph { needs, dependents } => {
                let before = reached(needs, [end]);
                let after = reached(dependents, targets.iter().copied());
                Span::Graph(after.iter().filter(|place| before.has(*place)).chain([end]).collect())
            }
        }
    }

    /// The steps that are repeated if the step at `from` goes back to the one at `to`. In a list: the steps
    /// between them. In a graph: all that depend on the one at `to`.
    #[must_use]
    pub fn repeated(&self, from: usize, to: usize) -> Span {
        match &self.order {
            Order::Listed => Span::Listed(to..=from),
            Order::Graph { dependents, .. } => Span::Graph(reached(dependents, [to])),
        }
    }

    /// For each step of a graph, the steps it needs; empty for a list.
    #[must_use]
    pub fn needs(&self) -> &[Vec<usize>] {
        match &self.order {
            Order::Listed => &[],
            Order::Graph { needs, .. } => needs,
        }
    }

    /// For each step of a graph, the steps that need it; empty for a list.
    #[must_use]
    pub fn dependents(&self) -> &[Vec<usize>] {
        match &self.order {
            Order::Listed => &[],
            Order::Graph { dependents, .. } => dependents,
        }
    }

    /// The loop that the step closes, if it can send the run back.
    fn loop_of(
        &self,
        step: &Step,
        place: usize,
        place_of: impl Fn(&StepId) -> Option<usize>,
    ) -> Option<Loop> {
        let routing = &step.routing;
        let asks = step.asks();
        let waits = asks.is_none() && routing.declared && !routing.success_values.is_empty();
        let names_targets = !routing.branches.is_empty() || !routing.flow_branches.is_empty();
        // Most steps never go back. This early exit keeps the cost for a long flow from growing with the
        // square of its length.
        if asks.is_none() && !waits && !names_targets {
            return None;
        }
        // In a graph, a step can go back only to steps that it depends on, wherever they are listed.
        let before = match &self.order {
            Order::Listed => None,
            Order::Graph { needs, .. } => Some(reached(needs, [place])),
        };
        let is_back = |target: &usize| match &before {
            None => *target <= place,
            Some(before) => before.has(*target),
        };
        let earlier = |id: &StepId| place_of(id).filter(is_back);
        let named = asks.into_iter().flat_map(|plan| plan.diversions()).chain(&routing.branches);
        let loop_to = routing.loop_to.as_ref().and_then(earlier);
        let again = asks.is_none().then(|| loop_to.unwrap_or(place));
        let own = match (asks.is_some(), &routing.loop_to) {
            (true, _) => loop_to,
            // A step that waits for a status repeats itself, unless it names another start.
            (false, None) if waits => Some(place),
            (false, _) => loop_to.filter(|_| waits),
        };
        let targets = sorted(named.filter_map(earlier).chain(own));
        if targets.is_empty() && again.is_none() {
            return None;
        }
        let span = self.span(place, &targets);
        Some(Loop { end: place, targets, again, asks: asks.is_some(), span })
    }
}

impl Order {
    fn graph(flow: &Flow, place_of: impl Fn(&StepId) -> Option<usize>) -> Self {
        let needs: Vec<Vec<usize>> =
            flow.steps.iter().map(|step| step.needs.iter().filter_map(&place_of).collect()).collect();
        let mut dependents = vec![Vec::new(); needs.len()];
        for (place, needed) in needs.iter().enumerate() {
            for earlier in needed {
                if let Some(list) = dependents.get_mut(*earlier) {
                    list.push(place);
                }
            }
        }
        Self::Graph { needs, dependents }
    }
}

fn sorted(places: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut places: Vec<usize> = places.collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// The steps at `from`, and all steps reachable from them through `ways`.
#[must_use]
pub fn reached(ways: &[Vec<usize>], from: impl IntoIterator<Item = usize>) -> Places {
    let mut found = Places::default();
    let mut open: Vec<usize> = from.into_iter().collect();
    while let Some(place) = open.pop() {
        if !found.has(place) {
            found.add(place);
            open.extend(ways.get(place).into_iter().flatten());
        }
    }
    found
}

/// Cache of a flow's structure and of the indices of its steps, filled on first use. A copy of the flow
/// starts empty, because the copy may be changed before it is used. All values compare as equal, because they
/// follow from the steps.
#[derive(Debug, Default)]
pub struct KnownStructure {
    structure: OnceLock<Structure>,
    places: OnceLock<BTreeMap<StepId, usize>>,
}

impl KnownStructure {
    pub(super) fn of(&self, flow: &Flow) -> &Structure {
        self.structure.get_or_init(|| Structure::of(flow))
    }

    /// The index of the first step with this id.
    pub(super) fn place(&self, flow: &Flow, id: &StepId) -> Option<usize> {
        // Collects in reverse, so that the first of two steps with the same id wins.
        let all =
            || flow.steps.iter().enumerate().rev().map(|(place, step)| (step.id.clone(), place)).collect();
        self.places.get_or_init(all).get(id).copied()
    }
}

impl Clone for KnownStructure {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for KnownStructure {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
