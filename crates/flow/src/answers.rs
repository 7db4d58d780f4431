//! The form of a question, checked against its schema.
//!
//! The schema stands in the flow that a run is pinned to; the answer is checked before the run hears of it.

use crate::json_schema::{Mismatch, Schema};
use core::fmt;
use envoi_contract::json::Value;

/// Everything that is wrong with a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormErrors {
    /// One line each.
    lines: Vec<String>,
}

impl fmt::Display for FormErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("\n"))
    }
}

impl core::error::Error for FormErrors {}

/// Checks a form.
///
/// # Errors
/// Every place where it does not fit, with the place as a JSON pointer.
pub fn check(schema: &Value, form: &Value) -> Result<(), FormErrors> {
    let wrong = match Schema::new(schema) {
        Ok(schema) => schema.check(form),
        Err(mismatch) => vec![mismatch],
    };
    if wrong.is_empty() { Ok(()) } else { Err(FormErrors { lines: wrong.iter().map(line).collect() }) }
}

fn line(mismatch: &Mismatch) -> String {
    let place = mismatch.path.iter().map(|name| format!("/{name}")).collect::<String>();
    if place.is_empty() { mismatch.reason.clone() } else { format!("{place}: {}", mismatch.reason) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Value {
        Value::parse_str(text).unwrap()
    }

    #[test]
    fn a_form_is_told_every_place_where_it_does_not_fit() {
        let schema = parsed(
            r#"{"type": "object", "required": ["channel"], "additionalProperties": false,
                "properties": {"channel": {"enum": ["blog", "mail"]}, "copies": {"type": "integer", "minimum": 1}}}"#,
        );
        assert_eq!(check(&schema, &parsed(r#"{"channel": "mail", "copies": 2}"#)), Ok(()));
        let wrong = check(&schema, &parsed(r#"{"channel": "fax", "copies": 0}"#)).unwrap_err();
        assert_eq!(wrong.lines.len(), 2, "{wrong}");
        assert!(
            wrong.to_string().contains("/channel: ") && wrong.to_string().contains("/copies: "),
            "{wrong}"
        );
        assert!(check(&schema, &parsed("{}")).unwrap_err().to_string().contains("channel"));
    }
}
