//! The contents of the events about a corrected flow.

use crate::model::ids::{Principal, StepId};
use envoi_contract::digest::Digest;
use serde::{Deserialize, Serialize};

/// See [`super::Event::CorrectionRequested`] and [`super::Event::FlowCorrected`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Correction {
    /// The digest of the flow that is corrected.
    pub before: Digest,
    /// The digest of the corrected flow.
    pub after: Digest,
    /// The version of the flow language of the corrected flow.
    pub language: u32,
    /// Absolute path of the corrected flow's file.
    pub source: String,
    /// The step from which the run is repeated, including finished steps. `None`: no finished step runs
    /// again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<StepId>,
    /// The requester.
    pub by: Principal,
    /// The reason, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The id of the request. A request that is sent again has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Steps whose question was approved in advance and that the corrected flow changes: the approval is
    /// void. Set only when the corrected flow takes effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub yes_void: Vec<StepId>,
}

/// See [`super::Event::CorrectionDropped`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorrectionDropped {
    /// The digest of the flow that does not take effect.
    pub after: Digest,
    /// The reason in one sentence.
    pub reason: String,
}
