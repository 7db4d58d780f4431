//! Events within a flow: steps of a graph, items, goals, and flows inside flows.

use crate::model::ids::{FlowId, StepId, VisitId};
use envoi_contract::json::{Object, Value};
use serde::{Deserialize, Serialize};

/// See [`Event::StepEntered`](super::Event::StepEntered).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEntered {
    /// The scope of the flow; empty for the run's own flow.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scope: String,
    /// The step.
    pub step: StepId,
}

/// See [`Event::StepsGivenUp`](super::Event::StepsGivenUp).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepsGivenUp {
    /// The scope of the flow; empty for the run's own flow.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scope: String,
    /// The step that does not wait for them.
    pub by: StepId,
    /// The abandoned steps. Open visits of them are closed by a hand-off in the same commit.
    pub steps: Vec<StepId>,
}

/// See [`Event::FannedOut`](super::Event::FannedOut).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FannedOut {
    /// The visit.
    pub visit: VisitId,
    /// The values, in order.
    pub items: Vec<Value>,
    /// Maximum number of items in progress at once.
    pub width: usize,
}

/// See [`Event::GoalsSet`](super::Event::GoalsSet).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalsSet {
    /// The goals, in order and without duplicates.
    pub goals: Vec<String>,
}

/// See [`Event::GoalsReached`](super::Event::GoalsReached).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalsReached {
    /// The visit that reached them.
    pub visit: VisitId,
    /// Goals that were open and are reached now.
    pub goals: Vec<String>,
    /// Names in the report that are not goals of the run. They have no effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// See [`Event::FlowEntered`](super::Event::FlowEntered). Its scope is [`VisitId::inside`] of the visit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowEntered {
    /// The visit that runs it.
    pub visit: VisitId,
    /// The flow.
    pub flow: FlowId,
    /// Its inputs, with defaults filled in.
    pub inputs: Object,
    /// The step at which it is entered, if a hint named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<StepId>,
    /// Whether a hint led here. If so, the visit's hand-off exists already.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub by_hint: bool,
    /// Whether it continues where the previous visit stopped.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub resumes: bool,
}

/// See [`Event::FlowReturned`](super::Event::FlowReturned).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowReturned {
    /// The visit that ran it.
    pub visit: VisitId,
    /// Its outputs.
    pub data: Value,
}
