//! The usage that a report states, and its comparison with the attempt's budget.
//!
//! Reports are trusted: usage that is neither reported nor metered counts as 0. A figure that is not a valid
//! number counts as 0 and causes a warning, not a failure. [`crate::state::accounts`] owns the accounts.

use crate::model::{
    event::{AttemptSettled, Outcome},
    ledger::{Budget, Cost, Ledger},
    size::shortened,
};
use envoi_contract::code::Code;
use envoi_contract::{
    json::{Object, Value},
    skill_report::{SkillError, SkillReport, Verdict},
};

/// The error code of an attempt that exceeded its budget.
pub(crate) const OVERRUN: Code = Code::BudgetOverrun;

/// The members of `metrics` that are counts.
const COUNTS: [&str; 3] = ["llm_calls", "tokens_in", "tokens_out"];

/// Maximum size of a value in a warning.
const MAX_SHOWN_BYTES: usize = 100;

/// Reads the `metrics` that the engine understands (contract 4). A member that is not a valid count or cost
/// counts as 0.
pub(crate) fn reported(metrics: &Object) -> Ledger {
    let count = |name: &str| metrics.get(name).and_then(Value::as_u53).unwrap_or(0);
    Ledger {
        llm_calls: count("llm_calls"),
        tokens_in: count("tokens_in"),
        tokens_out: count("tokens_out"),
        cost: Cost::of_metrics(metrics).unwrap_or_default(),
        ..Ledger::default()
    }
}

/// Unknown figures of an attempt, 1 for each: those that its report states as null or as an invalid number,
/// and all of them if it declares lower bounds (`at_least`). For an agent program or a model also those that
/// it does not state. For an attempt in doubt all that its budget does not cover.
pub(crate) fn unknown(event: &AttemptSettled, calls_models: bool, budget: &Budget) -> Ledger {
    let metrics = &event.metrics;
    let is_in_doubt = calls_models && matches!(event.outcome, Outcome::InDoubt { .. });
    let is_started = !matches!(event.outcome, Outcome::CannotStart { .. });
    let is_least = metrics.get("at_least").and_then(Value::as_bool) == Some(true);
    let unless = |is_known: bool| u64::from(is_started && (is_in_doubt || is_least || !is_known));
    let is_count = |name: &str| metrics.get(name).map_or(!calls_models, |value| value.as_u53().is_some());
    let is_cost = metrics.get("cost_usd").map_or(!calls_models, |_| Cost::of_metrics(metrics).is_some());
    let has_all = |charged: bool, unknown: u64| if is_in_doubt && charged { 0 } else { unknown };
    Ledger {
        unknown_calls: has_all(budget.llm_calls.is_some(), unless(is_count("llm_calls"))),
        unknown_tokens: unless(is_count("tokens_in") && is_count("tokens_out")),
        unknown_costs: has_all(budget.cost.is_some(), unless(is_cost)),
        ..Ledger::default()
    }
}

/// A warning for each figure of a report that is not counted. Without it, the step could exceed its budget
/// unnoticed.
///
/// Null means that the figure is not known, which is not a mistake.
pub(crate) fn not_counted(report: &SkillReport) -> Vec<String> {
    let Some(metrics) = &report.metrics else {
        let other = report.unknown.get("metrics").filter(|value| !value.is_null());
        return other.map(|value| warning("metrics", value, "an object")).into_iter().collect();
    };
    let given = |name: &str| metrics.get(name).filter(|value| !value.is_null());
    let counts = COUNTS.into_iter().filter_map(|name| {
        let wrong = given(name).filter(|value| value.as_u53().is_none())?;
        Some(warning(&format!("metrics.{name}"), wrong, "a whole number from 0 to 2^53-1"))
    });
    let cost = given("cost_usd").filter(|_| Cost::of_metrics(metrics).is_none());
    let expected = "US dollars from 0 to 18 billion, as a number or a decimal string";
    let tokens_in = given("tokens_in").and_then(Value::as_u53);
    let is_too_much =
        |cached: &&Value| tokens_in.is_some_and(|all| cached.as_u53().is_none_or(|cached| cached > all));
    let cached = given("tokens_cached").filter(is_too_much).map(|wrong| {
        warning("metrics.tokens_cached", wrong, "no more than `tokens_in`, of which these tokens are")
    });
    counts.chain(cost.map(|wrong| warning("metrics.cost_usd", wrong, expected))).chain(cached).collect()
}

fn warning(member: &str, value: &Value, expected: &str) -> String {
    let shown = shortened(value.compact(), MAX_SHOWN_BYTES);
    format!("the report's `{member}` is not counted: expected {expected}, found `{shown}`")
}

/// The largest usage that a budget allows.
pub(crate) fn whole(budget: &Budget) -> Ledger {
    Ledger {
        llm_calls: budget.llm_calls.unwrap_or(0),
        cost: budget.cost.unwrap_or_default(),
        ..Ledger::default()
    }
}

/// Enforces a budget: an attempt that exceeded it has failed, no matter what its result is. Metered usage
/// counts as reported.
pub(crate) fn hold(mut verdict: Verdict, budget: Option<Budget>, metered: &Ledger) -> Verdict {
    let Some(budget) = budget else { return verdict };
    let metrics = verdict.report.as_ref().and_then(|report| report.metrics.as_ref());
    let used = metrics.map(reported).unwrap_or_default().larger(metered);
    let Some(overrun) = overrun(&used, &budget) else { return verdict };
    let also = verdict.error.as_ref().map(|error| format!("; also {}: {}", error.code, error.message));
    let message = format!("{overrun}{}", also.unwrap_or_default());
    verdict.ok = false;
    verdict.error = Some(SkillError::new(OVERRUN, message));
    verdict
}

/// The usage beyond the budget, for people.
fn overrun(used: &Ledger, budget: &Budget) -> Option<String> {
    let calls = budget.llm_calls.filter(|max| used.llm_calls > *max);
    let calls = calls.map(|max| format!("llm_calls {} of a budget of {max}", used.llm_calls));
    let cost = budget.cost.filter(|max| used.cost > *max);
    let cost = cost.map(|max| format!("cost_usd {} of a budget of {max}", used.cost));
    let parts: Vec<String> = calls.into_iter().chain(cost).collect();
    (!parts.is_empty()).then(|| format!("it used {}", parts.join(", and ")))
}
