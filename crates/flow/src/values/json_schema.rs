//! JSON Schema over the contracts' values.
//!
//! Owns the conversion to the validator's own values and the text of a mismatch. Nothing is fetched: a
//! schema can only refer to itself. The work of a check has a bound ([`work`]).

mod work;

use self::work::Work;
use crate::syntax::yaml::shortened;
use envoi_contract::json::{Number, Value};
use jsonschema::Validator;

/// A person who corrects a value reads no more of them at once.
const MOST_MISMATCHES: usize = 1_000;

/// A schema that is ready to check values.
#[derive(Debug)]
pub(crate) struct Schema {
    validator: Validator,
    work: Work,
}

/// A place in a value (or in a schema) and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// Names and indices that lead to the place.
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

/// The validator's words, on one line and without the value, which may be long.
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
    /// Compiles a schema (draft 2020-12 unless it names another one).
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

    /// Everything that is wrong with a schema that did not compile; `first` is the compiler's error.
    pub(crate) fn mistakes(schema: &Value, first: Mismatch) -> Vec<Mismatch> {
        let schema = convert(schema);
        let all: Vec<Mismatch> = match jsonschema::meta::validator_for(&schema) {
            Ok(validator) => validator.iter_errors(&schema).map(|error| Mismatch::of(&error)).collect(),
            Err(_) => Vec::new(),
        };
        // A pattern that is none, or a reference to nowhere, is in keeping with the schema of schemas.
        if all.is_empty() { vec![first] } else { all }
    }

    /// Everything that is wrong with a value, at most [`MOST_MISMATCHES`]; empty if nothing is. Where the check may take too much work it is
    /// not made, and that is the only mismatch, at the top of the value.
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

/// The nearest number that the validator can hold; the value itself is passed on by its token.
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
