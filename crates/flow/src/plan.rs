//! The worst case of a flow, before anything runs: attempts, visits, returns, time, calls and cost.
//!
//! No run of the flow starts more than its plan says, whatever its commands do and its people answer, with three exceptions
//! that are a person's free choice and are not counted: an attempt in doubt that is run again, a bound that is raised, and
//! a run that is reopened. What runs is decided by the kernel alone; this module only counts.
//!
//! Owns the counting, what dominates, and what is past a maximum. Time is what attempts may take by their
//! limits; ending one that is over its limit takes a few seconds more. What a command calls and costs is known only from
//! its report, so that only `limits` bound it.

mod field;
mod json;
mod most;
mod past;
mod ways;
mod weigh;
mod worst;

pub use field::line_of;
pub use most::Most;
pub use past::{Maxima, Past};
pub use weigh::{Dominant, Field};

use envoi_kernel::{
    MAX_RERUNS,
    flow::{Flow, InDoubtPolicy, Limits, OnReached, Retry, Step},
    ids::{FlowId, StepId},
    ledger::Cost,
};
use ways::Ways;
use worst::{Figures, Rounds};

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Whose worst case it is.
    pub flow: FlowId,
    /// In listed order.
    pub steps: Vec<StepPlan>,
    /// What can send the run back, in the order of the steps.
    pub loops: Vec<LoopPlan>,
    /// Visits of all steps.
    pub visits: Most,
    /// Attempts of all steps: `limits.agent_hops` bounds these.
    pub attempts: Most,
    /// Returns of all loops: `limits.iterations` bounds these.
    pub loop_backs: Most,
    /// Milliseconds in which an attempt is live; `None`: not bounded.
    pub time_ms: Option<Most>,
    /// Milliseconds of waiting before further tries, beside that.
    pub waits_ms: Most,
    /// Model calls that reports tell of; `None`: not bounded.
    pub llm_calls: Option<u64>,
    /// Cost that reports tell of; `None`: not bounded.
    pub cost: Option<Cost>,
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
    /// Which.
    pub step: StepId,
    /// It asks a person and makes no attempt.
    pub asks: bool,
    /// Its visits; one whose `if` is false counts too.
    pub visits: Most,
    /// Attempts of one visit.
    pub attempts_each: Most,
    /// How many of those are because of doubt.
    pub reruns_each: u32,
    /// Attempts of the run.
    pub attempts: Most,
    /// Limit of one attempt.
    pub timeout_ms: Option<u64>,
    /// Milliseconds of all its attempts; `None`: not bounded.
    pub time_ms: Option<Most>,
}

/// The worst case of one loop.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopPlan {
    /// The step that closes it.
    pub step: StepId,
    /// The earliest step that it goes back to.
    pub back_to: StepId,
    /// Returns each time that it is entered: `max_iterations`.
    pub each_entry: u64,
    /// How often it is entered.
    pub entries: Most,
    /// Returns of the run.
    pub returns: Most,
    /// It goes back only where a person says so.
    pub by_people: bool,
}

/// A limit that lowers the worst case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bite {
    /// Its key in `limits`.
    pub limit: &'static str,
    /// What would be without it.
    pub without: Most,
    /// What it lowers that to.
    pub with: Most,
}

