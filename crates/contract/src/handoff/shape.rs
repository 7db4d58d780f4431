//! Brings members into the shapes that a related system validates (CONTRACTS 2): objects, and lists of records.
//!
//! Earlier versions wrote lists and texts in these members, and steps may write anything. A value of another shape is
//! wrapped unchanged, so that nothing is lost.

use alloc::vec::Vec;

use super::Extras;
use crate::json::{Object, Value};

impl Extras {
    /// Brings every member into its shape. An absent member stays absent.
    pub(super) fn shaped(self) -> Extras {
        Extras {
            file_changes: match self.file_changes {
                Value::Array(files) => listed(files),
                other => object(other, "details"),
            },
            verification_details: object(self.verification_details, "details"),
            routing_audit: object(self.routing_audit, "reason"),
            assumptions_made: records(self.assumptions_made),
            decisions_made: records(self.decisions_made),
            ..self
        }
    }
}

/// The changed files in the list form of earlier versions.
fn listed(files: Vec<Value>) -> Value {
    if files.is_empty() {
        return Value::Null;
    }
    let total = u64::try_from(files.len()).unwrap_or(u64::MAX);
    Value::Object(Object::from([("files", Value::Array(files)), ("total", Value::from(total))]))
}

fn object(value: Value, wrapped_as: &'static str) -> Value {
    match value {
        Value::Null | Value::Object(_) => value,
        other if super::has_content(&other) => Value::Object(Object::from([(wrapped_as, other)])),
        _ => Value::Null,
    }
}

fn records(value: Value) -> Value {
    let listed = match value {
        Value::Array(elements) => elements,
        other if super::has_content(&other) => Vec::from([other]),
        _ => return Value::Null,
    };
    let record = |element| match element {
        Value::Object(_) => element,
        other => Value::Object(Object::from([("text", other)])),
    };
    Value::Array(listed.into_iter().map(record).collect())
}
