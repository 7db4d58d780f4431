//! A bound that leaves nothing over, where the flow says that a person may raise it (`limits.on_reached: ask`).

use crate::bounds::Reached;
use envoi_contract::json::{Object, Value};

/// What the person is asked.
pub(crate) fn question(reached: &Reached) -> String {
    format!("A bound of the run is reached: {}. Raise it, or stop?", reached.reason)
}

/// Which bound it is; an answer has to raise this one.
pub(crate) fn evidence(reached: &Reached) -> Value {
    let members = [("bound", Value::from(reached.name)), ("reached", Value::from(reached.reason.as_str()))];
    Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Object>())
}

/// The bound that `evidence` names.
pub(crate) fn bound(evidence: &Value) -> &str {
    evidence.get("bound").and_then(Value::as_str).unwrap_or_default()
}