/// The worst case of `flow`, which [`crate::load`] has admitted.
#[must_use]
pub fn plan(flow: &Flow) -> Plan {
    let ways = Ways::of(flow);
    let figures = figures(flow, &ways);
    let rounds = ways.rounds(&figures);
    let visits = ways.visits(&figures, &rounds);
    let ones = vec![1; flow.steps.len()];
    let attempts = ways.total(&figures, &ones);
    let steps: Vec<StepPlan> =
        flow.steps.iter().zip(&visits).map(|(step, visits)| step_plan(step, *visits, &figures)).collect();
    let timeouts: Vec<u128> =
        flow.steps.iter().map(|step| u128::from(step.timeout_ms.unwrap_or(0))).collect();
    let untimed: Vec<&StepPlan> = steps.iter().filter(|step| step.time_ms.is_none()).collect();
    let by_timeouts = untimed.is_empty().then(|| ways.total(&figures, &timeouts));
    let time = by_timeouts.map(|time| within_wall_time(&flow.limits, time, &timeouts));
    let waits: Vec<u128> = flow.steps.iter().map(waits_of_a_visit).collect();
    Plan {
        flow: flow.id.clone(),
        loops: loop_plans(flow, &ways, &rounds),
        visits: Most::of(ways.heaviest(&figures, &rounds, &ones)),
        attempts: Most::of(attempts),
        loop_backs: Most::of(Ways::returns(&figures, &rounds)),
        time_ms: time.map(Most::of),
        waits_ms: Most::of(if figures.hops == Some(0) {
            0
        } else {
            ways.heaviest(&figures, &rounds, &waits)
        }),
        llm_calls: if attempts == 0 { Some(0) } else { hard(&flow.limits).llm_calls },
        cost: if attempts == 0 { Some(Cost::default()) } else { hard(&flow.limits).cost },
        bites: bites(flow, &ways, &figures, by_timeouts.zip(time)),
        most_attempts: weigh::dominant(flow, &ways, &figures, &ones),
        most_time: time
            .filter(|_| time == by_timeouts)
            .and_then(|_| weigh::dominant(flow, &ways, &figures, &timeouts)),
        notes: notes(flow, &steps, attempts),
        steps,
    }
}

/// The limits that nobody can raise: where `on_reached: ask` a person may, and then they bound nothing.
fn hard(limits: &Limits) -> Limits {
    match limits.on_reached {
        OnReached::Fail => limits.clone(),
        OnReached::Ask => Limits::default(),
    }
}

fn figures(flow: &Flow, ways: &Ways) -> Figures {
    let limits = hard(&flow.limits);
    // Bounds are tested before a start: one of zero starts nothing.
    let nothing = limits.llm_calls == Some(0) || limits.wall_time_ms == Some(0);
    let nothing = nothing || limits.cost == Some(Cost::default());
    Figures {
        times: ways.loops.iter().map(|back| u128::from(back.times)).collect(),
        tries: flow.steps.iter().map(tries).collect(),
        iterations: limits.iterations.map(u128::from),
        hops: if nothing { Some(0) } else { limits.agent_hops.map(u128::from) },
    }
}

/// Attempts of one visit.
fn tries(step: &Step) -> u128 {
    match step.asks() {
        Some(_) => 0,
        None => u128::from(step.retry.attempts.max(1)).saturating_add(u128::from(reruns(step))),
    }
}

/// Attempts of one visit because of doubt, without anybody's doing.
fn reruns(step: &Step) -> u32 {
    if step.asks().is_none() && step.on_in_doubt == InDoubtPolicy::Rerun { MAX_RERUNS } else { 0 }
}

fn step_plan(step: &Step, visits: u128, figures: &Figures) -> StepPlan {
    let each = tries(step);
    let attempts = visits.saturating_mul(each).min(figures.hops.unwrap_or(u128::MAX));
    let time = step.timeout_ms.map(|timeout| attempts.saturating_mul(u128::from(timeout)));
    StepPlan {
        step: step.id.clone(),
        asks: step.asks().is_some(),
        visits: Most::of(visits),
        attempts_each: Most::of(each),
        reruns_each: reruns(step),
        attempts: Most::of(attempts),
        timeout_ms: step.timeout_ms,
        time_ms: if attempts == 0 { Some(Most::of(0)) } else { time.map(Most::of) },
    }
}

fn loop_plans(flow: &Flow, ways: &Ways, rounds: &[Rounds]) -> Vec<LoopPlan> {
    let named = |place: usize| flow.steps.get(place).map(|step| step.id.clone());
    let mut loops: Vec<(usize, LoopPlan)> = ways
        .loops
        .iter()
        .zip(rounds)
        .filter_map(|(back, of)| {
            let plan = LoopPlan {
                step: named(back.end)?,
                back_to: named(back.start)?,
                each_entry: back.times,
                entries: Most::of(of.entries),
                returns: Most::of(of.returns),
                by_people: back.by_people,
            };
            Some((back.end, plan))
        })
        .collect();
    loops.sort_by_key(|(end, _)| *end);
    loops.into_iter().map(|(_, plan)| plan).collect()
}

