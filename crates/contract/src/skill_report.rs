//! Decides whether a skill succeeded, whatever its exit code is (contract 4).
//!
//! Owns the report of a skill, and the verdict over report, exit and signal. It does not look for the report: the
//! caller ran the skill, and knows which file counts and whether it is fresh. The file that a command names with
//! `--output` is determined here, so that the check of a flow and the run agree on it.
//!
//! ```
//! use envoi_contract::skill_report::{Observed, judge};
//!
//! let report = br#"{"ok": false, "generatedAt": "2026-02-20T05:30:00Z", "skillName": "triage"}"#;
//! let verdict = judge(&Observed { exit: Some(0), report_text: Some(report), ..Observed::default() });
//! assert_eq!(verdict.error.map(|error| error.code).as_deref(), Some("SKILL_REPORTED_FAILURE"));
//! ```

use crate::code::Code;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::decode::{Fields, with_unknown};
use crate::error::Diagnostic;
use crate::json::{Object, Value};

mod output_option;

pub use output_option::{OutputOption, of_list, of_script};

/// Code of a file that is not a valid report.
pub const SKILL_REPORT_INVALID: Code = Code::SkillReportInvalid;

/// Longest part of stderr's end in an error, in Unicode scalars.
const STDERR_SCALARS: usize = 2000;

/// The report of a skill about its own run. Source: seed 3, CONTRACTS 4; schema `skill-report`.
///
/// `data` and `error` distinguish absent (`None`) from `null` (`Some(Value::Null)`), so that a report is written as
/// it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillReport {
    /// Whether the skill succeeded.
    pub ok: bool,
    /// When the report was made; ISO 8601 as written, not checked.
    pub generated_at: String,
    /// The skill's name.
    pub skill_name: String,
    /// The domain's payload.
    pub data: Option<Value>,
    /// Diagnostics. A `metrics` that is not an object is kept in `unknown`.
    pub metrics: Option<Object>,
    /// `{code, message}`, or any other shape that the skill chose.
    pub error: Option<Value>,
    /// Members that this contract does not know, in the order in which they were read.
    pub unknown: Object,
}

impl SkillReport {
    /// Reads a report.
    ///
    /// # Errors
    /// `SKILL_REPORT_INVALID` unless it is an object in which `ok` is a boolean and `generatedAt` and `skillName` are strings.
    pub fn decode(bytes: &[u8]) -> Result<SkillReport, Diagnostic> {
        let value = Value::parse(bytes).map_err(|error| Diagnostic::of_json(SKILL_REPORT_INVALID, error))?;
        SkillReport::from_value(&value).map_err(|refusal| refusal.located(bytes))
    }

    /// Reads a report that is already JSON.
    ///
    /// # Errors
    /// As [`SkillReport::decode`].
    pub fn from_value(value: &Value) -> Result<SkillReport, Diagnostic> {
        let mut fields = Fields::of(value, SKILL_REPORT_INVALID)?;
        let ok = match fields.take("ok") {
            Some(Value::Bool(ok)) => ok,
            Some(other) => return Err(fields.wrong("ok", "true or false", &other)),
            None => return Err(fields.missing("ok")),
        };
        let generated_at = fields.required_string("generatedAt")?;
        let skill_name = fields.required_string("skillName")?;
        let data = fields.take("data");
        let metrics = value.get("metrics").and_then(Value::as_object).cloned();
        if metrics.is_some() {
            fields.take("metrics");
        }
        let error = fields.take("error");
        let unknown = fields.rest();
        Ok(SkillReport { ok, generated_at, skill_name, data, metrics, error, unknown })
    }

    /// The report as JSON, with members in the order of the contract.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut members = Object::from([
            ("ok", Value::from(self.ok)),
            ("generatedAt", Value::from(self.generated_at.as_str())),
            ("skillName", Value::from(self.skill_name.as_str())),
        ]);
        let metrics = self.metrics.clone().map(Value::Object);
        for (name, value) in
            [("data", self.data.clone()), ("metrics", metrics), ("error", self.error.clone())]
        {
            if let Some(value) = value {
                members.insert(name, value);
            }
        }
        with_unknown(members, &self.unknown)
    }

    /// Calls of language models, if the report counts them.
    #[must_use]
    pub fn llm_calls(&self) -> Option<u64> {
        self.metric("llm_calls").and_then(Value::as_u53)
    }

    /// Input tokens of language models, if the report counts them.
    #[must_use]
    pub fn tokens_in(&self) -> Option<u64> {
        self.metric("tokens_in").and_then(Value::as_u53)
    }

    /// Output tokens of language models, if the report counts them.
    #[must_use]
    pub fn tokens_out(&self) -> Option<u64> {
        self.metric("tokens_out").and_then(Value::as_u53)
    }

    /// Cost in US dollars as decimal text, from a string or a number.
    #[must_use]
    pub fn cost_usd(&self) -> Option<&str> {
        match self.metric("cost_usd")? {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.as_str()),
            _ => None,
        }
    }

    fn metric(&self, name: &str) -> Option<&Value> {
        self.metrics.as_ref()?.get(name)
    }

    /// The failure that the report states, in any shape; null means none.
    #[must_use]
    pub fn stated_error(&self) -> Option<SkillError> {
        self.error.as_ref().filter(|error| !error.is_null()).map(SkillError::of)
    }
}

