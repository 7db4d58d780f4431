//! The worst case of a flow, before anything runs: attempts, visits, returns, time, calls and cost.
//!
//! No run of the flow starts more than its plan says, whatever its commands do and people answer. There are three
//! exceptions, which a person decides freely and which are not counted: an attempt in doubt that is run again, a
//! raised limit, and a reopened run. The kernel alone decides what runs; this module only counts.
//!
//! Owns the counting, the dominant settings, and the comparison with maximums. Time is computed from the limits of
//! attempts; ending an attempt at its limit takes a few seconds more. The calls and the cost of a command are known
//! only from its report. `limits` bound them; budgets bound them only if commands respect them.

mod bounds;
mod control_flow;
mod field;
mod length;
mod most;
mod notes;
mod part;
mod sensitivity;
mod thresholds;
mod whole;
mod worst;

pub use field::{is_flow, line_of, step_lines};
pub use most::Most;
pub use part::plan_part;
pub use sensitivity::{Dominant, Field};
pub use thresholds::{Exceeded, Maxima};

use bounds::hard;
use envoi_kernel::{
    MAX_RERUNS,
    flow::{Flow, InDoubtPolicy, Step},
    ids::{FlowId, StepId},
    ledger::Cost,
};
use whole::{Counts, Doubt, Figures, PartFigures, Weights, Whole};
use worst::Measure;

/// See the module documentation.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The flow.
    pub flow: FlowId,
    /// The steps, in the order of the list, followed by those of other flows.
    pub steps: Vec<StepPlan>,
    /// The loops, in the order of the steps.
    pub loops: Vec<LoopPlan>,
    /// Visits of all steps.
    pub visits: Most,
    /// Attempts of all steps, which `limits.agent_hops` bounds.
    pub attempts: Most,
    /// Returns of all loops, which `limits.iterations` bounds.
    pub loop_backs: Most,
    /// The largest number of rounds, in a flow with goals.
    pub rounds: Option<u64>,
    /// The total time of all attempts in milliseconds; the times of parallel attempts are added. `None` means
    /// unbounded.
    pub time_ms: Option<Most>,
    /// The total time of waits before retries in milliseconds. It is not included in `time_ms`.
    pub waits_ms: Most,
    /// The time from start to end in milliseconds, if every attempt gets a slot and every question an answer at once.
    /// `None` means unbounded.
    pub elapsed_ms: Option<Most>,
    /// Whether anything can run in parallel.
    pub parallel: bool,
    /// Model calls that reports count; `None` means unbounded.
    pub llm_calls: Option<Most>,
    /// Cost that reports state; `None` means unbounded.
    pub cost: Option<Cost>,
    /// The keys of `limits` that bound calls or cost because budgets do not.
    pub by_limit: Vec<&'static str>,
    /// The limits that lower the worst case.
    pub bites: Vec<Bite>,
    /// The setting to lower for fewer attempts.
    pub most_attempts: Option<Dominant>,
    /// The setting to lower for less time. `None` if `limits.wall_time` bounds the time, and not timeouts.
    pub most_time: Option<Dominant>,
    /// Notes that are needed to interpret the figures.
    pub notes: Vec<String>,
}

/// The worst case of one step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepPlan {
    /// The flow of the step; `None` for the flow itself.
    pub flow: Option<FlowId>,
    /// The step.
    pub step: StepId,
    /// True if it asks a person, and so has no attempts.
    pub asks: bool,
    /// The flow that it runs; it then has no attempts of its own.
    pub runs: Option<FlowId>,
    /// Visits. A visit that is skipped because `if` is false counts too.
    pub visits: Most,
    /// Items of one visit, if it has `for_each`.
    pub items: Option<Items>,
    /// Attempts of one visit, or of one item.
    pub attempts_each: Most,
    /// The part of these attempts that is caused by doubt: reruns and verifications.
    pub doubt_each: u32,
    /// Attempts in the run.
    pub attempts: Most,
    /// Time limit of one attempt in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Total time of its attempts in milliseconds; `None` means unbounded.
    pub time_ms: Option<Most>,
}

