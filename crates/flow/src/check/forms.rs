//! Forms without a valid answer.
//!
//! Checks one case, which is easily written by mistake: a form requires a field that it does not declare, and allows no other fields.

use crate::{
    parse::draft::Draft,
    syntax::{
        diagnostic::{Diagnostic, Problems},
        suggestion::did_you_mean,
    },
};
use envoi_contract::json::{Object, Value};
use envoi_kernel::flow::StepKind;

/// Reports such fields. A run that is pinned to a flow with one goes on: its question can still be denied.
pub(crate) fn check(draft: &Draft, problems: &mut Problems) {
    if draft.pinned {
        return;
    }
    for step in &draft.steps {
        let Some(StepKind::Ask(plan)) = step.step.as_ref().map(|step| &step.kind) else { continue };
        let Some(schema) = &plan.schema else { continue };
        let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        if !is_closed || schema.get("patternProperties").is_some() {
            continue;
        }
        let fields = schema.get("properties").and_then(Value::as_object);
        let names = || fields.into_iter().flat_map(Object::keys);
        let required = schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if names().all(|field| field != name) {
                let message = format!(
                    "nobody can fill in the form of step `{}`: it requires the field `{name}`, does not have it, and with \
                     `additionalProperties: false` nobody can add it",
                    step.name()
                );
                let span = step.id.as_ref().map_or(step.place, |id| id.span);
                problems.add(Diagnostic::invalid(span, message).maybe_help(did_you_mean(name, names())));
            }
        }
    }
}