/// Values for members that a report lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill<'a> {
    /// The name of the skill, or of the step.
    pub skill_name: &'a str,
    /// When the execution ended, RFC 3339.
    pub generated_at: &'a str,
}

/// The observed facts of one execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observed<'a> {
    /// The exit code, unless a signal ended the execution.
    pub exit: Option<i32>,
    /// The signal that ended the execution.
    pub signal: Option<i32>,
    /// Whether it was ended by the timeout.
    pub timed_out: bool,
    /// Whether it was cancelled.
    pub cancelled: bool,
    /// Stderr, or its end.
    pub stderr: &'a str,
    /// The content of its report file, if there is one.
    pub report_text: Option<&'a [u8]>,
    /// A description of what is at the report's path if it is not a readable file, such as `a folder`. `report_text`
    /// is then ignored.
    pub report_unreadable: Option<&'a str>,
    /// Whether the report is at the path that the engine assigned (`$ENVOI_REPORT`). Nothing at that path is ignored.
    pub assigned: bool,
    /// Whether the step is declared `skill:` and must write a report.
    pub declared: bool,
    /// The name after `skill:`, which the report's `skillName` must equal. `None` means any name.
    pub skill: Option<&'a str>,
    /// The values that complete an assigned report.
    pub fill: Fill<'a>,
}

/// The reason why an execution counts as failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SkillError {
    /// The code for programs: from the report, or one of ours such as `TOOL_EXIT_NON_ZERO`.
    pub code: String,
    /// The message for people.
    pub message: String,
}

impl SkillError {
    /// An error with a code of the engine. An error with a skill's own code is built from its members.
    pub fn new(code: Code, message: impl Into<String>) -> SkillError {
        SkillError { code: code.as_str().to_owned(), message: message.into() }
    }

    /// True if the error has this code of the engine.
    #[must_use]
    pub fn is(&self, code: Code) -> bool {
        self.code.parse() == Ok(code)
    }

    /// Reads the error of a report: `{code, message}`. Any other shape keeps its text under the code `SKILL_ERROR`.
    fn of(error: &Value) -> SkillError {
        let text = |name| error.get(name).and_then(Value::as_str);
        let code = text("code").filter(|code| !code.is_empty()).unwrap_or(Code::SkillError.as_str());
        let message =
            text("message").or_else(|| error.as_str()).map_or_else(|| error.compact(), ToString::to_string);
        SkillError { code: code.to_owned(), message }
    }

    /// The error as `{code, message}`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let SkillError { code, message } = self;
        Value::Object(Object::from([
            ("code", Value::from(code.as_str())),
            ("message", Value::from(message.as_str())),
        ]))
    }
}

/// The result of an execution: whether it succeeded, the reason if not, and its report. Source: the table of
/// CONTRACTS 4.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Verdict {
    /// Whether it succeeded.
    pub ok: bool,
    /// The reason of a failure; `Some` exactly if `ok` is false.
    pub error: Option<SkillError>,
    /// The report, if the execution left a valid one; also after a failure.
    pub report: Option<SkillReport>,
    /// Members that the report lacked and that were filled in.
    #[cfg_attr(feature = "serde", serde(default))]
    pub filled: Vec<String>,
}

/// Judges one execution: timeout and cancellation first, then exit and signal, then the report.
#[must_use]
pub fn judge(observed: &Observed<'_>) -> Verdict {
    let found = Found::of(observed);
    let error = execution_failure(observed, &found).or_else(|| match &found {
        Found::Nothing if observed.declared => {
            Some(SkillError::new(Code::SkillReportMissing, "the skill left no report"))
        }
        Found::Refused(why) => Some(SkillError::new(SKILL_REPORT_INVALID, why.as_str())),
        Found::Report(report, _) => reported_failure(report),
        Found::Nothing => None,
    });
    let (report, filled) = match found {
        Found::Report(report, filled) => (Some(*report), filled),
        Found::Nothing | Found::Refused(_) => (None, Vec::new()),
    };
    let filled = filled.into_iter().map(ToOwned::to_owned).collect();
    Verdict { ok: error.is_none(), error, report, filled }
}