impl Plan {
    /// True if the key `limit` bounds calls or cost because budgets do not.
    #[must_use]
    pub fn is_by_limit(&self, limit: &str) -> bool {
        self.by_limit.contains(&limit)
    }
}

impl StepPlan {
    /// The name of the step. A step of another flow is named with its flow: `build/compile`.
    #[must_use]
    pub fn name(&self) -> String {
        named(self.flow.as_ref(), &self.step)
    }
}

impl LoopPlan {
    /// The names of the loop's last step, and of the step to which it goes back.
    #[must_use]
    pub fn names(&self) -> (String, String) {
        (named(self.flow.as_ref(), &self.step), named(self.flow.as_ref(), &self.back_to))
    }
}

fn named(flow: Option<&FlowId>, step: &StepId) -> String {
    flow.map_or_else(|| step.to_string(), |flow| format!("{flow}/{step}"))
}

/// The number of items for which a step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Items {
    /// The largest number.
    pub most: u64,
    /// True if the files determine the number; otherwise it is the limit for any list.
    pub known: bool,
}

/// The worst case of one loop.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopPlan {
    /// The flow of the loop; `None` for the flow itself.
    pub flow: Option<FlowId>,
    /// The step that closes it.
    pub step: StepId,
    /// The earliest step to which it goes back.
    pub back_to: StepId,
    /// Returns per entry: `max_iterations`, or `goals.max_rounds` minus one.
    pub each_entry: u64,
    /// How many times it is entered.
    pub entries: Most,
    /// Returns in the run.
    pub returns: Most,
    /// True if it goes back only when a person decides so.
    pub by_people: bool,
    /// True for the rounds of `goals`, which do not count as returns.
    pub rounds: bool,
}

/// A limit that lowers the worst case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bite {
    /// The key in `limits`.
    pub limit: &'static str,
    /// The amount without the limit.
    pub without: Amount,
    /// The amount with the limit.
    pub with: Amount,
}

/// The amount that a limit bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// A count, or milliseconds.
    Count(Most),
    /// Money.
    Cost(Cost),
}

/// The worst case of `flow`, including all flows that it runs. [`crate::load_with`] must have accepted the flow.
#[must_use]
pub fn plan(flow: &Flow) -> Plan {
    let whole = Whole::of(flow);
    let lengths = lengths(&whole);
    let figures = figures(flow, &whole, &lengths);
    let counts = whole.counts(&figures);
    let ones = whole.each(|_| 1);
    let attempts = whole.total(&figures, &ones);
    let steps = step_plans(&whole, &figures, &counts, &lengths);
    let timeouts = whole.each(|step| u128::from(step.timeout_ms.unwrap_or(0)));
    let timed = steps.iter().all(|step| step.time_ms.is_some());
    let by_timeouts = timed.then(|| whole.total(&figures, &timeouts));
    let time = by_timeouts.map(|time| bounds::within_wall_time(&whole, &figures, time));
    let nothing = figures.hops == Some(0);
    let waits = if nothing { 0 } else { whole.heaviest(&figures, &waits(&whole, &figures)) };
    let returns = bounds::returns(&whole, &figures, &counts);
    let used = bounds::used(&whole, &figures, attempts);
    let parallel = whole
        .parts
        .iter()
        .any(|part| part.flow.graph || part.flow.steps.iter().any(|step| step.for_each.is_some()));
    let elapsed = time.map(|time| {
        let one_by_one = time.saturating_add(waits);
        let held_up = bounds::may_hold_up(&whole);
        if nothing || held_up { one_by_one } else { elapsed(&whole, &figures).min(one_by_one) }
    });
    Plan {
        flow: flow.id.clone(),
        loops: loop_plans(&whole, &counts),
        visits: Most::of(whole.heaviest(&figures, &ones)),
        attempts: Most::of(attempts),
        loop_backs: Most::of(returns),
        rounds: flow.goals.as_ref().map(|goals| goals.max_rounds),
        time_ms: time.map(Most::of),
        waits_ms: Most::of(waits),
        elapsed_ms: elapsed.map(Most::of),
        parallel,
        bites: bounds::bites(&whole, &figures, by_timeouts.zip(time), &used),
        most_attempts: sensitivity::dominant(&whole, &figures, &lengths, &ones),
        most_time: time
            .filter(|_| time == by_timeouts)
            .and_then(|_| sensitivity::dominant(&whole, &figures, &lengths, &timeouts)),
        notes: notes::of(&whole, &steps, attempts, &used),
        by_limit: used.by_limit(),
        llm_calls: used.llm_calls(),
        cost: used.cost(),
        steps,
    }
}

