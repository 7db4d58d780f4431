//! Applies `limits` and budgets to the worst case.

use super::{
    Amount, Bite, Counts, Figures, Most, Whole,
    control_flow::{ControlFlow, Form},
};
use envoi_kernel::{
    flow::{InDoubtPolicy, Join, Limits, OnReached, Step},
    ledger::Cost,
};

/// The limits that end a run. With `on_reached: ask` a person may raise them, so they bound nothing.
pub(super) fn hard(limits: &Limits) -> Limits {
    match limits.on_reached {
        OnReached::Fail => limits.clone(),
        OnReached::Ask => Limits::default(),
    }
}

fn limits(whole: &Whole<'_>) -> Limits {
    whole.flow(0).map(|flow| hard(&flow.limits)).unwrap_or_default()
}

/// Returns of all loops of the run.
pub(super) fn returns(whole: &Whole<'_>, figures: &Figures, counts: &[Counts]) -> u128 {
    let each = whole.parts.iter().zip(counts).map(|(part, counts)| part.control_flow.returns(&counts.rounds));
    each.fold(0, u128::saturating_add).min(figures.iterations.unwrap_or(u128::MAX))
}

/// Nothing starts once `limits.wall_time` is used up. Live attempts, including parallel ones, continue to their own
/// limits.
pub(super) fn within_wall_time(whole: &Whole<'_>, figures: &Figures, time: u128) -> u128 {
    let Some(limit) = limits(whole).wall_time_ms else { return time };
    time.min(u128::from(limit).saturating_add(live_at_once(whole, figures)))
}

/// The longest total time that attempts which are live at the same time may still take.
fn live_at_once(whole: &Whole<'_>, figures: &Figures) -> u128 {
    let mut live = vec![0_u128; whole.parts.len()];
    for (at, (part, of)) in whole.parts.iter().zip(&figures.parts).enumerate().rev() {
        let each = part.flow.steps.iter().zip(&part.calls).enumerate().map(|(place, (step, calls))| {
            let inside = |inner: &usize| live.get(*inner).copied().unwrap_or(0);
            let own = u128::from(step.timeout_ms.unwrap_or(0)).max(calls.runs.as_ref().map_or(0, inside));
            let width =
                step.for_each.as_ref().and_then(|each| each.max_parallel).map_or(u128::MAX, u128::from);
            let hinted = calls.hints.iter().map(inside).max().unwrap_or(0);
            own.saturating_mul(of.items(place).min(width)).max(hinted)
        });
        let weights: Vec<u128> = each.collect();
        let most = side_by_side(part.flow.steps.as_slice(), &part.control_flow, &weights);
        if let Some(live) = live.get_mut(at) {
            *live = most;
        }
    }
    live.first().copied().unwrap_or(0)
}

/// The total weight of steps that can run at the same time.
///
/// In a graph two steps of one chain cannot, because each step of a chain waits for the one before it. The graph is
/// divided into chains, and the heaviest step of each chain counts.
fn side_by_side(steps: &[Step], ways: &ControlFlow, weights: &[u128]) -> u128 {
    let Form::Graph(graph) = &ways.form else { return weights.iter().copied().max().unwrap_or(0) };
    // The heaviest step of each chain, and for each step that ends a chain, the chain.
    let mut heaviest: Vec<u128> = Vec::new();
    let mut ends: Vec<Option<usize>> = vec![None; steps.len()];
    for place in &graph.order {
        let waits = steps.get(*place).is_some_and(|step| matches!(step.join, Join::All | Join::Settled));
        let needs = graph.needs.get(*place).into_iter().flatten().filter(|_| waits);
        let taken = needs.copied().find_map(|need| ends.get_mut(need)?.take());
        let chain = taken.unwrap_or_else(|| {
            heaviest.push(0);
            heaviest.len().saturating_sub(1)
        });
        let weight = weights.get(*place).copied().unwrap_or(0);
        if let Some(most) = heaviest.get_mut(chain) {
            *most = weight.max(*most);
        }
        if let Some(end) = ends.get_mut(*place) {
            *end = Some(chain);
        }
    }
    heaviest.into_iter().fold(0, u128::saturating_add)
}

/// Amounts that reports may state: model calls and cost.
#[derive(Debug, Clone, Default)]
pub(super) struct Used {
    pub(super) calls: Bounded,
    /// In billionths of a US dollar.
    pub(super) cost: Bounded,
}

/// The limits of an amount.
#[derive(Debug, Clone, Default)]
pub(super) struct Bounded {
    /// The amount of all attempts if each keeps its budget; `None` if an attempt has no budget.
    pub(super) by_budgets: Option<u128>,
    pub(super) by_limit: Option<u128>,
    /// Steps with attempts without a budget, and whether only their verifications lack one.
    pub(super) without: Vec<(String, bool)>,
}

