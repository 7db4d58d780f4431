//! The question about a used-up bound, if the flow allows a person to raise it (`limits.on_reached: ask`).

use crate::{
    model::{
        event::{About, InterruptRaised},
        ids::StepId,
    },
    state::{bounds::Reached, limits::Bound},
};
use envoi_contract::json::{Object, Value};

/// The text of the question.
pub(crate) fn question(reached: &Reached) -> String {
    format!("A bound of the run is reached: {}. Raise it, or stop?", reached.reason)
}

/// Names the bound, which an answer has to raise. `back_to` is the target of the pending loop-back.
pub(crate) fn evidence(reached: &Reached, back_to: Option<&StepId>) -> Value {
    let members = [
        ("bound", Some(reached.bound.name())),
        ("reached", Some(reached.reason.as_str())),
        ("back_to", back_to.map(StepId::as_str)),
    ];
    let given = members.into_iter().filter_map(|(name, text)| Some((name.to_owned(), Value::from(text?))));
    Value::Object(given.collect::<Object>())
}

/// The target of the loop-back once the bound is raised; `None` in questions about a start.
pub(crate) fn back_to(evidence: &Value) -> Option<StepId> {
    evidence.get("back_to").and_then(Value::as_str).and_then(|step| StepId::new(step).ok())
}

/// The bound that a question is about; `None` for other questions.
pub(crate) fn of(raised: &InterruptRaised) -> Option<Bound> {
    bound(&raised.evidence).filter(|_| matches!(raised.about, About::Limit | About::Throttled))
}

/// The bound that `evidence` names.
pub(crate) fn bound(evidence: &Value) -> Option<Bound> {
    evidence.get("bound").and_then(Value::as_str).and_then(Bound::parse)
}
