//! The bounds of a run, tested before a thing is started: `used < max`.
//!
//! A run that needs exactly what it has been given completes; nothing starts once a bound is used up.

use crate::{flow::Limits, ledger::Ledger};

/// A bound that leaves nothing over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reached {
    /// The word of contract 3.
    pub(crate) terminal_reason: &'static str,
    /// For people, such as `agent_hops 21 of 21`.
    pub(crate) reason: String,
}

/// The first bound that forbids a further attempt.
pub(crate) fn for_an_attempt(limits: &Limits, used: &Ledger) -> Option<Reached> {
    count("agent_hops", "max_agent_hops_exceeded", used.agent_hops, limits.agent_hops)
        .or_else(|| count("llm_calls", "max_llm_calls_exceeded", used.llm_calls, limits.llm_calls))
        .or_else(|| count("wall_time_ms", "time_limit_exceeded", used.wall_time_ms, limits.wall_time_ms))
        .or_else(|| {
            let max = limits.cost.filter(|max| used.cost >= *max)?;
            let reason = format!("cost_usd {} of {max} is used up", used.cost);
            Some(Reached { terminal_reason: "cost_limit_exceeded", reason })
        })
}

/// The bound of all loop-backs, if it forbids a further one.
pub(crate) fn for_a_loop_back(limits: &Limits, used: &Ledger) -> Option<Reached> {
    count("iterations", "max_iterations_exceeded", used.iterations, limits.iterations)
}

fn count(name: &str, terminal_reason: &'static str, used: u64, max: Option<u64>) -> Option<Reached> {
    let max = max.filter(|max| used >= *max)?;
    Some(Reached { terminal_reason, reason: format!("{name} {used} of {max} is used up") })
}
