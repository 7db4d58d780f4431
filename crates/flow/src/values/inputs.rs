//! Checks the inputs of a run against the inputs that its flow declares.
//!
//! Owns defaults, unknown and missing names, and the interpretation of `name=value` from a command line. Declarations
//! are checked when the flow is loaded.

use crate::syntax::suggestion::did_you_mean;
use crate::values::json_schema::{Mismatch, Schema, shown};
use core::fmt;
use envoi_contract::json::{self, MAX_PART_DEPTH, Object, Value};
use envoi_kernel::flow::{Flow, InputDecl, InputMisfit};

/// Largest size of all inputs of a run together, as compact JSON.
pub const MAX_INPUT_BYTES: usize = 1024 * 1024;

/// A mistake in one input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The flow declares no input of this name.
    #[error("there is no input `{name}`; {}", help.as_deref().unwrap_or("the flow declares none of that name"))]
    Unknown {
        /// The name as given.
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
    /// The value does not fit the input's schema.
    #[error("input `{name}`{}: {reason}", within(path))]
    Mismatch {
        /// The declared name.
        name: String,
        /// The path of names and indexes to the part that does not fit; empty for the whole value.
        path: Vec<String>,
        /// The reason, in words.
        reason: String,
    },
    /// All inputs together are too large. They are stored in the run's first event and in its envelope.
    #[error(
        "the inputs have {bytes} bytes together, and at most {MAX_INPUT_BYTES} can be given; give the path of a file"
    )]
    TooLarge {
        /// The size as compact JSON.
        bytes: usize,
    },
    /// The value is nested too deeply to be part of other documents.
    #[error(
        "input `{name}` has {depth} levels of nesting, and at most {MAX_PART_DEPTH} can be given; give the path of a file"
    )]
    TooDeep {
        /// The declared name.
        name: String,
        /// The nesting depth.
        depth: usize,
    },
    /// The text should have been JSON.
    #[error("input `{name}` is not JSON: {reason}")]
    NotJson {
        /// The declared name.
        name: String,
        /// The reason, in words.
        reason: String,
    },
}

fn within(path: &[String]) -> String {
    if path.is_empty() { String::new() } else { format!(" at `{}`", path.join(".")) }
}

/// All mistakes in the inputs of a run; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputErrors(pub Vec<InputError>);

impl fmt::Display for InputErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(InputError::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for InputErrors {}

/// Checks that the flow can run with these inputs. The error is one sentence.
pub(crate) fn check_all(flow: &Flow, given: &Object) -> Result<(), InputMisfit> {
    // This check is for a corrected flow or a flow that a step runs, where no command line can give the value.
    let line = |error: &InputError| match error {
        InputError::Missing { name } => format!("input `{name}` has no value, and no `default` in the file"),
        other => other.to_string(),
    };
    resolve(flow, given).map(drop).map_err(|errors| {
        let lines: Vec<String> = errors.0.iter().map(line).collect();
        InputMisfit(format!("flow `{}`: {}", flow.id, lines.join("; ")))
    })
}

/// The inputs of a run in declared order, with defaults filled in, and every value checked against its schema.
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
/// For a schema with `type: string` it is the text itself. For any other schema the text is read as JSON. The text
/// itself is used if the schema accepts it and the text is not JSON, or its JSON value does not fit. A text that is
/// clearly meant as JSON, but is not valid JSON, is an error.
///
/// # Errors
/// [`InputError::NotJson`]. [`resolve`] checks whether the value fits.
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

/// True if a value of this schema may be an object or a list.
fn has_members(schema: &Value) -> bool {
    let is_one = |name: &Value| matches!(name.as_str(), Some("object" | "array"));
    schema
        .get("type")
        .is_none_or(|types| is_one(types) || types.as_array().is_some_and(|all| all.iter().any(is_one)))
}

/// True if a text that is not valid JSON was meant as JSON.
///
/// This is so if it has too many levels. It is also so if it begins as an object with a member, or as a list with
/// several items, and ends with the matching bracket. `[draft] write this`, `[draft]`, `{name}`, and a document
/// followed by more text are texts.
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

/// The string, number or word at the beginning, and the text after it without leading white space.
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
