//! The values that a run is given, against the inputs that its flow declares.
//!
//! Owns defaults, unknown and missing names, and the reading of `name=value` from a command line. What a declaration may
//! say is checked when the flow is loaded.

use crate::syntax::suggestion::did_you_mean;
use crate::values::json_schema::{Mismatch, Schema, shown};
use core::fmt;
use envoi_contract::json::{self, MAX_PART_DEPTH, Object, Value};
use envoi_kernel::flow::{Flow, InputDecl, InputMisfit};

/// The most bytes that the inputs of a run have together, as compact JSON.
pub const MAX_INPUT_BYTES: usize = 1024 * 1024;

/// What is wrong with one input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The flow declares no input of this name.
    #[error("there is no input `{name}`; {}", help.as_deref().unwrap_or("the flow declares none of that name"))]
    Unknown {
        /// As it was given.
        name: String,
        /// The name that was probably meant, in a sentence.
        help: Option<String>,
    },
    /// No value was given, and there is no default.
    #[error("input `{name}` is missing; give it a value with `--input {name}=…`")]
    Missing {
        /// The declared name.
        name: String,
    },
    /// The value does not fit the schema of the input.
    #[error("input `{name}`{}: {reason}", within(path))]
    Mismatch {
        /// The declared name.
        name: String,
        /// Names and indices that lead to the part that does not fit; empty for the whole value.
        path: Vec<String>,
        /// In words.
        reason: String,
    },
    /// All of them together have too many bytes: they stand in the run's first event and in its envelope.
    #[error(
        "the inputs have {bytes} bytes together, and at most {MAX_INPUT_BYTES} can be given; give the path of a file"
    )]
    TooLarge {
        /// As compact JSON.
        bytes: usize,
    },
    /// The value is nested too deeply to stand in other documents.
    #[error(
        "input `{name}` has {depth} levels of nesting, and at most {MAX_PART_DEPTH} can be given; give the path of a file"
    )]
    TooDeep {
        /// The declared name.
        name: String,
        /// How many.
        depth: usize,
    },
    /// A text that should have been JSON.
    #[error("input `{name}` is not JSON: {reason}")]
    NotJson {
        /// The declared name.
        name: String,
        /// In words.
        reason: String,
    },
}

fn within(path: &[String]) -> String {
    if path.is_empty() { String::new() } else { format!(" at `{}`", path.join(".")) }
}

/// Everything that is wrong with the inputs of a run; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputErrors(pub Vec<InputError>);

impl fmt::Display for InputErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(InputError::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for InputErrors {}

/// Whether these are inputs that the flow can be run with, in one sentence if not.
pub(crate) fn check_all(flow: &Flow, given: &Object) -> Result<(), InputMisfit> {
    // It cannot be given on a command line there: a corrected flow, or a step, needs it.
    let line = |error: &InputError| match error {
        InputError::Missing { name } => format!("input `{name}` has no value, and no `default` in the file"),
        other => other.to_string(),
    };
    resolve(flow, given).map(drop).map_err(|errors| {
        let lines: Vec<String> = errors.0.iter().map(line).collect();
        InputMisfit(format!("flow `{}`: {}", flow.id, lines.join("; ")))
    })
}

/// The inputs of a run, in declared order, with defaults filled in and every value checked against its schema.
///
/// # Errors
/// All unknown names, missing values and mismatches at once.
pub fn resolve(flow: &Flow, given: &Object) -> Result<Object, InputErrors> {
    let mut errors: Vec<InputError> =
        given.keys().filter(|name| declared(flow, name).is_none()).map(|name| unknown(flow, name)).collect();
    let mut resolved = Object::default();
    for decl in &flow.inputs {
        match given.get(&decl.name).or(decl.default.as_ref()) {
            Some(value) => {
                errors.extend(check(decl, value));
                let depth = value.depth();
                if depth > MAX_PART_DEPTH {
                    errors.push(InputError::TooDeep { name: decl.name.clone(), depth });
                }
                resolved.insert(decl.name.clone(), value.clone());
            }
            None => errors.push(InputError::Missing { name: decl.name.clone() }),
        }
    }
    let bytes = resolved.values().fold(0_usize, |sum, value| sum.saturating_add(value.compact().len()));
    if bytes > MAX_INPUT_BYTES {
        errors.push(InputError::TooLarge { bytes });
    }
    if errors.is_empty() { Ok(resolved) } else { Err(InputErrors(errors)) }
}

fn declared<'f>(flow: &'f Flow, name: &str) -> Option<&'f InputDecl> {
    flow.inputs.iter().find(|decl| decl.name == name)
}