/// For each part and each of its steps, the items of a step with `for_each`.
type Lengths = Vec<Vec<Option<Items>>>;

fn lengths(whole: &Whole<'_>) -> Lengths {
    let of_step = |part: usize, step: &Step| {
        step.for_each.as_ref()?;
        let known = length::of_step(whole, part, step);
        Some(Items { most: known.unwrap_or(length::MAX_ITEMS), known: known.is_some() })
    };
    let parts = whole.parts.iter().enumerate();
    parts.map(|(at, part)| part.flow.steps.iter().map(|step| of_step(at, step)).collect()).collect()
}

fn figures(flow: &Flow, whole: &Whole<'_>, lengths: &Lengths) -> Figures {
    let limits = hard(&flow.limits);
    // A limit of zero starts nothing, because limits are tested before a start.
    let nothing = limits.llm_calls == Some(0) || limits.wall_time_ms == Some(0);
    let nothing = nothing || limits.cost == Some(Cost::default());
    let parts = whole.parts.iter().zip(lengths).map(|(part, lengths)| PartFigures {
        times: part.control_flow.loops.iter().map(|back| u128::from(back.times)).collect(),
        tries: part.flow.steps.iter().map(tries).collect(),
        doubt: part.flow.steps.iter().map(doubt).collect(),
        items: lengths.iter().map(|items| items.map_or(1, |items| u128::from(items.most))).collect(),
    });
    Figures {
        parts: parts.collect(),
        iterations: limits.iterations.map(u128::from),
        hops: if nothing { Some(0) } else { limits.agent_hops.map(u128::from) },
    }
}

/// Tries of one visit.
fn tries(step: &Step) -> u128 {
    if step.has_attempts() { u128::from(step.retry.attempts.max(1)) } else { 0 }
}

/// Attempts of one visit that are caused by doubt, without a decision of a person.
///
/// With a `verify` command each try can be in doubt, and a verification follows each attempt in doubt. If the
/// verification says that the step happened but failed, it may be tried again.
fn doubt(step: &Step) -> Doubt {
    let runs = step.has_attempts();
    match &step.on_in_doubt {
        InDoubtPolicy::Rerun if runs => Doubt { each_try: 0, besides: u128::from(MAX_RERUNS) },
        InDoubtPolicy::Verify(_) if runs => {
            Doubt { each_try: 1, besides: u128::from(MAX_RERUNS).saturating_mul(2) }
        }
        _ => Doubt::default(),
    }
}

