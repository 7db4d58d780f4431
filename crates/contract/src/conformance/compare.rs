//! Compares a result with the expected one.

use crate::json::{Object, Value};

/// True if `got` equals `expected`. Objects are compared by member, integers by text, and other numbers by value. A
/// null `error.message` matches any text.
pub(super) fn same(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::Object(expected), Value::Object(got)) => same_members(expected, got),
        (Value::Array(expected), Value::Array(got)) => {
            expected.len() == got.len() && expected.iter().zip(got).all(|(expected, got)| same(expected, got))
        }
        (Value::Number(expected), Value::Number(got)) => {
            if expected.is_integer_token() && got.is_integer_token() {
                expected == got
            } else {
                expected.same_value(got)
            }
        }
        (expected, got) => expected == got,
    }
}

/// True if `got` has each expected member.
pub(super) fn has_all(expected: &Value, got: &Value) -> bool {
    let Some(expected) = expected.as_object() else { return same(expected, got) };
    expected.iter().all(|(name, value)| got.get(name).is_some_and(|member| same(value, member)))
}

fn same_members(expected: &Object, got: &Object) -> bool {
    expected.len() == got.len()
        && expected.iter().all(|(name, value)| {
            got.get(name)
                .is_some_and(|member| same(value, member) || (name == "error" && same_error(value, member)))
        })
}

/// An expected error whose message is null matches any message.
fn same_error(expected: &Value, got: &Value) -> bool {
    let open = expected.get("message").is_some_and(Value::is_null);
    let text = got.get("message").is_some_and(|message| message.as_str().is_some());
    let code = |error: &Value| error.get("code").cloned();
    open && text && code(expected) == code(got)
}
