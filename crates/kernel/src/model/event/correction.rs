//! What an event says of a corrected flow.

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
    /// The version of the language that the corrected flow is written in.
    pub language: u32,
    /// Absolute path of the corrected flow's file.
    pub source: String,
    /// The step from which on the run runs again, finished steps too. `None`: nothing that is finished runs again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<StepId>,
    /// Who.
    pub by: Principal,
    /// The reason, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The id of the request that it came with: one that is sent again because no reply came corrects nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Steps whose question was approved in advance, and that the corrected flow has otherwise: the approval is void. Only where the
    /// corrected flow takes over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub yes_void: Vec<StepId>,
}

/// See [`super::Event::CorrectionDropped`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorrectionDropped {
    /// The digest of the flow that does not hold.
    pub after: Digest,
    /// Why not, in a sentence.
    pub reason: String,
}
