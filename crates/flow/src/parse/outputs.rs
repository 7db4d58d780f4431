//! `outputs` of a step that runs a command: the schema of its data.
//!
//! Owns the schema in the file, and the check of the data against it. The schema is part of the flow to which a run
//! is pinned.

use crate::values::json_schema::{Mismatch, Schema};
use crate::{
    parse::schema,
    syntax::{
        diagnostic::{Diagnostic, Problems},
        list,
        read::{Fields, refuse},
    },
};
use core::fmt;
use envoi_contract::json::Value;

/// The largest number of listed locations. If a report has more mistakes, they have the same cause.
const MOST_SHOWN: usize = 8;

/// All mistakes in the data of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataErrors {
    wrong: Vec<Mismatch>,
}

impl fmt::Display for DataErrors {
    /// The mistakes on one line, each with its location as a JSON pointer into `data`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the data does not fit `outputs`: ")?;
        let lines: Vec<String> = self.wrong.iter().take(MOST_SHOWN).map(line).collect();
        f.write_str(&lines.join("; "))?;
        match self.wrong.len().saturating_sub(MOST_SHOWN) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl core::error::Error for DataErrors {}

fn line(mismatch: &Mismatch) -> String {
    let part = |name: &String| format!("/{}", name.replace('~', "~0").replace('/', "~1"));
    let pointer: String = mismatch.path.iter().map(part).collect();
    match pointer.is_empty() {
        true => format!("at the top: {}", mismatch.reason),
        false => format!("at `{pointer}`: {}", mismatch.reason),
    }
}

/// Checks the data of a step. Missing data is `null`.
///
/// # Errors
/// Every location that does not fit, as a JSON pointer. An invalid schema, which a checked flow does not have,
/// accepts nothing.
pub fn check(schema: &Value, data: &Value) -> Result<(), DataErrors> {
    let wrong = match Schema::new(schema) {
        Ok(schema) => schema.check(data),
        Err(mismatch) => vec![mismatch],
    };
    if wrong.is_empty() { Ok(()) } else { Err(DataErrors { wrong }) }
}

/// Reads the schema of a step that runs a command.
pub(crate) fn read(fields: &Fields<'_>, problems: &mut Problems) -> Option<Value> {
    let node = fields.get("outputs")?;
    if let Some(expression) = list::expression_in(node) {
        let message = "`outputs` beside `run` is a JSON Schema, in which nothing is filled in";
        let help = "expressions stand in the `returns` of a step with `flow`";
        return refuse(problems, Diagnostic::invalid(expression.span, message).help(help));
    }
    schema::of_data(node, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Value {
        Value::parse_str(text).unwrap()
    }

    #[test]
    fn every_place_that_does_not_fit_is_named_by_its_pointer() {
        let schema = parsed(
            r#"{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}, "a/b~c": {"items": {"type": "string"}}}}"#,
        );
        assert_eq!(check(&schema, &parsed(r#"{"n": 1, "a/b~c": ["x"]}"#)), Ok(()));
        let told = |data: &str| check(&schema, &parsed(data)).unwrap_err().to_string();
        let two = told(r#"{"n": "one", "a/b~c": ["x", 2]}"#);
        assert!(two.contains("at `/n`: ") && two.contains("at `/a~1b~0c/1`: "), "{two}");
        assert!(!two.contains('\n'), "{two}");
        assert!(told("null").contains("at the top: "), "{}", told("null"));
        let many = format!(r#"{{"n": 1, "a/b~c": [{}]}}"#, ["1"; 11].join(","));
        assert!(told(&many).ends_with("; and 3 more"), "{}", told(&many));
    }
}
