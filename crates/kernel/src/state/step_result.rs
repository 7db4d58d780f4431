//! What the last settled visit of a step has come to.

use crate::model::{files::Blob, ids::AttemptId, size::is_shortened};
use envoi_contract::{handoff::Status as HandoffStatus, json::Value};
use serde::{Deserialize, Serialize};

/// The last settled visit of a step, as expressions see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepResult {
    pub(crate) status: HandoffStatus,
    pub(crate) summary: String,
    /// The whole text, where the summary is a part of it and the flow reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// Its text, or one that its own is made of, is only a part of what a command wrote.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(crate) text_cut: bool,
    pub(crate) data: Value,
    pub(crate) artifacts: Value,
    /// The attempt that left a report.
    pub(crate) report: Option<AttemptId>,
    /// The report in the store. None in states that an earlier version has kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) report_blob: Option<Blob>,
    /// It was skipped because it is left out of the part that is run: nothing but its status is there.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(crate) left_out: bool,
    /// The last attempt; `None` when the visit was skipped.
    pub(crate) attempt: Option<AttemptId>,
}

impl StepResult {
    /// The whole text, or the summary where nothing more is kept.
    pub(crate) fn known_text(&self) -> &str {
        self.text.as_deref().unwrap_or(&self.summary)
    }

    /// Whether [`StepResult::known_text`] is all that the step has said.
    pub(crate) fn is_text_whole(&self) -> bool {
        !self.text_cut && (self.text.is_some() || !is_shortened(&self.summary))
    }
}
