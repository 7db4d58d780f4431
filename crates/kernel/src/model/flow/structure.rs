//! What comes before what in a flow, and its loops: which step closes each one, where it goes back to, and what it spans.
//!
//! Computed once from a checked flow ([`Flow::structure`]) and used by all that need it: the state of a run, which
//! counts the returns of a loop; the worst case of a plan; the picture of a run. Steps are named by their places in the listed
//! order, from 0. Says nothing about a run: when a loop starts over, and how often it has gone back, is the state's.
//!
//! A loop is known by the step that closes it. In a list it spans the steps from the earliest one it can go back to, up to
//! that step; in a graph, the steps that lie between them.

use super::{Flow, Places, Step};
use crate::model::ids::StepId;
use std::{collections::BTreeMap, ops::RangeInclusive, sync::OnceLock};

/// See the module.
#[derive(Debug)]
pub struct Structure {
    order: Order,
    /// By the place of the step that closes each one.
    loops: BTreeMap<usize, Loop>,
}

/// What says what comes before what.
#[derive(Debug)]
enum Order {
    /// The order in which the steps are listed.
    Listed,
    /// The needs of each step, and the steps that need it, in listed order.
    Graph { needs: Vec<Vec<usize>>, dependents: Vec<Vec<usize>> },
}

/// A step that can send the run back, and what it then repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// The step that closes it.
    pub end: usize,
    /// Where its text, a denial or an expiry can lead back to: itself or steps before it, in listed order, each once. Empty where
    /// only a person can send the run back, who says so beside what the flow provides.
    pub targets: Vec<usize>,
    /// Where the answer `again` leads, to a question about a text that is unclear.
    pub again: Option<usize>,
    /// The step asks a person: nothing else sends the run back there.
    pub asks: bool,
    /// What lies between `targets` and `end`, with both; just `end` where there are no targets.
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
    /// Whether the flow itself can go back there, and not only a person beside it.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        !self.targets.is_empty()
    }

    /// Every step that it can go back to, in listed order, each once.
    #[must_use]
    pub fn all_targets(&self) -> Vec<usize> {
        sorted(self.targets.iter().copied().chain(self.again))
    }
}

impl Span {
    /// Whether the step at this place is repeated.
    #[must_use]
    pub fn contains(&self, place: usize) -> bool {
        match self {
            Self::Listed(range) => range.contains(&place),
            Self::Graph(places) => places.has(place),
        }
    }

    /// Whether all that `other` repeats is repeated here too.
    #[must_use]
    pub fn has_within(&self, other: &Self) -> bool {
        match other {
            Self::Listed(range) => self.contains(*range.start()) && self.contains(*range.end()),
            Self::Graph(places) => places.iter().all(|place| self.contains(place)),
        }
    }

    /// How many steps there are. The innermost of several loops around a step has the fewest.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Listed(range) => range.end().saturating_add(1).saturating_sub(*range.start()),
            Self::Graph(places) => places.len(),
        }
    }

    /// Whether there are none; a span has at least the step that closes the loop.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The places, in listed order.
    pub fn iter(&self) -> Box<dyn Iterator<Item = usize> + '_> {
        match self {
            Self::Listed(range) => Box::new(range.clone()),
            Self::Graph(places) => Box::new(places.iter()),
        }
    }
}

impl Structure {
    /// The structure of a checked flow: its targets exist, and its graph has no cycles.
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

    /// The loops, in the order of the steps that close them. Some are closed only by a person beside the flow ([`Loop::is_closed`]).
    pub fn loops(&self) -> impl Iterator<Item = &Loop> {
        self.loops.values()
    }

    /// The loop that the step at this place closes by what the flow says.
    #[must_use]
    pub fn closed_by(&self, place: usize) -> Option<&Loop> {
        self.loops.get(&place).filter(|found| found.is_closed())
    }

    /// What is repeated where the step at `end` goes back to one of `targets`; just that step where there are none.
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

    /// What is done again when the step at `from` goes back to the one at `to`: in a list the steps between them, in a graph
    /// all that hangs on the one at `to`.
    #[must_use]
    pub fn repeated(&self, from: usize, to: usize) -> Span {
        match &self.order {
            Order::Listed => Span::Listed(to..=from),
            Order::Graph { dependents, .. } => Span::Graph(reached(dependents, [to])),
        }
    }

    /// The steps that each step of a graph needs; none in a list.
    #[must_use]
    pub fn needs(&self) -> &[Vec<usize>] {
        match &self.order {
            Order::Listed => &[],
            Order::Graph { needs, .. } => needs,
        }
    }

    /// The steps that need each step of a graph; none in a list.
    #[must_use]
    pub fn dependents(&self) -> &[Vec<usize>] {
        match &self.order {
            Order::Listed => &[],
            Order::Graph { dependents, .. } => dependents,
        }
    }

    /// How the step can send the run back, if it can.
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
        // Most steps lead nowhere back: nothing is looked for, so that a long flow does not cost its square.
        if asks.is_none() && !waits && !names_targets {
            return None;
        }
        // In a graph the way back leads to what the step hangs on, wherever that is listed.
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
            // A step that waits for a status repeats itself, unless it says from where on.
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

/// The steps at `from`, and all that `ways` lead to from them.
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

/// Where a flow keeps its structure, and the places of its steps, after the first use. A copy of the flow computes its own: it may be
/// changed before it is used. Says nothing in a comparison, because it follows from the steps.
#[derive(Debug, Default)]
pub struct KnownStructure {
    structure: OnceLock<Structure>,
    places: OnceLock<BTreeMap<StepId, usize>>,
}

impl KnownStructure {
    pub(super) fn of(&self, flow: &Flow) -> &Structure {
        self.structure.get_or_init(|| Structure::of(flow))
    }

    /// The place of the first step of this id.
    pub(super) fn place(&self, flow: &Flow, id: &StepId) -> Option<usize> {
        // From the last to the first, so that the first of two steps of one id stays.
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
