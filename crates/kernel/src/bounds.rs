//! The bounds of a run, tested before a thing is started: `used < max`.
//!
//! A run that needs exactly what it has been given completes; nothing starts once a bound is used up.

use crate::{flow::Limits, ledger::Ledger};

/// A bound that leaves nothing over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reached {
    /// Its key in `limits`.
    pub(crate) name: &'static str,
    /// The word of contract 3.
    pub(crate) terminal_reason: &'static str,
    /// For people, such as `agent_hops 21 of 21 is used up`.
    pub(crate) reason: String,
}

/// The first bound that forbids a further attempt. `raised` is what people have added.
pub(crate) fn for_an_attempt(limits: &Limits, raised: &Ledger, used: &Ledger) -> Option<Reached> {
    let hops = of("agent_hops", used.agent_hops, limits.agent_hops, raised.agent_hops);
    let calls = of("llm_calls", used.llm_calls, limits.llm_calls, raised.llm_calls);
    let time = of("wall_time", used.wall_time_ms, limits.wall_time_ms, raised.wall_time_ms);
    hops.or(calls).or(time).or_else(|| {
        let max = limits.cost?.saturating_add(raised.cost);
        let reason = format!("cost_usd {} of {max} is used up", used.cost);
        (used.cost >= max).then(|| reached("cost_usd", reason))
    })
}

/// The bound of all loop-backs, if it forbids a further one.
pub(crate) fn for_a_loop_back(limits: &Limits, raised: &Ledger, used: &Ledger) -> Option<Reached> {
    of("iterations", used.iterations, limits.iterations, raised.iterations)
}

fn of(name: &'static str, used: u64, max: Option<u64>, raised: u64) -> Option<Reached> {
    let max = max?.saturating_add(raised);
    let unit = if name == "wall_time" { "_ms" } else { "" };
    (used >= max).then(|| reached(name, format!("{name}{unit} {used} of {max} is used up")))
}

fn reached(name: &'static str, reason: String) -> Reached {
    Reached { name, terminal_reason: terminal_reason(name).unwrap_or_default(), reason }
}

/// How a run ends that a bound stopped.
pub(crate) fn terminal_reason(name: &str) -> Option<&'static str> {
    Some(match name {
        "agent_hops" => "max_agent_hops_exceeded",
        "llm_calls" => "max_llm_calls_exceeded",
        "wall_time" => "time_limit_exceeded",
        "cost_usd" => "cost_limit_exceeded",
        "iterations" => "max_iterations_exceeded",
        _ => return None,
    })
}

/// Whether a run that ends like this was stopped by a bound of its own, and not by one of its loops.
pub(crate) fn is_of_the_run(ended: &str) -> bool {
    NAMES.iter().any(|name| terminal_reason(name) == Some(ended))
}

/// The bounds of `limits`, by their keys.
pub(crate) const NAMES: [&str; 5] = ["agent_hops", "iterations", "llm_calls", "wall_time", "cost_usd"];

/// What of `more` is for the bound of this name.
pub(crate) fn part(more: &Ledger, name: &str) -> Ledger {
    match name {
        "agent_hops" => Ledger { agent_hops: more.agent_hops, ..Ledger::default() },
        "llm_calls" => Ledger { llm_calls: more.llm_calls, ..Ledger::default() },
        "wall_time" => Ledger { wall_time_ms: more.wall_time_ms, ..Ledger::default() },
        "cost_usd" => Ledger { cost: more.cost, ..Ledger::default() },
        "iterations" => Ledger { iterations: more.iterations, ..Ledger::default() },
        _ => Ledger::default(),
    }
}

/// Whether the flow limits what the bound of this name counts.
pub(crate) fn is_limited(limits: &Limits, name: &str) -> bool {
    match name {
        "agent_hops" => limits.agent_hops.is_some(),
        "llm_calls" => limits.llm_calls.is_some(),
        "wall_time" => limits.wall_time_ms.is_some(),
        "cost_usd" => limits.cost.is_some(),
        "iterations" => limits.iterations.is_some(),
        _ => false,
    }
}

/// Whether `more` raises the bound of this name, and no other.
pub(crate) fn raises(more: &Ledger, name: &str) -> bool {
    let only = part(more, name);
    only != Ledger::default() && only == *more
}
