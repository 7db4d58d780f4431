//! The result of the last settled visit of a step.

use crate::model::{files::Blob, ids::AttemptId, size::is_shortened};
use envoi_contract::{handoff::Status as HandoffStatus, json::Value};
use serde::{Deserialize, Serialize};

/// The last settled visit of a step, as expressions see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepResult {
    pub(crate) status: HandoffStatus,
    pub(crate) summary: String,
    /// The whole text, if the summary is only a part of it and the flow reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// Whether its text, or a text that it was made of, was truncated.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(crate) text_cut: bool,
    pub(crate) data: Value,
    pub(crate) artifacts: Value,
    /// The attempt that wrote a report.
    pub(crate) report: Option<AttemptId>,
    /// The report in the store. `None` in states that an earlier version stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) report_blob: Option<Blob>,
    /// Whether it was skipped because it is not in the part that is run. If so, it has only a status.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(crate) left_out: bool,
    /// The last attempt; `None` if the visit was skipped.
    pub(crate) attempt: Option<AttemptId>,
}

impl StepResult {
    /// The whole text, or the summary if nothing more is stored.
    pub(crate) fn known_text(&self) -> &str {
        self.text.as_deref().unwrap_or(&self.summary)
    }

    /// Whether [`StepResult::known_text`] is the whole text of the step.
    pub(crate) fn is_text_whole(&self) -> bool {
        !self.text_cut && (self.text.is_some() || !is_shortened(&self.summary))
    }
}
