//! Parses the amounts by which limits are raised.

use crate::http::problem::Problem;
use envoi_contract::json::Value;
use envoi_kernel::ledger::{Cost, Ledger};

/// Parses the member `name`: counts by the keys of `limits`, time in milliseconds, dollars as a decimal
/// string.
pub(crate) fn read(name: &str, value: &Value) -> Result<Ledger, Problem> {
    let bad = |why: &str| Problem::bad_request(format!("`{name}` {why}"));
    let members = value.as_object().ok_or_else(|| bad("is not an object"))?;
    let mut more = Ledger::default();
    for (member, value) in members.iter() {
        if member == "cost_usd" {
            let cost = value.as_str().and_then(Cost::parse);
            more.cost =
                cost.ok_or_else(|| bad("has a `cost_usd` that is no decimal string such as \"2.50\""))?;
            continue;
        }
        let part = match member {
            "agent_hops" => &mut more.agent_hops,
            "iterations" => &mut more.iterations,
            "llm_calls" => &mut more.llm_calls,
            "rounds" => &mut more.rounds,
            "wall_time_ms" => &mut more.wall_time_ms,
            "waiting_ms" => &mut more.waiting_ms,
            _ => {
                return Err(bad(&format!(
                    "has an unknown member `{member}`; expected agent_hops, iterations, llm_calls, rounds, wall_time_ms, waiting_ms, cost_usd"
                )));
            }
        };
        let count = value.as_u53();
        *part = count.ok_or_else(|| bad(&format!("has a `{member}` that is no whole number from 0")))?;
    }
    Ok(more)
}
