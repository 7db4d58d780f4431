//! All flows of a run together: which step runs which flow, how many times each flow is entered, and the total
//! weight.
//!
//! A flow that several steps run is one part. Its counts are sums over all its entries.

use super::{
    control_flow::ControlFlow,
    worst::{Gain, Measure, Rounds, added},
};
use envoi_kernel::{
    flow::{Flow, Step},
    ids::{FlowId, StepId},
};
use std::collections::BTreeMap;

/// See the module documentation.
#[derive(Debug)]
pub(super) struct Whole<'f> {
    /// The outermost flow first. Each other flow comes after those that run it.
    pub(super) parts: Vec<Part<'f>>,
    by_id: BTreeMap<&'f FlowId, usize>,
}

/// A flow of a run.
#[derive(Debug)]
pub(super) struct Part<'f> {
    pub(super) flow: &'f Flow,
    pub(super) control_flow: ControlFlow,
    /// By the position of the step.
    pub(super) calls: Vec<Calls>,
}

/// The flows that a visit of a step enters, as indexes of parts.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// The flow that it runs, once per item.
    pub(super) runs: Option<usize>,
    /// At most one of these, once, if the step's text contains a hint to it.
    pub(super) hints: Vec<usize>,
}

/// The settings of a run's flows that bound it. The dominant one is found by lowering each of them.
#[derive(Debug, Clone)]
pub(super) struct Figures {
    /// In the order of [`Whole::parts`].
    pub(super) parts: Vec<PartFigures>,
    /// The limit for returns of all loops.
    pub(super) iterations: Option<u128>,
    /// The limit for attempts of the run.
    pub(super) hops: Option<u128>,
}

/// See [`Figures`].
#[derive(Debug, Clone, Default)]
pub(super) struct PartFigures {
    /// For each loop, in the order of [`ControlFlow::loops`].
    pub(super) times: Vec<u128>,
    /// For each step, the tries of one visit or item.
    pub(super) tries: Vec<u128>,
    /// For each step, the attempts that are caused by doubt.
    pub(super) doubt: Vec<Doubt>,
    /// For each step, the items of one visit.
    pub(super) items: Vec<u128>,
}

/// Attempts that are caused by doubt, without a decision of a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Doubt {
    /// Per try.
    pub(super) each_try: u128,
    /// In addition, independent of the tries.
    pub(super) besides: u128,
}

impl PartFigures {
    /// Attempts of one visit of the step at this position, or of one of its items.
    pub(super) fn attempts(&self, place: usize) -> u128 {
        let tries = self.tries.get(place).copied().unwrap_or(0);
        let doubt = self.doubt.get(place).copied().unwrap_or_default();
        tries.saturating_mul(doubt.each_try.saturating_add(1)).saturating_add(doubt.besides)
    }

    pub(super) fn items(&self, place: usize) -> u128 {
        self.items.get(place).copied().unwrap_or(1)
    }
}

/// The visits and returns in one part, over the whole run.
#[derive(Debug)]
pub(super) struct Counts {
    pub(super) rounds: Vec<Rounds>,
    pub(super) visits: Vec<u128>,
}

/// For each part, the weight of one visit of each of its steps, without the flows that it runs.
pub(super) type Weights = Vec<Vec<u128>>;

/// The weight of one entry into a part.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    first: u128,
    anywhere: u128,
}

