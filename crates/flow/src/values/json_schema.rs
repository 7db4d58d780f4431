//! JSON Schema for values of the contracts.
//!
//! Owns the conversion to the validator's values, and the text of a mismatch. Nothing is fetched: a schema can only
//! refer to itself. The work of a check is limited ([`work`]).

mod work;

use self::work::Work;
use crate::syntax::yaml::shortened;
use envoi_contract::json::{Number, Value};
use jsonschema::Validator;

/// Largest number of reported mismatches. A person who corrects a value does not read more.
const MOST_MISMATCHES: usize = 1_000;

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Schema {
    validator: Validator,
    work: Work,
}

/// A location in a value (or in a schema), and the mistake there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// The path of names and indexes to the location.
    pub(crate) path: Vec<String>,
    pub(crate) reason: String,
}

impl Mismatch {
    fn of(error: &jsonschema::ValidationError<'_>) -> Self {
        let pointer = error.instance_path().to_string();
        let path =
            pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~")).collect();
        Self { path, reason: reason(&error.to_string()) }
    }
}

/// The validator's message on one line, without the value, which may be long.
fn reason(text: &str) -> String {
    const LONGEST: usize = 200;
    let line = text.replace(['\n', '\r'], " ");
    if line.chars().count() <= LONGEST {
        return line;
    }
    let tail: String = line.chars().rev().take(LONGEST).collect();
    format!("…{}", tail.chars().rev().collect::<String>())
}

impl Schema {
    /// Compiles a schema. It is draft 2020-12 unless it names another one.
    pub(crate) fn new(schema: &Value) -> Result<Self, Mismatch> {
        let schema = convert(schema);
        let work = Work::of(&schema);
        if !work.can_be_bounded() {
            let reason = format!(
                "checking any value by it can take more than {} steps: let fewer of its parts, or references, apply to the same place",
                work::MOST
            );
            return Err(Mismatch { path: Vec::new(), reason });
        }
        let patterns = jsonschema::PatternOptions::fancy_regex().backtrack_limit(work::MOST_STEPS_BACK);
        match jsonschema::options().with_pattern_options(patterns).build(&schema) {
            Ok(validator) => Ok(Self { validator, work }),
            Err(error) => Err(Mismatch::of(&error)),
        }
    }

    /// All mistakes in a schema that did not compile. `first` is the compiler's error.
    pub(crate) fn mistakes(schema: &Value, first: Mismatch) -> Vec<Mismatch> {
        let schema = convert(schema);
        let all: Vec<Mismatch> = match jsonschema::meta::validator_for(&schema) {
            Ok(validator) => validator.iter_errors(&schema).map(|error| Mismatch::of(&error)).collect(),
            Err(_) => Vec::new(),
        };
        // The meta-schema does not detect invalid patterns and references to missing parts.
        if all.is_empty() { vec![first] } else { all }
    }

    /// All mistakes in a value, at most [`MOST_MISMATCHES`]; empty if there are none. A check that might take too
    /// much work is not made. That is then the only mismatch, at the root of the value.
    pub(crate) fn check(&self, value: &Value) -> Vec<Mismatch> {
        let value = convert(value);
        if !self.work.is_bounded(&value) {
            let reason = format!(
                "checking it by its schema can take more than {} steps, so it is not checked: let fewer parts of the schema, or references, \
                 apply to the same place, or hand over less",
                work::MOST
            );
            return vec![Mismatch { path: Vec::new(), reason }];
        }
        self.validator.iter_errors(&value).take(MOST_MISMATCHES).map(|error| Mismatch::of(&error)).collect()
    }
}

fn convert(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(flag) => serde_json::Value::Bool(*flag),
        Value::Number(number) => convert_number(number),
        Value::String(text) => serde_json::Value::String(text.clone()),
        Value::Array(items) => items.iter().map(convert).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (name.to_owned(), convert(member))).collect()
        }
    }
}

/// The nearest number that the validator supports. The value itself is passed on with its own token.
fn convert_number(number: &Number) -> serde_json::Value {
    let token = number.as_str();
    if let Ok(integer) = token.parse::<i64>() {
        return integer.into();
    }
    if let Ok(integer) = token.parse::<u64>() {
        return integer.into();
    }
    let float = token.parse::<f64>().unwrap_or(f64::MAX);
    serde_json::Number::from_f64(float.clamp(f64::MIN, f64::MAX)).map_or(serde_json::Value::Null, Into::into)
}

/// A value, short enough for a message.
pub(crate) fn shown(value: &Value) -> String {
    shortened(&value.compact())
}
