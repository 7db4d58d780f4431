//! Registered flows, and the flow to which a run is pinned.

pub mod backtest;
pub mod mistake;
pub mod plan;
pub mod shape;

use crate::{Time, scalar::digest};
use envoi_contract::digest::Digest;
use envoi_kernel::ids::FlowId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A flow that may be started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// Its id.
    #[schemars(with = "String")]
    pub flow: FlowId,
    /// Its digest.
    #[schemars(schema_with = "digest")]
    pub digest: Digest,
    /// The version of the flow language.
    pub language: u32,
    /// Its own file first, then those that it names.
    pub files: Vec<String>,
    /// When it was registered.
    pub registered_at: Time,
    /// By whom.
    pub registered_by: String,
}

/// The flows that may be started, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flows {
    /// The flows.
    pub flows: Vec<Flow>,
}

/// The flow that a run is pinned to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PinnedFlow {
    /// Its digest.
    #[schemars(schema_with = "digest")]
    pub digest: Digest,
    /// The version of the flow language.
    pub language: u32,
    /// The name of its file.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Texts of the flows that it names, by their paths.
    pub parts: BTreeMap<String, String>,
    /// The flows that it corrects, if the run has been corrected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<PinnedFlow>,
}