impl Bounded {
    fn most(&self) -> Option<u128> {
        self.by_budgets.into_iter().chain(self.by_limit).min()
    }
}

impl Used {
    pub(super) fn llm_calls(&self) -> Option<Most> {
        self.calls.most().map(Most::of)
    }

    pub(super) fn by_limit(&self) -> Vec<&'static str> {
        let each = [("llm_calls", &self.calls), ("cost_usd", &self.cost)];
        let by_limit = |of: &Bounded| of.by_limit.is_some() && of.most() == of.by_limit;
        each.into_iter().filter(|(_, of)| by_limit(of)).map(|(limit, _)| limit).collect()
    }

    pub(super) fn cost(&self) -> Option<Cost> {
        self.cost.most().map(money)
    }
}

fn money(nano_usd: u128) -> Cost {
    Cost::from_nano_usd(u64::try_from(nano_usd).unwrap_or(u64::MAX))
}

/// See [`Used`].
pub(super) fn used(whole: &Whole<'_>, figures: &Figures, attempts: u128) -> Used {
    let limits = limits(whole);
    let nano = |cost: Cost| u128::from(cost.nano_usd());
    let calls = |step: &Step| step.budget.llm_calls.map(u128::from);
    let cost = |step: &Step| step.budget.cost.map(nano);
    Used {
        calls: bounded(whole, figures, attempts, limits.llm_calls.map(u128::from), calls),
        cost: bounded(whole, figures, attempts, limits.cost.map(nano), cost),
    }
}

fn bounded(
    whole: &Whole<'_>,
    figures: &Figures,
    attempts: u128,
    by_limit: Option<u128>,
    budget: impl Fn(&Step) -> Option<u128>,
) -> Bounded {
    if attempts == 0 {
        return Bounded { by_budgets: Some(0), ..Bounded::default() };
    }
    let mut without = Vec::new();
    for (at, part) in whole.parts.iter().enumerate() {
        for step in part.flow.steps.iter().filter(|step| step.has_attempts()) {
            let has = budget(step).is_some();
            if !has || matches!(step.on_in_doubt, InDoubtPolicy::Verify(_)) {
                without.push((whole.name(at, &step.id), has));
            }
        }
    }
    let by_budgets =
        without.is_empty().then(|| whole.total(figures, &whole.each(|step| budget(step).unwrap_or(0))));
    Bounded { by_budgets, by_limit, without }
}

/// True if a start may have to wait for amounts that live attempts have reserved. Steps that could run in parallel
/// then sometimes do not.
pub(super) fn may_hold_up(whole: &Whole<'_>) -> bool {
    let Some(limits) = whole.flow(0).map(|flow| &flow.limits) else { return false };
    let mut steps = whole.parts.iter().flat_map(|part| &part.flow.steps);
    steps.any(|step| {
        limits.llm_calls.is_some() && step.budget.llm_calls.is_some()
            || limits.cost.is_some() && step.budget.cost.is_some()
    })
}

/// The limits that lower the worst case.
pub(super) fn bites(
    whole: &Whole<'_>,
    figures: &Figures,
    time: Option<(u128, u128)>,
    used: &Used,
) -> Vec<Bite> {
    let mut bites = Vec::new();
    let count = |count: u128| Amount::Count(Most::of(count));
    let mut add = |limit: &'static str, without: u128, with: u128, amount: &dyn Fn(u128) -> Amount| {
        if with < without {
            bites.push(Bite { limit, without: amount(without), with: amount(with) });
        }
    };
    let limits = limits(whole);
    let free = Figures { iterations: None, hops: None, ..figures.clone() };
    let returned = |figures: &Figures| returns(whole, figures, &whole.counts(figures));
    add("iterations", returned(&free), returned(figures), &count);
    let ones = whole.each(|_| 1);
    let without_hops = Figures { hops: None, ..figures.clone() };
    if limits.agent_hops.is_some() {
        let hops = Figures { hops: limits.agent_hops.map(u128::from), ..figures.clone() };
        add("agent_hops", whole.total(&without_hops, &ones), whole.total(&hops, &ones), &count);
    }
    if let Some((by_timeouts, within)) = time {
        add("wall_time", by_timeouts, within, &count);
    }
    if let (Some(without), Some(with)) = (used.calls.by_budgets, used.calls.by_limit) {
        add("llm_calls", without, with, &count);
    }
    if let (Some(without), Some(with)) = (used.cost.by_budgets, used.cost.by_limit) {
        add("cost_usd", without, with, &|nano_usd| Amount::Cost(money(nano_usd)));
    }
    bites
}
