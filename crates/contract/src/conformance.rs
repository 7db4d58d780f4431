//! Runs the conformance vectors: the executable examples that every language's library and the binary share.
//!
//! Owns the meaning of a case (what is called, how results are compared). It does not read files; the caller passes
//! the bytes. The schema `conformance-vectors` describes a file.
//!
//! ```
//! use envoi_contract::conformance::run_file;
//!
//! let file = br#"[{"op": "user_envelope.answer_text", "name": "a denial", "input": {"approved": false},
//!                  "expect": "[Denied by operator]"}]"#;
//! let outcomes = run_file(file)?;
//! assert!(outcomes.iter().all(|outcome| outcome.passed));
//! # Ok::<(), envoi_contract::error::Diagnostic>(())
//! ```

mod compare;
mod run;
mod state;

#[cfg(test)]
mod tests;

pub(crate) use run::OPERATIONS;

use crate::code::Code;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::error::Diagnostic;
use crate::json::Value;

/// Code of a vector file that cannot be run.
pub const VECTORS_INVALID: Code = Code::VectorsInvalid;

/// The result of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The case's name.
    pub name: String,
    /// Whether the result is the expected one.
    pub passed: bool,
    /// The expected result.
    pub expected: String,
    /// The actual result.
    pub got: String,
}

/// Runs every case of a file. A case that is not understood is a failure.
///
/// # Errors
/// `VECTORS_INVALID` if the file is not a JSON array.
pub fn run_file(bytes: &[u8]) -> Result<Vec<Outcome>, Diagnostic> {
    let file = Value::parse(bytes).map_err(|error| Diagnostic::of_json(VECTORS_INVALID, error))?;
    match file {
        Value::Array(cases) => {
            Ok(cases.iter().enumerate().map(|(index, case)| run_case(index, case)).collect())
        }
        other => Err(Diagnostic::of_value(VECTORS_INVALID, "", "an array of cases", &other)),
    }
}

fn run_case(index: usize, case: &Value) -> Outcome {
    let name =
        case.get("name").and_then(Value::as_str).map_or_else(|| format!("case {index}"), ToString::to_string);
    let got = run::run(case);
    let passed = got.as_ref().is_some_and(|got| got.meets(case));
    let got =
        got.map_or_else(|| "a case that this runner does not know how to run".to_string(), |got| got.shown());
    Outcome { name, passed, expected: expectation(case), got }
}

fn expectation(case: &Value) -> String {
    if let Some(text) = case.get("expect_text").and_then(Value::as_str) {
        return text.to_string();
    }
    match (case.get("expect"), case.get("expect_error")) {
        (Some(expected), _) => expected.compact(),
        (None, Some(refusal)) => format!("refused: {}", refusal.compact()),
        (None, None) => "nothing: the case has no expectation".to_string(),
    }
}

/// The result of a call, and how to compare it.
pub(crate) enum Got {
    /// A value; objects compare by member.
    Value(Value),
    /// A value; only the expected members are compared.
    Members(Value),
    /// A refusal.
    Refused { code: Code, reason: String },
}

impl Got {
    fn of(result: Result<Value, Diagnostic>) -> Self {
        match result {
            Ok(value) => Got::Value(value),
            Err(refusal) => Got::Refused { code: refusal.code, reason: refusal.to_string() },
        }
    }

    fn meets(&self, case: &Value) -> bool {
        match (self, case.get("expect_error")) {
            (Got::Refused { code, reason }, Some(refusal)) => {
                let part = |name| refusal.get(name).and_then(Value::as_str);
                let expected = refusal.as_str().or_else(|| part("code"));
                expected == Some(code.as_str())
                    && part("reason_prefix").is_none_or(|prefix| reason.starts_with(prefix))
            }
            (Got::Refused { .. }, None) | (_, Some(_)) => false,
            (Got::Value(got), None) => {
                let text = case.get("expect_text").map(|text| text.as_str() == Some(&got.pretty()));
                let value = case.get("expect").map(|expected| compare::same(expected, got));
                text.or(value) == Some(true) && value != Some(false)
            }
            (Got::Members(got), None) => {
                case.get("expect").is_some_and(|expected| compare::has_all(expected, got))
            }
        }
    }

    fn shown(&self) -> String {
        match self {
            Got::Value(value) | Got::Members(value) => value.compact(),
            Got::Refused { code, reason } => format!("refused: {code} ({reason})"),
        }
    }
}