impl<'f> Whole<'f> {
    pub(super) fn of(flow: &'f Flow) -> Self {
        let mut found = Vec::new();
        after_what_they_run(flow, flow, &mut found);
        found.reverse();
        let by_id: BTreeMap<&FlowId, usize> =
            found.iter().enumerate().map(|(part, flow)| (&flow.id, part)).collect();
        let calls = |step: &Step| Calls {
            runs: step.inner().and_then(|plan| by_id.get(&plan.flow).copied()),
            hints: {
                let hints = step.routing.flow_branches.iter().map(|(flow, _)| flow);
                let mut hints: Vec<usize> = hints.filter_map(|flow| by_id.get(flow).copied()).collect();
                hints.sort_unstable();
                hints.dedup();
                hints
            },
        };
        let part = |flow: &&'f Flow| Part {
            flow,
            control_flow: ControlFlow::of(flow),
            calls: flow.steps.iter().map(calls).collect(),
        };
        let parts = found.iter().map(part).collect();
        Self { parts, by_id }
    }

    pub(super) fn flow(&self, part: usize) -> Option<&'f Flow> {
        self.parts.get(part).map(|part| part.flow)
    }

    pub(super) fn part_of(&self, flow: &FlowId) -> Option<usize> {
        self.by_id.get(flow).copied()
    }

    /// The name of a step of a part. A step of another flow is named with its flow.
    pub(super) fn name(&self, part: usize, step: &StepId) -> String {
        match self.flow(part).filter(|_| part > 0) {
            Some(flow) => format!("{}/{step}", flow.id),
            None => step.to_string(),
        }
    }

    /// The steps that enter a part, and whether by a hint.
    pub(super) fn callers(&self, part: usize) -> impl Iterator<Item = (usize, &'f Step, bool)> {
        self.parts.iter().enumerate().flat_map(move |(caller, of)| {
            of.flow.steps.iter().zip(&of.calls).flat_map(move |(step, calls)| {
                let runs = (calls.runs == Some(part)).then_some((caller, step, false));
                let hints = calls.hints.contains(&part).then_some((caller, step, true));
                runs.into_iter().chain(hints)
            })
        })
    }

    /// The counts of each part, over the whole run.
    pub(super) fn counts(&self, figures: &Figures) -> Vec<Counts> {
        let mut entered = vec![0_u128; self.parts.len()];
        if let Some(first) = entered.first_mut() {
            *first = 1;
        }
        let mut counts = Vec::with_capacity(self.parts.len());
        for (at, (part, of)) in self.parts.iter().zip(&figures.parts).enumerate() {
            let entries = entered.get(at).copied().unwrap_or(0);
            let rounds = part.control_flow.rounds(&of.times, entries, figures.iterations);
            let visits = part.control_flow.visits(&rounds, entries, figures.iterations);
            for (place, (calls, visits)) in part.calls.iter().zip(&visits).enumerate() {
                let runs = calls.runs.map(|inner| (inner, visits.saturating_mul(of.items(place))));
                let hints = calls.hints.iter().map(|inner| (*inner, *visits));
                for (inner, times) in runs.into_iter().chain(hints) {
                    if let Some(entered) = entered.get_mut(inner) {
                        *entered = entered.saturating_add(times);
                    }
                }
            }
            counts.push(Counts { rounds, visits });
        }
        counts
    }

    /// The weight of the heaviest run. It is the smaller of two bounds: the sum over all entries, each as heavy as
    /// possible; and the sum with all returns of the run together, which the limit on returns bounds.
    pub(super) fn heaviest(&self, figures: &Figures, own: &Weights) -> u128 {
        let by_entry = self.by_entry(figures, own, Measure::Sum, |times, _| times);
        if figures.iterations.is_none() {
            return by_entry;
        }
        let mut bases = vec![Entry::default(); self.parts.len()];
        let mut gains: Vec<Gain> = Vec::new();
        let counts = self.counts(figures);
        for (at, (part, counts)) in self.parts.iter().zip(&counts).enumerate().rev() {
            let weights = self.weights(at, figures, own, &bases, &|items, _| items);
            gains.extend(part.control_flow.gains(&counts.rounds, &weights, Measure::Sum));
            if let Some(base) = bases.get_mut(at) {
                base.first = part.control_flow.base(&weights, Measure::Sum, false);
                base.anywhere = part.control_flow.base(&weights, Measure::Sum, true);
            }
        }
        let base = bases.first().map_or(0, |base| base.first);
        by_entry.min(added(gains, figures.iterations, base))
    }

    /// The weight of one entry into the outermost flow. `spread` is the factor for a step with this number of items.
    pub(super) fn by_entry(
        &self,
        figures: &Figures,
        own: &Weights,
        measure: Measure,
        spread: impl Fn(u128, &Step) -> u128,
    ) -> u128 {
        self.entries(figures, own, measure, &spread).first().map_or(0, |entry| entry.first)
    }

    fn entries(
        &self,
        figures: &Figures,
        own: &Weights,
        measure: Measure,
        spread: &dyn Fn(u128, &Step) -> u128,
    ) -> Vec<Entry> {
        let mut entries = vec![Entry::default(); self.parts.len()];
        for (at, (part, of)) in self.parts.iter().zip(&figures.parts).enumerate().rev() {
            let weights = self.weights(at, figures, own, &entries, spread);
            let entry = |anywhere| {
                part.control_flow.entry(&of.times, figures.iterations, &weights, measure, anywhere)
            };
            let found = Entry { first: entry(false), anywhere: entry(true) };
            if let Some(entry) = entries.get_mut(at) {
                *entry = found;
            }
        }
        entries
    }

    /// The weight of one visit of each step of a part, including the flows that it runs.
    fn weights(
        &self,
        at: usize,
        figures: &Figures,
        own: &Weights,
        entries: &[Entry],
        spread: &dyn Fn(u128, &Step) -> u128,
    ) -> Vec<u128> {
        let (Some(part), Some(of)) = (self.parts.get(at), figures.parts.get(at)) else { return Vec::new() };
        let own = own.get(at).map(Vec::as_slice).unwrap_or_default();
        let each = part.flow.steps.iter().zip(&part.calls).enumerate();
        let weight = |(place, (step, calls)): (usize, (&Step, &Calls))| {
            let entry = |inner: &usize| entries.get(*inner).copied().unwrap_or_default();
            let runs = calls.runs.as_ref().map_or(0, |inner| entry(inner).first);
            let hinted = calls.hints.iter().map(|inner| entry(inner).anywhere).max().unwrap_or(0);
            let own = own.get(place).copied().unwrap_or(0);
            own.saturating_add(runs.saturating_mul(spread(of.items(place), step))).saturating_add(hinted)
        };
        each.map(weight).collect()
    }

    /// The weight of one visit of each step, including everything that it runs, by part.
    pub(super) fn whole_weights(&self, figures: &Figures, own: &Weights) -> Weights {
        let spread = |items: u128, _: &Step| items;
        let entries = self.entries(figures, own, Measure::Sum, &spread);
        (0..self.parts.len()).map(|at| self.weights(at, figures, own, &entries, &spread)).collect()
    }

    /// The largest total of a run. `weights` are the weights of one attempt of each step: 1 to count attempts, its
    /// limit to count time.
    pub(super) fn total(&self, figures: &Figures, weights: &Weights) -> u128 {
        let heaviest = self.heaviest(figures, &of_visits(figures, weights));
        let most = weights.iter().flatten().copied().max().unwrap_or(0);
        let most = figures.hops.map(|hops| hops.saturating_mul(most));
        heaviest.min(most.unwrap_or(u128::MAX))
    }

    /// For each part, the result of `weigh` for each of its steps.
    pub(super) fn each(&self, weigh: impl Fn(&Step) -> u128) -> Weights {
        self.parts.iter().map(|part| part.flow.steps.iter().map(&weigh).collect()).collect()
    }
}

/// The weight of all attempts of a visit of each step. `weights` are the weights of one attempt.
pub(super) fn of_visits(figures: &Figures, weights: &Weights) -> Weights {
    let of_part = |(of, weights): (&PartFigures, &Vec<u128>)| {
        let of_step = |(place, weight): (usize, &u128)| {
            of.attempts(place).saturating_mul(of.items(place)).saturating_mul(*weight)
        };
        weights.iter().enumerate().map(of_step).collect()
    };
    figures.parts.iter().zip(weights).map(of_part).collect()
}

/// Adds `flow` after all flows that it runs or leads into.
fn after_what_they_run<'f>(flow: &'f Flow, run: &'f Flow, found: &mut Vec<&'f Flow>) {
    let named = flow.steps.iter().flat_map(|step| {
        let runs = step.inner().map(|plan| &plan.flow);
        runs.into_iter().chain(step.routing.flow_branches.iter().map(|(flow, _)| flow))
    });
    for inner in named.filter_map(|id| run.flows.get(id)) {
        if !found.iter().any(|known| known.id == inner.id) {
            after_what_they_run(inner, run, found);
        }
    }
    found.push(flow);
}
