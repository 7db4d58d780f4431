//! Parses the amount by which a person raises the bound of a question.

use envoi_api::preview::amount;
use envoi_contract::json::Value;
use envoi_kernel::{
    event::InterruptRaised,
    ledger::{Cost, Ledger},
};

/// Why a text is not a valid amount for the bound of a question.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AmountError {
    #[error("`{more}` is not {expected}; give the amount by which to raise `{bound}`")]
    Misfit { more: String, expected: &'static str, bound: String },
    #[error("this question is not about a bound")]
    NoBound,
}

/// Parses `5`, `10m` or `2.50`, depending on the unit of the bound.
///
/// # Errors
/// The text has another format, or the question is not about a bound.
pub(crate) fn read_amount(raised: &InterruptRaised, more: &str) -> Result<Ledger, AmountError> {
    let bound = raised.evidence.get("bound").and_then(Value::as_str).unwrap_or("");
    let bad = |expected| AmountError::Misfit { more: more.to_owned(), expected, bound: bound.to_owned() };
    let number = more.trim_start_matches('+');
    match bound {
        "cost_usd" => {
            let cost =
                Cost::parse(number.trim_start_matches('$')).ok_or_else(|| bad("dollars such as 2.50"))?;
            Ok(amount(raised, 0, cost))
        }
        "wall_time" | "waiting" => {
            let ms = envoi_flow::parse_duration(number).ok_or_else(|| bad("a duration such as 10m"))?;
            Ok(amount(raised, ms, Cost::default()))
        }
        "" => Err(AmountError::NoBound),
        _ => {
            let count = number.parse().map_err(|_| bad("a whole number"))?;
            Ok(amount(raised, count, Cost::default()))
        }
    }
}
