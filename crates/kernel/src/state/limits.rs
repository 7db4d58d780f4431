//! The names of the bounds of a run, and how a run ends that one of them stops.

use crate::model::{flow::Flow, ledger::Ledger};

/// How a run ends that a bound stopped.
pub(crate) fn terminal_reason(name: &str) -> Option<&'static str> {
    Some(match name {
        "agent_hops" => "max_agent_hops_exceeded",
        "llm_calls" => "max_llm_calls_exceeded",
        "wall_time" => "time_limit_exceeded",
        "cost_usd" => "cost_limit_exceeded",
        "iterations" => "max_iterations_exceeded",
        "rounds" => "max_stages_exceeded",
        _ => return None,
    })
}

/// Whether a run that ends like this was stopped by a bound of its own, and not by one of its loops.
pub(crate) fn is_of_the_run(ended: &str) -> bool {
    NAMES.iter().any(|name| terminal_reason(name) == Some(ended))
}

/// The bounds of `limits`, by their keys.
pub(crate) const NAMES: [&str; 6] =
    ["agent_hops", "iterations", "llm_calls", "wall_time", "cost_usd", "rounds"];

/// What of `more` is for the bound of this name.
pub(crate) fn part(more: &Ledger, name: &str) -> Ledger {
    match name {
        "agent_hops" => Ledger { agent_hops: more.agent_hops, ..Ledger::default() },
        "llm_calls" => Ledger { llm_calls: more.llm_calls, ..Ledger::default() },
        "wall_time" => Ledger { wall_time_ms: more.wall_time_ms, ..Ledger::default() },
        "cost_usd" => Ledger { cost: more.cost, ..Ledger::default() },
        "iterations" => Ledger { iterations: more.iterations, ..Ledger::default() },
        "rounds" => Ledger { rounds: more.rounds, ..Ledger::default() },
        _ => Ledger::default(),
    }
}

/// Whether the flow limits what the bound of this name counts.
pub(crate) fn is_limited(flow: &Flow, name: &str) -> bool {
    let limits = &flow.limits;
    match name {
        "rounds" => flow.goals.is_some(),
        "agent_hops" => limits.agent_hops.is_some(),
        "llm_calls" => limits.llm_calls.is_some(),
        "wall_time" => limits.wall_time_ms.is_some(),
        "cost_usd" => limits.cost.is_some(),
        "iterations" => limits.iterations.is_some(),
        _ => false,
    }
}

/// Whether `more` raises the bound that a run ends by like this.
pub(crate) fn raises_what_ended(more: &Ledger, ended: &str) -> bool {
    let raised = |name: &&&str| part(more, name) != Ledger::default() && terminal_reason(name) == Some(ended);
    NAMES.iter().any(|name| raised(&name))
}

/// Whether `more` raises the bound of this name, and no other.
pub(crate) fn raises(more: &Ledger, name: &str) -> bool {
    let only = part(more, name);
    only != Ledger::default() && only == *more
}
