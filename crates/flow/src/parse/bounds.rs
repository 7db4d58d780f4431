//! Bounds: `limits` of a run, `budget` of a step.
//!
//! Owns their keys and valid values. The kernel enforces the bounds.

use crate::syntax::{
    diagnostic::{Diagnostic, Problems},
    keys,
    read::{self, Fields, refuse},
    yaml::Node,
};
use envoi_kernel::{
    flow::{Budget, Limits, OnReached},
    ledger::Cost,
};

/// The largest integer of the contracts.
const MAX_INTEGER: u64 = (1 << 53) - 1;

pub(crate) fn limits(node: &Node, problems: &mut Problems) -> Limits {
    let Some(fields) = Fields::of(node, &keys::LIMITS, problems) else { return Limits::default() };
    let mut count = |key: &str| count(&fields, key, problems);
    let agent_hops = count("agent_hops");
    let iterations = count("iterations");
    let llm_calls = count("llm_calls");
    let wall_time_ms = fields.get("wall_time").and_then(|node| read::duration(node, "`wall_time`", problems));
    let waiting_ms = fields.get("waiting").and_then(|node| read::duration(node, "`waiting`", problems));
    let cost = cost(&fields, problems);
    let words = [("fail", OnReached::Fail), ("ask", OnReached::Ask)];
    let on_reached = fields.get("on_reached");
    let on_reached = on_reached.and_then(|node| read::choice(node, "`on_reached`", &words, problems));
    let on_reached = on_reached.unwrap_or_default();
    let unknown = fields.get("unknown").and_then(|node| unknown(node, problems)).unwrap_or_default();
    Limits { agent_hops, iterations, llm_calls, wall_time_ms, waiting_ms, cost, unknown, on_reached }
}

/// The budget of one attempt, with at least one of its two keys.
pub(crate) fn budget(node: &Node, problems: &mut Problems) -> Option<Budget> {
    let fields = Fields::of(node, &keys::BUDGET, problems)?;
    if fields.keys().next().is_none() {
        let message = "`budget` bounds nothing";
        let help = "say how much an attempt may use: `budget: { llm_calls: 5 }`";
        return refuse(problems, Diagnostic::invalid(node.span, message).help(help));
    }
    Some(Budget { llm_calls: count(&fields, "llm_calls", problems), cost: cost(&fields, problems) })
}

/// The amounts that are charged for an attempt with unknown calls or cost, with at least one of the two keys.
fn unknown(node: &Node, problems: &mut Problems) -> Option<Budget> {
    let fields = Fields::of(node, &keys::UNKNOWN, problems)?;
    if fields.keys().next().is_none() {
        let message = "`unknown` counts nothing";
        let help =
            "say as how much an attempt counts whose cost is not known: `unknown: { cost_usd: \"0.50\" }`";
        return refuse(problems, Diagnostic::invalid(node.span, message).help(help));
    }
    Some(Budget { llm_calls: count(&fields, "llm_calls", problems), cost: cost(&fields, problems) })
}

fn count(fields: &Fields<'_>, key: &str, problems: &mut Problems) -> Option<u64> {
    read::integer(fields.get(key)?, &format!("`{key}`"), 0..=MAX_INTEGER, problems)
}

fn cost(fields: &Fields<'_>, problems: &mut Problems) -> Option<Cost> {
    let node = fields.get("cost_usd")?;
    match read::as_token(node).and_then(Cost::parse) {
        Some(cost) => Some(cost),
        None => refuse(problems, read::mismatch(node, "`cost_usd`", "dollars such as \"5.00\"")),
    }
}
