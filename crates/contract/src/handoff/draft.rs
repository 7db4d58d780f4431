//! The input of the writer: JSON with the members of a hand-off plus `output`, or the seed's labelled text.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Extras, HANDOFF_INVALID, Status, signal, status};
use crate::decode::Fields;
use crate::error::Diagnostic;
use crate::json::{Members, Object, Value};
use crate::labelled::{self, Labelled, Labels, Places};
use crate::routing::Signal;

/// The files of a step in the writer's input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Artifacts {
    /// Names of files in the flow's folder.
    Names(Vec<String>),
    /// Names and their paths relative to the run's directory.
    Paths(Members<String>),
}

impl Default for Artifacts {
    fn default() -> Artifacts {
        Artifacts::Paths(Members::new())
    }
}

/// The identity of the step, as the engine knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Identity {
    /// The step.
    pub step_id: String,
    /// Its flow.
    pub flow_key: String,
    /// Its run.
    pub run_id: String,
}

/// The writer's input. Only the identity and the status are required. [`decode_draft`] reads it, [`super::write()`]
/// turns it into a hand-off. Source: seed 0, CONTRACTS 2; schema `handoff-input`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// The engine's identity. It overrules the three members that follow, and a difference is recorded.
    pub identity: Option<Identity>,
    /// The id of the step.
    pub step_id: Option<String>,
    /// The flow of the step.
    pub flow_key: Option<String>,
    /// The id of the run.
    pub run_id: Option<String>,
    /// The decision about the next step; `None` means the default signal.
    pub routing_signal: Option<Signal>,
    /// The summary, if the step has one.
    pub summary: Option<String>,
    /// The step's text. If there is no summary, it is made from this text.
    pub output: Option<String>,
    /// The step's files.
    pub artifacts: Artifacts,
    /// How the execution ended; required.
    pub status: Option<Status>,
    /// The reason of a failure.
    pub error: Option<String>,
    /// The duration in milliseconds, at most 2^53 - 1.
    pub duration_ms: u64,
    /// When the hand-off is written, RFC 3339 with offset.
    pub timestamp: Option<String>,
    /// When the step began, RFC 3339 with offset.
    pub started_at: Option<String>,
    /// The changes in the workspace.
    pub file_changes: Value,
    /// Digest of the prompt.
    pub prompt_hash: Option<String>,
    /// Whether a verification passed.
    pub verification_passed: Option<bool>,
    /// The result of a verification.
    pub verification_details: Value,
    /// The reason for the routing signal.
    pub routing_audit: Value,
    /// The step's assumptions.
    pub assumptions_made: Value,
    /// The step's decisions.
    pub decisions_made: Value,
    /// Members that this contract does not know, in the order in which they were read. They are written into the
    /// hand-off.
    pub unknown: Object,
}

/// Reads a writer's input: JSON, or lines such as `Step ID: "…"`, `Output: "…"`, `Duration: 45000 ms`.
///
/// # Errors
/// `HANDOFF_INVALID` with the location: neither JSON nor labelled text, wrong types, unknown words.
/// [`super::write()`] checks that the required members are present.
pub fn decode_draft(bytes: &[u8]) -> Result<Draft, Diagnostic> {
    let (value, places) = if labelled::is_json(bytes) {
        let value = Value::parse(bytes).map_err(|error| Diagnostic::of_json(HANDOFF_INVALID, error))?;
        (value, Places::default())
    } else {
        from_labels(bytes)?
    };
    decode_value(&value).map_err(|refusal| places.locate(refusal, bytes))
}

/// Names from the seed's labels that a writer's JSON may use too, each with our name.
const SEEDS_WORDS: [(&str, &str); 2] = [("routing", "routing_signal"), ("duration", "duration_ms")];

/// Renames the members to our names. A member under both names is refused.
fn in_our_words(object: &Object) -> Result<Object, Diagnostic> {
    let mut members = Vec::with_capacity(object.len());
    for (name, value) in object {
        let ours = SEEDS_WORDS.into_iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| ours);
        if let Some(ours) = ours.filter(|ours| object.contains_key(ours)) {
            let expected = format!("one of `{name}` and `{ours}`");
            return Err(Diagnostic::new(HANDOFF_INVALID, &format!("/{name}"), &expected, "both")
                .with_hint("they mean the same: leave one out"));
        }
        let value = match value {
            Value::String(text) if name == "duration" && is_labelled_duration(text) => duration(text),
            value => value.clone(),
        };
        members.push((ours.unwrap_or(name).into(), value));
    }
    Ok(Object::from_distinct(members))
}