/// Nothing starts once `limits.wall_time` is used up; what is live then goes on to its own limit.
fn within_wall_time(limits: &Limits, time: u128, timeouts: &[u128]) -> u128 {
    let longest = timeouts.iter().copied().max().unwrap_or(0);
    let most = hard(limits).wall_time_ms.map(|limit| u128::from(limit).saturating_add(longest));
    time.min(most.unwrap_or(u128::MAX))
}

/// The longest waits of one visit, which has one fewer than tries: each doubled, up to the longest.
fn waits_of_a_visit(step: &Step) -> u128 {
    let Retry { attempts, backoff_min_ms, backoff_max_ms } = step.retry;
    if step.asks().is_some() {
        return 0;
    }
    let waits = (1..attempts).map(|failures| {
        let doubled = backoff_min_ms.saturating_mul(1_u64.checked_shl(failures).unwrap_or(u64::MAX));
        u128::from(doubled.min(backoff_max_ms).max(backoff_min_ms))
    });
    waits.fold(0, u128::saturating_add)
}

fn bites(flow: &Flow, ways: &Ways, figures: &Figures, time: Option<(u128, u128)>) -> Vec<Bite> {
    let mut bites = Vec::new();
    let mut add = |limit: &'static str, without: u128, with: u128| {
        if with < without {
            bites.push(Bite { limit, without: Most::of(without), with: Most::of(with) });
        }
    };
    let limits = hard(&flow.limits);
    let free = Figures { iterations: None, hops: None, ..figures.clone() };
    let returns = |figures: &Figures| Ways::returns(figures, &ways.rounds(figures));
    add("iterations", returns(&free), returns(figures));
    let ones = vec![1; flow.steps.len()];
    let without_hops = Figures { hops: None, ..figures.clone() };
    if limits.agent_hops.is_some() {
        let hops = Figures { hops: limits.agent_hops.map(u128::from), ..figures.clone() };
        add("agent_hops", ways.total(&without_hops, &ones), ways.total(&hops, &ones));
    }
    if let Some((by_timeouts, within)) = time {
        add("wall_time", by_timeouts, within);
    }
    bites
}

fn notes(flow: &Flow, steps: &[StepPlan], attempts: u128) -> Vec<String> {
    let mut notes = Vec::new();
    let limits = &flow.limits;
    if limits.on_reached == OnReached::Ask
        && *limits != (Limits { on_reached: OnReached::Ask, ..Limits::default() })
    {
        notes.push(
            "`limits.on_reached: ask`: a person may raise a limit, so that none of them bounds a run"
                .to_owned(),
        );
    }
    let untimed: Vec<String> =
        steps.iter().filter(|step| step.time_ms.is_none()).map(|step| format!("`{}`", step.step)).collect();
    if !untimed.is_empty() {
        let (named, have) = some(&untimed);
        let limit = if hard(limits).wall_time_ms.is_some() {
            "; `limits.wall_time` starts nothing more once it is used up, and does not end what is running"
        } else {
            ""
        };
        notes.push(format!("time is not bounded: {named} {have} no `timeout`{limit}"));
    }
    if attempts > 0 {
        let reported =
            [("llm_calls", hard(limits).llm_calls.is_some()), ("cost_usd", hard(limits).cost.is_some())];
        for (limit, _) in reported.iter().filter(|(_, bounded)| *bounded) {
            notes.push(format!(
                "`limits.{limit}` is tested before a start: the attempt that reaches it may report more than was left"
            ));
        }
        for (limit, _) in reported.iter().filter(|(_, bounded)| !*bounded) {
            let what = if *limit == "cost_usd" { "cost is" } else { "model calls are" };
            notes.push(format!("{what} not bounded: only `limits.{limit}` can bound what commands report"));
        }
    }
    if flow.steps.iter().any(|step| step.asks().is_none() && step.on_in_doubt != InDoubtPolicy::Fail) {
        notes.push(
            "not counted, because people decide it: an attempt in doubt that is run again, a run that is reopened"
                .to_owned(),
        );
    }
    notes
}

/// Some names and the verb that goes with them.
fn some(names: &[String]) -> (String, &'static str) {
    const SHOWN: usize = 4;
    let have = if names.len() == 1 { "has" } else { "have" };
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(SHOWN);
    if more == 0 { (shown, have) } else { (format!("{shown} and {more} more"), have) }
}
