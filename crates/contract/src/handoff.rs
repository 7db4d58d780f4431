//! The hand-off from one step to the next (contract 2), its writer and its summary.
//!
//! Owns the members, their order and their rules. It does not decide which step is next (`routing`) and does not move
//! files. It reads no clock: times are arguments, or derived from the input.
//!
//! ```
//! use envoi_contract::handoff;
//!
//! let draft = handoff::decode_draft(
//!     br#"{"step_id": "s", "flow_key": "f", "run_id": "r", "output": "done", "status": "succeeded", "artifacts": ["a.md"]}"#,
//! )?;
//! let written = handoff::write(draft)?;
//! assert_eq!(written.artifacts.get("a.md").map(String::as_str), Some("f/a.md"));
//! # Ok::<(), envoi_contract::error::Diagnostic>(())
//! ```

mod artifact;
mod compact;
mod draft;
mod shape;
mod summary;
mod write;

#[cfg(test)]
mod tests;

use crate::code::Code;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

pub use draft::{Artifacts, Draft, Identity, decode_draft};
pub use summary::{MAX_SUMMARY_SCALARS, summarize};
pub use write::write;

use crate::decode::{Fields, with_unknown};
use crate::error::Diagnostic;
use crate::interpretation::{Interpretation, interpretations};
use crate::json::{Members, Object, Value, escape_segment};
use crate::routing::Signal;
use crate::time;

/// Code of a refused hand-off or writer input.
pub const HANDOFF_INVALID: Code = Code::HandoffInvalid;

/// How a step's execution ended. The verdict of a critic is not a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Status {
    /// It finished, even if only part of the work is done; the summary says so.
    Succeeded,
    /// It failed; the hand-off has an `error`.
    Failed,
    /// Its condition was false; nothing ran.
    Skipped,
}

impl Status {
    /// Every status.
    pub const ALL: [Status; 3] = [Status::Succeeded, Status::Failed, Status::Skipped];

    /// The word in a hand-off.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Status::Succeeded => "succeeded",
            Status::Failed => "failed",
            Status::Skipped => "skipped",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.word() == word)
    }
}

/// The result of a step, its files, and the next step.
///
/// [`write()`] makes a hand-off that follows every rule. [`Handoff::decode`] reads one from another system and keeps
/// its text. A hand-off with status `succeeded` has no error. Source: seed 0, CONTRACTS 2; schema `handoff`.
///
/// ```
/// use envoi_contract::handoff::{Handoff, Status};
///
/// let read = Handoff::decode(
///     br#"{"step_id": "s", "flow_key": "f", "run_id": "r", "routing_signal": {"decision": "advance"}, "summary": "done",
///          "status": "succeeded", "x_from_a_relative": 1.00}"#,
/// )?;
/// assert_eq!(read.status, Status::Succeeded);
/// assert!(read.to_value().compact().ends_with(r#""x_from_a_relative":1.00}"#));
///
/// let refused = Handoff::decode(b"{\"step_id\": \"\"}").unwrap_err();
/// assert_eq!((refused.pointer.as_str(), refused.line, refused.column), ("/step_id", Some(1), Some(13)));
/// # Ok::<(), envoi_contract::error::Diagnostic>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Handoff {
    /// The id of the step. Not empty.
    pub step_id: String,
    /// The flow of the step. Not empty.
    pub flow_key: String,
    /// The id of the run. Not empty.
    pub run_id: String,
    /// The decision about the next step.
    pub routing_signal: Signal,
    /// The information for the next step; at most 2000 Unicode scalars.
    pub summary: String,
    /// Names of files and their paths relative to the run's directory.
    pub artifacts: Members<String>,
    /// How the execution ended.
    pub status: Status,
    /// The reason of a failure.
    pub error: Option<String>,
    /// The duration in milliseconds, at most 2^53 - 1.
    pub duration_ms: u64,
    /// The time of writing: an RFC 3339 text, kept unchanged. It is the only one of the first ten members that may be absent.
    pub timestamp: Option<String>,
    /// The changes in the workspace, an object: `{"files": [{path, digest, size, change}], "total": n}`, or
    /// `{"manifest", "total", "bytes"}` for more than 1,000 changes. Null or empty means absent, also for the
    /// following members.
    pub file_changes: Value,
    /// Digest of the prompt.
    pub prompt_hash: Option<String>,
    /// Whether a verification passed.
    pub verification_passed: Option<bool>,
    /// The result of a verification, an object. An overruled identity is recorded here too.
    pub verification_details: Value,
    /// The reason for the routing signal, an object.
    pub routing_audit: Value,
    /// The step's assumptions, a list of records.
    pub assumptions_made: Value,
    /// The step's decisions, a list of records.
    pub decisions_made: Value,
    /// Members that this contract does not know, in the order in which they were read.
    pub unknown: Object,
}

