//! What a report tells of its attempt's use, and whether that is within the attempt's budget.
//!
//! A report is believed as it is: what it does not tell of was not used, unless it was metered. What is counted where is
//! [`crate::accounts`]'s business.

use crate::{
    flow::Budget,
    ledger::{Cost, Ledger},
};
use envoi_contract::{
    json::{Object, Value},
    skill_report::{SkillError, Verdict},
};

/// The code of an attempt that used more than its budget.
pub(crate) const OVERRUN: &str = "BUDGET_OVERRUN";

/// Contract 4: the `metrics` that the engine understands; a member that is no count or no cost counts nothing.
pub(crate) fn reported(metrics: &Object) -> Ledger {
    let count = |name: &str| metrics.get(name).and_then(Value::as_u53).unwrap_or(0);
    Ledger {
        llm_calls: count("llm_calls"),
        tokens_in: count("tokens_in"),
        tokens_out: count("tokens_out"),
        cost: cost(metrics).unwrap_or_default(),
        ..Ledger::default()
    }
}

/// A decimal string or a number.
fn cost(metrics: &Object) -> Option<Cost> {
    match metrics.get("cost_usd")? {
        Value::String(text) => Cost::parse(text),
        Value::Number(number) => Cost::of_number(number.as_str()),
        _ => None,
    }
}

/// All that a budget allows.
pub(crate) fn whole(budget: &Budget) -> Ledger {
    Ledger {
        llm_calls: budget.llm_calls.unwrap_or(0),
        cost: budget.cost.unwrap_or_default(),
        ..Ledger::default()
    }
}

/// Holds an attempt to its budget: one that used more has failed, whatever else it came to. What was metered of it counts as
/// if its report told of it.
pub(crate) fn hold(mut verdict: Verdict, budget: Option<Budget>, metered: &Ledger) -> Verdict {
    let Some(budget) = budget else { return verdict };
    let metrics = verdict.report.as_ref().and_then(|report| report.metrics.as_ref());
    let used = metrics.map(reported).unwrap_or_default().larger(metered);
    let Some(overrun) = overrun(&used, &budget) else { return verdict };
    let also = verdict.error.as_ref().map(|error| format!("; also {}: {}", error.code, error.message));
    let message = format!("{overrun}{}", also.unwrap_or_default());
    verdict.ok = false;
    verdict.error = Some(SkillError { code: OVERRUN.to_owned(), message });
    verdict
}

/// What was used beyond the budget, for people.
fn overrun(used: &Ledger, budget: &Budget) -> Option<String> {
    let calls = budget.llm_calls.filter(|max| used.llm_calls > *max);
    let calls = calls.map(|max| format!("llm_calls {} of a budget of {max}", used.llm_calls));
    let cost = budget.cost.filter(|max| used.cost > *max);
    let cost = cost.map(|max| format!("cost_usd {} of a budget of {max}", used.cost));
    let told: Vec<String> = calls.into_iter().chain(cost).collect();
    (!told.is_empty()).then(|| format!("it used {}", told.join(", and ")))
}
