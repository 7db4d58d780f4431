//! The worst case of a flow, before anything runs: attempts, visits, returns, time, calls and cost.
//!
//! No run of the flow starts more than its plan says, whatever its commands do and its people answer, with three exceptions
//! that are a person's free choice and are not counted: an attempt in doubt that is run again, a bound that is raised, and
//! a run that is reopened. What runs is decided by the kernel alone; this module only counts.
//!
//! Owns the counting, what dominates, and what is past a maximum. Time is what attempts may take by their
//! limits; ending one that is over its limit takes a few seconds more. What a command calls and costs is known only from
//! its report: `limits` bound it, and budgets as far as commands keep to them.

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

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Whose worst case it is.
    pub flow: FlowId,
    /// In listed order; those of other flows after those of the flow itself.
    pub steps: Vec<StepPlan>,
    /// What can send the run back, in the order of the steps.
    pub loops: Vec<LoopPlan>,
    /// Visits of all steps.
    pub visits: Most,
    /// Attempts of all steps: `limits.agent_hops` bounds these.
    pub attempts: Most,
    /// Returns of all loops: `limits.iterations` bounds these.
    pub loop_backs: Most,
    /// The most rounds, in a flow with goals.
    pub rounds: Option<u64>,
    /// Milliseconds in which attempts are live, those side by side added up; `None`: not bounded.
    pub time_ms: Option<Most>,
    /// Milliseconds of waiting before further tries, beside that, added up as well.
    pub waits_ms: Most,
    /// Milliseconds from the start to the end, where every attempt finds a slot and every question an answer at once; `None`: not bounded.
    pub elapsed_ms: Option<Most>,
    /// Whether anything can be done side by side.
    pub parallel: bool,
    /// Model calls that reports tell of; `None`: not bounded.
    pub llm_calls: Option<Most>,
    /// Cost that reports tell of; `None`: not bounded.
    pub cost: Option<Cost>,
    /// Which of the two are bounded by their key in `limits` and not by budgets.
    pub by_limit: Vec<&'static str>,
    /// The limits that lower the worst case.
    pub bites: Vec<Bite>,
    /// What to lower for fewer attempts.
    pub most_attempts: Option<Dominant>,
    /// What to lower for less time, where timeouts bound it and not `limits.wall_time`.
    pub most_time: Option<Dominant>,
    /// What has to be known to read the figures.
    pub notes: Vec<String>,
}

/// The worst case of one step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepPlan {
    /// The flow that it is a step of, if that is another one.
    pub flow: Option<FlowId>,
    /// Which.
    pub step: StepId,
    /// It asks a person and makes no attempt.
    pub asks: bool,
    /// The flow that it runs; it makes no attempt of its own.
    pub runs: Option<FlowId>,
    /// Its visits; one whose `if` is false counts too.
    pub visits: Most,
    /// Items of one visit, if it is done for each of a list.
    pub items: Option<Items>,
    /// Attempts of one visit, or of one item.
    pub attempts_each: Most,
    /// How many of those are because of doubt: reruns and verifications.
    pub doubt_each: u32,
    /// Attempts of the run.
    pub attempts: Most,
    /// Limit of one attempt.
    pub timeout_ms: Option<u64>,
    /// Milliseconds of all its attempts; `None`: not bounded.
    pub time_ms: Option<Most>,
}

impl Plan {
    /// Whether a key of `limits` is what bounds calls or cost, and not budgets.
    #[must_use]
    pub fn is_by_limit(&self, limit: &str) -> bool {
        self.by_limit.contains(&limit)
    }
}

impl StepPlan {
    /// How it is called: one of another flow by both, `build/compile`.
    #[must_use]
    pub fn name(&self) -> String {
        named(self.flow.as_ref(), &self.step)
    }
}

impl LoopPlan {
    /// How its step is called, and the one that it goes back to.
    #[must_use]
    pub fn names(&self) -> (String, String) {
        (named(self.flow.as_ref(), &self.step), named(self.flow.as_ref(), &self.back_to))
    }
}

fn named(flow: Option<&FlowId>, step: &StepId) -> String {
    flow.map_or_else(|| step.to_string(), |flow| format!("{flow}/{step}"))
}

/// How many items a step is done for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Items {
    /// At most.
    pub most: u64,
    /// Whether the files say so; else it is the most that any list may have.
    pub known: bool,
}

/// The worst case of one loop.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopPlan {
    /// The flow that it is in, if that is another one.
    pub flow: Option<FlowId>,
    /// The step that closes it.
    pub step: StepId,
    /// The earliest step that it goes back to.
    pub back_to: StepId,
    /// Returns each time that it is entered: `max_iterations`, or one less than `goals.max_rounds`.
    pub each_entry: u64,
    /// How often it is entered.
    pub entries: Most,
    /// Returns of the run.
    pub returns: Most,
    /// It goes back only where a person says so.
    pub by_people: bool,
    /// It is the rounds of `goals`, which are not counted as returns.
    pub rounds: bool,
}

/// A limit that lowers the worst case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bite {
    /// Its key in `limits`.
    pub limit: &'static str,
    /// What would be without it.
    pub without: Amount,
    /// What it lowers that to.
    pub with: Amount,
}

/// What a limit bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// A count, or milliseconds.
    Count(Most),
    /// Money.
    Cost(Cost),
}

/// The worst case of `flow`, which [`crate::load_with`] has admitted, with all flows that it runs.
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

/// Of each part and each of its steps that is done for each of a list.
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
    // Bounds are tested before a start: one of zero starts nothing.
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

/// Attempts of one visit because of doubt, without a decision of a person. Where a command verifies, each try can be in doubt, and
/// each attempt in doubt is followed by a verification; one that says that it happened may leave a failure to be tried again.
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

/// The flow of a part that is not the outermost one.
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

/// The longest waits of one visit of each step, all items together.
fn waits(whole: &Whole<'_>, figures: &Figures) -> Weights {
    let mut waits = whole.each(waits_of_a_visit);
    for (waits, of) in waits.iter_mut().zip(&figures.parts) {
        for (place, waits) in waits.iter_mut().enumerate() {
            *waits = waits.saturating_mul(of.items(place));
        }
    }
    waits
}

/// The longest waits of one visit or item, which has one fewer than tries.
fn waits_of_a_visit(step: &Step) -> u128 {
    if !step.has_attempts() {
        return 0;
    }
    let waits = (1..step.retry.attempts).map(|failures| u128::from(step.retry.longest_wait_ms(failures)));
    waits.fold(0, u128::saturating_add)
}

/// From the start to the end, where nothing waits for a slot: in a graph its heaviest chain, and of items as many one after
/// the other as `max_parallel` leaves.
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

/// How many of the items of a step follow one another.
fn in_turn(items: u128, step: &Step) -> u128 {
    let width = step.for_each.as_ref().and_then(|each| each.max_parallel).map_or(items, u128::from);
    items.div_ceil(width.max(1))
}
