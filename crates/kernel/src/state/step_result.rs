//! What the last settled visit of a step has come to.

use crate::model::{files::Blob, ids::AttemptId};
use envoi_contract::{handoff::Status as HandoffStatus, json::Value};
use serde::{Deserialize, Serialize};

/// The last settled visit of a step, as expressions see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepResult {
    pub(crate) status: HandoffStatus,
    pub(crate) summary: String,
    pub(crate) data: Value,
    pub(crate) artifacts: Value,
    /// The attempt that left a report.
    pub(crate) report: Option<AttemptId>,
    /// The report in the store. None in states that an earlier version has kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) report_blob: Option<Blob>,
    /// The last attempt; `None` when the visit was skipped.
    pub(crate) attempt: Option<AttemptId>,
}