/// The content of the report's path.
enum Found {
    /// No report. A plain command may write any file to its `--output`.
    Nothing,
    /// A report, and the names of the members that were filled in.
    Report(alloc::boxed::Box<SkillReport>, Vec<&'static str>),
    /// An invalid report, and the reason.
    Refused(String),
}

impl Found {
    fn of(observed: &Observed<'_>) -> Found {
        let strict = observed.assigned || observed.declared;
        match Found::read(observed) {
            Found::Refused(_) if !strict => Found::Nothing,
            found => found,
        }
    }

    fn read(observed: &Observed<'_>) -> Found {
        if let Some(what) = observed.report_unreadable {
            return Found::Refused(format!("expected a report that can be read, found {what}"));
        }
        let Some(bytes) = observed.report_text else { return Found::Nothing };
        let read = if observed.assigned {
            assigned(bytes, observed)
        } else {
            SkillReport::decode(bytes).map(|report| (report, Vec::new()))
        };
        match read {
            Err(refusal) => Found::Refused(refusal.without_code()),
            Ok((report, filled)) => match observed.skill {
                Some(skill) if report.skill_name != skill => {
                    let found = crate::quoted::shorten(&report.skill_name, 60);
                    Found::Refused(format!(
                        "expected the `skillName` `{skill}` that the step declares, found {found}"
                    ))
                }
                _ => Found::Report(report.into(), filled),
            },
        }
    }
}

/// Reads the file at the assigned path. Any object with a boolean `ok` is a report. Returns the report and the names
/// of the members that were filled in.
///
/// The verdict does not depend on the name and the time, so they are filled in if they are missing or not strings. If
/// the step declares its skill, only a missing name is filled in, because another value means the report of another
/// skill.
fn assigned(bytes: &[u8], observed: &Observed<'_>) -> Result<(SkillReport, Vec<&'static str>), Diagnostic> {
    let mut value = Value::parse(bytes).map_err(|error| Diagnostic::of_json(SKILL_REPORT_INVALID, error))?;
    let mut filled = Vec::new();
    if let Value::Object(members) = &mut value {
        let Fill { skill_name, generated_at } = observed.fill;
        let skill_name = observed.skill.unwrap_or(skill_name);
        let strict = observed.skill.is_some();
        for (name, text, strict) in [("generatedAt", generated_at, false), ("skillName", skill_name, strict)]
        {
            let missing = match members.get(name) {
                None => true,
                Some(found) => found.as_str().is_none() && !strict,
            };
            if missing {
                members.insert(name, Value::from(text));
                filled.push(name);
            }
        }
        if members.get("data").is_none() {
            members.insert("data", Value::Null);
            filled.push("data");
        }
    }
    let report = SkillReport::from_value(&value).map_err(|refusal| refusal.located(bytes))?;
    Ok((report, filled))
}

/// The failure of the execution itself, independent of its report. The message also mentions an invalid report,
/// because that may be the cause and no other message shows it.
fn execution_failure(observed: &Observed<'_>, found: &Found) -> Option<SkillError> {
    let failure = if observed.timed_out {
        SkillError::new(Code::ToolTimeout, "the timeout ended it")
    } else if observed.cancelled {
        SkillError::new(Code::ToolCancelled, "it was cancelled")
    } else if observed.exit == Some(0) && observed.signal.is_none() {
        return None;
    } else {
        let stated = match found {
            Found::Report(report, _) => report.stated_error(),
            Found::Nothing | Found::Refused(_) => None,
        };
        stated.unwrap_or_else(|| SkillError::new(Code::ToolExitNonZero, exit_message(observed)))
    };
    Some(match found {
        Found::Refused(why) => {
            let message = format!("{} (its report is invalid too: {why})", failure.message);
            SkillError { message, ..failure }
        }
        Found::Nothing | Found::Report(..) => failure,
    })
}

fn reported_failure(report: &SkillReport) -> Option<SkillError> {
    let unexplained =
        || (!report.ok).then(|| SkillError::new(Code::SkillReportedFailure, "Skill reported ok:false"));
    report.stated_error().or_else(unexplained)
}

/// The end of stderr; the exit code or signal if stderr is blank.
fn exit_message(observed: &Observed<'_>) -> String {
    let stderr = observed.stderr.trim_ascii();
    if !stderr.is_empty() {
        let start = stderr.char_indices().rev().nth(STDERR_SCALARS - 1).map_or(0, |(at, _)| at);
        return stderr.get(start..).unwrap_or(stderr).to_owned();
    }
    match (observed.exit, observed.signal) {
        (_, Some(signal)) => format!("signal {signal}"),
        (Some(exit), None) => format!("exit code {exit}"),
        (None, None) => "no exit code".to_owned(),
    }
}

#[cfg(test)]
mod tests;
