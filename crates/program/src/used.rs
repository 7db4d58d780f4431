//! The usage of an attempt, in the form of a report.

use crate::Order;
use envoi_contract::json::{Object, Value};
use envoi_kernel::ledger::Cost;
use envoi_preset::{Figures, Usage};

/// The reported usage to charge. A forked session is not charged for what its source used.
pub(crate) fn of_attempt(usage: Usage, order: &Order, began_anew: bool) -> Usage {
    if order.fork_of.is_some() && !began_anew { usage.of_fork() } else { usage }
}

/// The figures of an attempt: the reported usage minus the usage before the attempt.
pub(crate) fn metrics(usage: &Usage, before: &Figures) -> Object {
    let used = usage.since(before);
    Object::from([
        ("llm_calls", Value::from(usage.llm_calls)),
        ("tokens_in", Value::from(used.tokens_in)),
        ("tokens_out", Value::from(used.tokens_out)),
        ("cost_usd", cost(used.cost)),
    ])
}

/// The figures when the program was not started.
pub(crate) fn of_nothing() -> Object {
    let used = Figures { tokens_in: Some(0), tokens_out: Some(0), cost: Some(Cost::default()) };
    metrics(&Usage { llm_calls: Some(0), process: used, ..Usage::default() }, &Figures::default())
}

/// The cost in the form of a report.
pub(crate) fn cost(cost: Option<Cost>) -> Value {
    Value::from(cost.map(|cost| cost.to_string()))
}