impl Handoff {
    /// The member `artifacts` as JSON: each name with its path.
    #[must_use]
    pub fn artifacts_value(&self) -> Value {
        let members =
            self.artifacts.iter().map(|(name, path)| (name.to_string(), Value::from(path.as_str())));
        Value::Object(Object::from_distinct(members.collect()))
    }

    /// The hand-off as JSON, with members in the order of the contract.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let required = [
            ("step_id", Value::from(self.step_id.as_str())),
            ("flow_key", Value::from(self.flow_key.as_str())),
            ("run_id", Value::from(self.run_id.as_str())),
            ("routing_signal", self.routing_signal.orchestrator(None)),
            ("summary", Value::from(self.summary.as_str())),
            ("artifacts", self.artifacts_value()),
            ("status", Value::from(self.status.word())),
            ("error", Value::from(self.error.clone())),
            ("duration_ms", Value::from(self.duration_ms)),
        ];
        let optional = [
            ("timestamp", Value::from(self.timestamp.clone())),
            ("file_changes", self.file_changes.clone()),
            ("prompt_hash", Value::from(self.prompt_hash.clone())),
            ("verification_passed", Value::from(self.verification_passed)),
            ("verification_details", self.verification_details.clone()),
            ("routing_audit", self.routing_audit.clone()),
            ("assumptions_made", self.assumptions_made.clone()),
            ("decisions_made", self.decisions_made.clone()),
        ];
        let written = optional.into_iter().filter(|(_, value)| has_content(value));
        let members = required.into_iter().chain(written).map(|(name, value)| (name.to_string(), value));
        with_unknown(Object::from_distinct(members.collect()), &self.unknown)
    }

    /// Reads a hand-off like [`Handoff::from_value`], and lists the interpreted values: every value that is written
    /// differently than it was read, and a missing `status`.
    ///
    /// # Errors
    /// As [`Handoff::decode`].
    pub fn import(value: &Value) -> Result<(Handoff, Vec<Interpretation>), Diagnostic> {
        let handoff = Handoff::from_value(value)?;
        let mut found = interpretations(value, &handoff.to_value());
        if value.get("status").is_none() {
            found.push(Interpretation {
                pointer: "/status".to_string(),
                read: "nothing".to_string(),
                taken_as: format!("`\"{}\"`", handoff.status.word()),
            });
        }
        Ok((handoff, found))
    }

    /// Reads a hand-off of any writer. `step_id`, `flow_key`, `run_id`, `routing_signal` and `summary` are required.
    /// A missing `status` means failed if there is an `error`, else succeeded; [`Handoff::import`] reports that.
    ///
    /// # Errors
    /// `HANDOFF_INVALID` with the location: wrong types, unknown words, empty ids, paths that leave the run's
    /// directory, a summary over 2000 Unicode scalars, a `succeeded` with an error.
    pub fn decode(bytes: &[u8]) -> Result<Handoff, Diagnostic> {
        let value = Value::parse(bytes).map_err(|error| Diagnostic::of_json(HANDOFF_INVALID, error))?;
        Handoff::from_value(&value).map_err(|refusal| refusal.located(bytes))
    }

    /// Reads a hand-off that is already JSON.
    ///
    /// # Errors
    /// As [`Handoff::decode`].
    pub fn from_value(value: &Value) -> Result<Handoff, Diagnostic> {
        let mut fields = Fields::of(value, HANDOFF_INVALID)?;
        let [step_id, flow_key, run_id] =
            [id(&mut fields, "step_id")?, id(&mut fields, "flow_key")?, id(&mut fields, "run_id")?];
        let routing_signal = signal(&mut fields)?.ok_or_else(|| fields.missing("routing_signal"))?;
        let summary = read_summary(&mut fields)?;
        let artifacts =
            fields.map_of("artifacts", "a path relative to the run's directory", artifact::read_path)?;
        let stated = status(&mut fields)?;
        let error = fields.string("error")?.filter(|error| !error.is_empty());
        // The related system requires five members, and `status` is not among them.
        let status = stated.unwrap_or(if error.is_some() { Status::Failed } else { Status::Succeeded });
        let error = checked_error(status, error)?;
        let duration_ms = fields.u53_or("duration_ms", 0)?;
        let timestamp = read_time(&mut fields, "timestamp")?;
        let extras = Extras::take(&mut fields)?;
        let unknown = fields.rest();
        let core = Core {
            step_id,
            flow_key,
            run_id,
            routing_signal,
            summary,
            artifacts,
            status,
            error,
            duration_ms,
            timestamp,
        };
        Ok(core.with(extras, unknown))
    }
}

/// The ten members that every hand-off has.
struct Core {
    step_id: String,
    flow_key: String,
    run_id: String,
    routing_signal: Signal,
    summary: String,
    artifacts: Members<String>,
    status: Status,
    error: Option<String>,
    duration_ms: u64,
    timestamp: Option<String>,
}