fn step_plans(whole: &Whole<'_>, figures: &Figures, counts: &[Counts], lengths: &Lengths) -> Vec<StepPlan> {
    let mut plans = Vec::new();
    for (at, (part, (of, counts))) in whole.parts.iter().zip(figures.parts.iter().zip(counts)).enumerate() {
        for (place, (step, visits)) in part.flow.steps.iter().zip(&counts.visits).enumerate() {
            let items = lengths.get(at).and_then(|lengths| lengths.get(place)).copied().flatten();
            let each = of.attempts(place);
            let most = figures.hops.unwrap_or(u128::MAX);
            let attempts = visits.saturating_mul(of.items(place)).saturating_mul(each).min(most);
            let time = step.timeout_ms.map(|timeout| attempts.saturating_mul(u128::from(timeout)));
            plans.push(StepPlan {
                flow: other(whole, at),
                step: step.id.clone(),
                asks: step.asks().is_some(),
                runs: step.inner().map(|plan| plan.flow.clone()),
                visits: Most::of(*visits),
                items,
                attempts_each: Most::of(each),
                doubt_each: u32::try_from(each.saturating_sub(tries(step))).unwrap_or(u32::MAX),
                attempts: Most::of(attempts),
                timeout_ms: step.timeout_ms,
                time_ms: if attempts == 0 { Some(Most::of(0)) } else { time.map(Most::of) },
            });
        }
    }
    plans
}

/// The flow of a part; `None` for the outermost one.
fn other(whole: &Whole<'_>, at: usize) -> Option<FlowId> {
    whole.flow(at).filter(|_| at > 0).map(|flow| flow.id.clone())
}

fn loop_plans(whole: &Whole<'_>, counts: &[Counts]) -> Vec<LoopPlan> {
    let mut plans = Vec::new();
    for (at, (part, counts)) in whole.parts.iter().zip(counts).enumerate() {
        let named = |place: usize| part.flow.steps.get(place).map(|step| step.id.clone());
        let each = part.control_flow.loops.iter().zip(&counts.rounds);
        let plan = |(back, of): (&control_flow::Back, &worst::Rounds)| {
            let plan = LoopPlan {
                flow: other(whole, at),
                step: named(back.end)?,
                back_to: named(back.start)?,
                each_entry: back.times,
                entries: Most::of(of.entries),
                returns: Most::of(of.returns),
                by_people: back.by_people,
                rounds: back.rounds,
            };
            Some((back.end, plan))
        };
        let mut loops: Vec<(usize, LoopPlan)> = each.filter_map(plan).collect();
        loops.sort_by_key(|(end, _)| *end);
        plans.extend(loops.into_iter().map(|(_, plan)| plan));
    }
    plans
}

/// The longest waits of one visit of each step, with all its items.
fn waits(whole: &Whole<'_>, figures: &Figures) -> Weights {
    let mut waits = whole.each(waits_of_a_visit);
    for (waits, of) in waits.iter_mut().zip(&figures.parts) {
        for (place, waits) in waits.iter_mut().enumerate() {
            *waits = waits.saturating_mul(of.items(place));
        }
    }
    waits
}

/// The longest waits of one visit or item. There is one wait fewer than tries.
fn waits_of_a_visit(step: &Step) -> u128 {
    if !step.has_attempts() {
        return 0;
    }
    let waits = (1..step.retry.attempts).map(|failures| u128::from(step.retry.longest_wait_ms(failures)));
    waits.fold(0, u128::saturating_add)
}

/// The time from start to end if nothing waits for a slot. In a graph it is the heaviest chain. For items it is the
/// number of consecutive batches that `max_parallel` gives.
fn elapsed(whole: &Whole<'_>, figures: &Figures) -> u128 {
    let mut own: Weights = Vec::new();
    for (part, of) in whole.parts.iter().zip(&figures.parts) {
        let each = part.flow.steps.iter().enumerate().map(|(place, step)| {
            let timeout = u128::from(step.timeout_ms.unwrap_or(0));
            let one = of.attempts(place).saturating_mul(timeout).saturating_add(waits_of_a_visit(step));
            one.saturating_mul(in_turn(of.items(place), step))
        });
        own.push(each.collect());
    }
    whole.by_entry(figures, &own, Measure::Longest, in_turn)
}

/// How many items of a step run one after the other.
fn in_turn(items: u128, step: &Step) -> u128 {
    let width = step.for_each.as_ref().and_then(|each| each.max_parallel).map_or(items, u128::from);
    items.div_ceil(width.max(1))
}
