//! An entry of the history: an attempt and its result.

use alloc::string::String;

use super::ENVELOPE_INVALID;
use crate::decode::{Fields, with_unknown};
use crate::error::Diagnostic;
use crate::json::{Object, Value};
use crate::vocabulary::vocabulary;

vocabulary! {
    /// The result of an attempt. The status `succeeded` of a hand-off is `success` here, and `failed` is `error`.
    RecordStatus {
        /// Not finished.
        Running = "running",
        /// Succeeded.
        Success = "success",
        /// Failed.
        Error = "error",
        /// Not executed.
        Skipped = "skipped",
    }
}

/// An attempt of a step, with its 8 members; counts are at most 2^53 - 1. Source: seed 2, CONTRACTS 3.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessingRecord {
    /// The step.
    pub agent: String,
    /// The position of the step in the order.
    pub stage_order: u64,
    /// When it began.
    pub started_at: Option<String>,
    /// When it ended.
    pub completed_at: Option<String>,
    /// The duration in milliseconds, at most 2^53 - 1.
    pub duration_ms: u64,
    /// The result.
    pub status: RecordStatus,
    /// The reason of a failure.
    pub error: Option<String>,
    /// Model calls it made.
    pub llm_calls: u64,
    /// Members that this contract does not know, in the order in which they were read.
    pub unknown: Object,
}

impl Default for ProcessingRecord {
    fn default() -> ProcessingRecord {
        ProcessingRecord {
            agent: String::new(),
            stage_order: 0,
            started_at: None,
            completed_at: None,
            duration_ms: 0,
            status: RecordStatus::Running,
            error: None,
            llm_calls: 0,
            unknown: Object::new(),
        }
    }
}

impl ProcessingRecord {
    /// The record as JSON with all its 8 members.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let members = Object::from([
            ("agent", Value::from(self.agent.as_str())),
            ("stage_order", Value::from(self.stage_order)),
            ("started_at", Value::from(self.started_at.clone())),
            ("completed_at", Value::from(self.completed_at.clone())),
            ("duration_ms", Value::from(self.duration_ms)),
            ("status", Value::from(self.status.word())),
            ("error", Value::from(self.error.clone())),
            ("llm_calls", Value::from(self.llm_calls)),
        ]);
        with_unknown(members, &self.unknown)
    }

    /// Reads a record. Missing members get their defaults.
    ///
    /// # Errors
    /// `ENVELOPE_INVALID` with the location: wrong types, unknown words, texts that are not times.
    pub fn from_value(value: &Value) -> Result<ProcessingRecord, Diagnostic> {
        ProcessingRecord::read(Fields::of(value, ENVELOPE_INVALID)?)
    }

    pub(super) fn read(mut fields: Fields) -> Result<ProcessingRecord, Diagnostic> {
        let agent = fields.string_or_default("agent")?;
        let stage_order = fields.u53_or("stage_order", 0)?;
        let [started_at, completed_at] = [fields.time("started_at")?, fields.time("completed_at")?];
        let duration_ms = fields.u53_or("duration_ms", 0)?;
        let status = match fields.take("status") {
            None => RecordStatus::Running,
            Some(word) => word
                .as_str()
                .and_then(RecordStatus::parse)
                .ok_or_else(|| fields.wrong("status", "running, success, error or skipped", &word))?,
        };
        let error = fields.string("error")?;
        let llm_calls = fields.u53_or("llm_calls", 0)?;
        let unknown = fields.rest();
        Ok(ProcessingRecord {
            agent,
            stage_order,
            started_at,
            completed_at,
            duration_ms,
            status,
            error,
            llm_calls,
            unknown,
        })
    }
}