/// True if the text is a whole number of milliseconds as in the label, with or without ` ms`.
fn is_labelled_duration(text: &str) -> bool {
    let digits = text.strip_suffix(" ms").unwrap_or(text);
    let is_number = (1..=15).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit());
    is_number && (digits == "0" || !digits.starts_with('0'))
}

fn decode_value(value: &Value) -> Result<Draft, Diagnostic> {
    let mut fields = match value {
        Value::Object(object) => Fields::of_object(in_our_words(object)?, HANDOFF_INVALID),
        other => Fields::of(other, HANDOFF_INVALID)?,
    };
    let [step_id, flow_key, run_id] =
        [fields.string("step_id")?, fields.string("flow_key")?, fields.string("run_id")?];
    let routing_signal = signal(&mut fields)?;
    let summary = fields.string("summary")?;
    let output = fields.string("output")?;
    let artifacts = artifacts(&mut fields)?;
    let status = status(&mut fields)?;
    let error = fields.string("error")?;
    let duration_ms = fields.u53_or("duration_ms", 0)?;
    let timestamp = fields.string("timestamp")?;
    let started_at = fields.string("started_at")?;
    let extras = Extras::take(&mut fields)?;
    Ok(Draft {
        identity: None,
        step_id,
        flow_key,
        run_id,
        routing_signal,
        summary,
        output,
        artifacts,
        status,
        error,
        duration_ms,
        timestamp,
        started_at,
        file_changes: extras.file_changes,
        prompt_hash: extras.prompt_hash,
        verification_passed: extras.verification_passed,
        verification_details: extras.verification_details,
        routing_audit: extras.routing_audit,
        assumptions_made: extras.assumptions_made,
        decisions_made: extras.decisions_made,
        unknown: fields.rest(),
    })
}

fn artifacts(fields: &mut Fields) -> Result<Artifacts, Diagnostic> {
    let Some(value) = fields.take("artifacts") else { return Ok(Artifacts::default()) };
    let mut only = Fields::of_object(Object::from([("artifacts", value.clone())]), HANDOFF_INVALID);
    match value {
        Value::Null => Ok(Artifacts::default()),
        Value::Array(_) => only.strings("artifacts").map(Artifacts::Names),
        Value::Object(_) => only.map_of("artifacts", "a path", as_string).map(Artifacts::Paths),
        other => Err(fields.wrong("artifacts", "a map of names to paths, or a list of names", &other)),
    }
}

fn as_string(value: Value) -> Result<String, Value> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(other),
    }
}

/// The labels of the seed, and one for each other member that people may give.
const LABELS: Labels = Labels {
    code: HANDOFF_INVALID,
    names: &[
        "Step ID",
        "Flow key",
        "Run ID",
        "Output",
        "Summary",
        "Status",
        "Error",
        "Duration",
        "Artifacts",
        "Routing",
        "Timestamp",
        "Started at",
    ],
    free_text: &["Output", "Summary", "Error"],
    guarded: &[],
};

/// Turns the labelled text into the JSON form.
fn from_labels(bytes: &[u8]) -> Result<(Value, Places), Diagnostic> {
    let mut draft = Object::new();
    let mut places = Places::default();
    for Labelled { label, value: text, start } in LABELS.read(bytes)? {
        let (name, value) = match label {
            "Step ID" => ("step_id", Value::from(text)),
            "Flow key" => ("flow_key", Value::from(text)),
            "Run ID" => ("run_id", Value::from(text)),
            "Output" => ("output", Value::from(text)),
            "Summary" => ("summary", Value::from(text)),
            "Error" => ("error", labelled::word(&text)),
            "Duration" => ("duration_ms", duration(&text)),
            "Artifacts" => ("artifacts", labelled::list(&text)),
            "Routing" => ("routing_signal", routing_from(&text)),
            "Timestamp" => ("timestamp", labelled::word(&text)),
            "Started at" => ("started_at", labelled::word(&text)),
            _ => ("status", Value::from(text)),
        };
        places.add(name, start);
        draft.insert(name, value);
    }
    Ok((Value::Object(draft), places))
}

/// Reads `45000 ms` or `45000`.
fn duration(text: &str) -> Value {
    let number = text.strip_suffix("ms").map_or(text, str::trim_ascii_end);
    labelled::scalar(number)
}

fn routing_from(text: &str) -> Value {
    if matches!(labelled::word(text), Value::Null) || text.eq_ignore_ascii_case("none") {
        return Value::Null;
    }
    let member = |(name, value): (String, String)| {
        let value = match name.as_str() {
            "confidence" | "needs_human" => labelled::scalar(&value),
            _ => labelled::word(&value),
        };
        (name, value)
    };
    Value::Object(labelled::pairs(text).into_iter().map(member).collect())
}