impl Core {
    fn with(self, extras: Extras, unknown: Object) -> Handoff {
        let Core {
            step_id,
            flow_key,
            run_id,
            routing_signal,
            summary,
            artifacts,
            status,
            error,
            duration_ms,
            timestamp,
        } = self;
        let Extras {
            file_changes,
            prompt_hash,
            verification_passed,
            verification_details,
            routing_audit,
            assumptions_made,
            decisions_made,
        } = extras;
        Handoff {
            step_id,
            flow_key,
            run_id,
            routing_signal,
            summary,
            artifacts,
            status,
            error,
            duration_ms,
            timestamp,
            file_changes,
            prompt_hash,
            verification_passed,
            verification_details,
            routing_audit,
            assumptions_made,
            decisions_made,
            unknown,
        }
    }
}

/// The members that a hand-off has only when they have content.
#[derive(Clone, Debug, Default, PartialEq)]
struct Extras {
    file_changes: Value,
    prompt_hash: Option<String>,
    verification_passed: Option<bool>,
    verification_details: Value,
    routing_audit: Value,
    assumptions_made: Value,
    decisions_made: Value,
}

impl Extras {
    fn take(fields: &mut Fields) -> Result<Extras, Diagnostic> {
        let mut free = |name: &str| fields.take(name).filter(has_content).unwrap_or(Value::Null);
        let file_changes = free("file_changes");
        let verification_details = free("verification_details");
        let routing_audit = free("routing_audit");
        let assumptions_made = free("assumptions_made");
        let decisions_made = free("decisions_made");
        let prompt_hash = fields.string("prompt_hash")?.filter(|hash| !hash.is_empty());
        let verification_passed = match fields.take("verification_passed") {
            None | Some(Value::Null) => None,
            Some(Value::Bool(passed)) => Some(passed),
            Some(other) => return Err(fields.wrong("verification_passed", "true, false or null", &other)),
        };
        Ok(Extras {
            file_changes,
            prompt_hash,
            verification_passed,
            verification_details,
            routing_audit,
            assumptions_made,
            decisions_made,
        }
        .shaped())
    }
}

/// True if a value has content.
fn has_content(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(elements) => !elements.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

fn id(fields: &mut Fields, name: &str) -> Result<String, Diagnostic> {
    let id = fields.required_string(name)?;
    check_id(name, &id)?;
    Ok(id)
}

fn check_id(name: &str, id: &str) -> Result<(), Diagnostic> {
    if id.trim_ascii().is_empty() {
        return Err(Diagnostic::new(
            HANDOFF_INVALID,
            &format!("/{name}"),
            "an id that is not empty",
            "an empty one",
        ));
    }
    Ok(())
}

fn signal(fields: &mut Fields) -> Result<Option<Signal>, Diagnostic> {
    match fields.take("routing_signal") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => Signal::decode(&value)
            .map(|signal| Some(signal.for_handoff()))
            .map_err(|refusal| refusal.under(HANDOFF_INVALID, "/routing_signal")),
    }
}

fn status(fields: &mut Fields) -> Result<Option<Status>, Diagnostic> {
    let Some(word) = fields.take("status") else { return Ok(None) };
    let status = word.as_str().and_then(Status::parse);
    status.map(Some).ok_or_else(|| {
        fields
            .wrong("status", "succeeded, failed or skipped", &word)
            .with_hint("this is the status of the execution; a critic's verdict belongs into the text")
    })
}

/// Refuses `succeeded` with an error, because the two contradict each other.
fn checked_error(status: Status, error: Option<String>) -> Result<Option<String>, Diagnostic> {
    match (status, &error) {
        (Status::Succeeded, Some(text)) => {
            let found = crate::quoted::shorten(text, 60);
            Err(Diagnostic::new(HANDOFF_INVALID, "/error", "no error beside the status `succeeded`", &found)
                .with_hint("set the status to `failed`, or leave the error out"))
        }
        _ => Ok(error),
    }
}

fn read_summary(fields: &mut Fields) -> Result<String, Diagnostic> {
    let summary = fields.required_string("summary")?;
    too_long(&summary).map(|()| summary)
}

fn too_long(summary: &str) -> Result<(), Diagnostic> {
    let scalars = summary.chars().count();
    if scalars > MAX_SUMMARY_SCALARS {
        let found = format!("{scalars} of them");
        return Err(Diagnostic::new(HANDOFF_INVALID, "/summary", "at most 2000 Unicode scalars", &found));
    }
    Ok(())
}

/// A time, kept as its text.
fn read_time(fields: &mut Fields, name: &str) -> Result<Option<String>, Diagnostic> {
    let Some(text) = fields.string(name)? else { return Ok(None) };
    match time::passed_on(&text) {
        Some(kept) => Ok(Some(kept)),
        None => Err(fields.wrong(name, "an RFC 3339 time", &Value::from(text))),
    }
}

/// The pointer of an artifact.
fn artifact_pointer(name: &str) -> String {
    format!("/artifacts/{}", escape_segment(name))
}
