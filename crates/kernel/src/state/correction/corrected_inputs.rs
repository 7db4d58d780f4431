//! The values of a flow's inputs, for a corrected flow.

use crate::model::flow::Flow;
use envoi_contract::json::{Object, Value};

/// The values of a flow's inputs for the new flow. An input that the new flow lacks is removed if it had its
/// default.
pub(crate) fn corrected_inputs(old: &Flow, new: &Flow, given: &Object) -> Object {
    let declared = |flow: &Flow, name: &str| flow.inputs.iter().find(|input| input.name == name).cloned();
    let stays = |name: &str, value: &Value| {
        let had_its_default = declared(old, name).is_some_and(|input| input.default.as_ref() == Some(value));
        declared(new, name).is_some() || !had_its_default
    };
    let mut inputs: Object = given
        .iter()
        .filter(|(name, value)| stays(name, value))
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect();
    for input in &new.inputs {
        if let (None, Some(default)) = (inputs.get(&input.name), &input.default) {
            inputs.insert(input.name.clone(), default.clone());
        }
    }
    inputs
}