fn unknown(flow: &Flow, name: &str) -> InputError {
    let help = did_you_mean(name, flow.inputs.iter().map(|decl| decl.name.as_str()));
    InputError::Unknown { name: name.to_owned(), help }
}

fn check(decl: &InputDecl, value: &Value) -> Vec<InputError> {
    let mismatches = match Schema::new(&decl.schema) {
        Ok(schema) => schema.check(value),
        Err(mismatch) => vec![mismatch],
    };
    let mismatch = |Mismatch { path, reason }| InputError::Mismatch { name: decl.name.clone(), path, reason };
    mismatches.into_iter().map(mismatch).collect()
}

/// The value of `--input name=text`.
///
/// For a schema of `type: string` it is the text itself. For any other it is read as JSON; the text is taken as it is where the
/// schema accepts that string, and the text is no JSON or the schema refuses what it says. A text that is plainly meant as JSON and cannot
/// be read as such is an error, and no string.
///
/// # Errors
/// [`InputError::NotJson`]. Whether the value fits is for [`resolve`].
pub fn parse_argument(decl: &InputDecl, text: &str) -> Result<Value, InputError> {
    let string = Value::from(text);
    if decl.schema.get("type").and_then(Value::as_str) == Some("string") {
        return Ok(string);
    }
    match Value::parse_str(text) {
        Ok(value) if check(decl, &value).is_empty() || !check(decl, &string).is_empty() => Ok(value),
        Ok(_) => Ok(string),
        Err(error) => {
            let may_be_text = check(decl, &string).is_empty();
            if may_be_text && !(has_members(&decl.schema) && is_meant_as_json(text, &error)) {
                return Ok(string);
            }
            let as_text = if may_be_text {
                "; as a text it needs `type: string`, or is given as a JSON string"
            } else {
                ""
            };
            let given = shown(&string).replace("\\\"", "\"");
            let reason = format!("`{}` ({error}){as_text}", given.trim_matches('"'));
            Err(InputError::NotJson { name: decl.name.clone(), reason })
        }
    }
}

/// Whether a value of this schema may be an object or a list.
fn has_members(schema: &Value) -> bool {
    let is_one = |name: &Value| matches!(name.as_str(), Some("object" | "array"));
    schema
        .get("type")
        .is_none_or(|types| is_one(types) || types.as_array().is_some_and(|all| all.iter().any(is_one)))
}

/// Whether a text that cannot be read as JSON was meant as such. It has too many levels; or it begins as an object with a member, or as a
/// list with more than one item, and ends with the same kind of bracket. `[draft] write this`, `[draft]`, `{name}` and a document with
/// more behind it are texts.
fn is_meant_as_json(text: &str, error: &json::Error) -> bool {
    let text = text.trim();
    let is_closed = |open, close| text.starts_with(open) && text.ends_with(close);
    error.is_limit()
        || !error.is_behind_a_document()
            && (is_closed('{', '}') || is_closed('[', ']'))
            && begins_as_json(text)
}

fn begins_as_json(text: &str) -> bool {
    let inner = text.trim_start_matches(|letter: char| letter == '[' || letter.is_whitespace());
    if let Some(members) = inner.strip_prefix('{') {
        return first_of(members).is_some_and(|(name, rest)| name.starts_with('"') && rest.starts_with(':'));
    }
    let first = first_of(inner);
    first.is_some_and(|(item, rest)| Value::parse_str(item).is_ok() && rest.starts_with(','))
}

/// The string, number or word at the beginning, and what stands behind it without white space.
fn first_of(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = match text.strip_prefix('"') {
        Some(inside) => {
            let mut escaped = false;
            let closes = |letter: char| {
                let closes = letter == '"' && !escaped;
                escaped = letter == '\\' && !escaped;
                closes
            };
            inside.find(closes)?.checked_add(2)?
        }
        None => text.find(|letter: char| letter.is_whitespace() || ",]}:".contains(letter))?,
    };
    let (first, rest) = text.split_at_checked(end)?;
    Some((first, rest.trim_start()))
}

#[cfg(test)]
mod tests;
