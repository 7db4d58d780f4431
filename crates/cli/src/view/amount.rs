//! An amount by which a person raises the bound that a question is about.

use envoi_api::preview::amount;
use envoi_contract::json::Value;
use envoi_kernel::{
    event::InterruptRaised,
    ledger::{Cost, Ledger},
};

/// `5`, `10m` or `2.50`, by what the bound counts; else what was expected.
pub(crate) fn read_amount(raised: &InterruptRaised, more: &str) -> Result<Ledger, String> {
    let bound = raised.evidence.get("bound").and_then(Value::as_str).unwrap_or_default();
    let bad = |expected: &str| format!("`{more}` is not {expected}, by which `{bound}` could be raised");
    let number = more.trim_start_matches('+');
    match bound {
        "cost_usd" => {
            let cost =
                Cost::parse(number.trim_start_matches('$')).ok_or_else(|| bad("dollars such as 2.50"))?;
            Ok(amount(raised, 0, cost))
        }
        "wall_time" => {
            let ms = envoi_flow::parse_duration(number).ok_or_else(|| bad("a duration such as 10m"))?;
            Ok(amount(raised, ms, Cost::default()))
        }
        "" => Err("this question is not about a bound".to_owned()),
        _ => {
            let count = number.parse().map_err(|_| bad("a whole number"))?;
            Ok(amount(raised, count, Cost::default()))
        }
    }
}
