//! Events within a flow: steps of a graph, items, goals, and flows inside flows.

use crate::model::ids::{FlowId, StepId, VisitId};
use envoi_contract::json::{Object, Value};
use serde::{Deserialize, Serialize};

/// See [`Event::StepEntered`](super::Event::StepEntered).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEntered {
    /// Of which flow; empty at the top.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scope: String,
    /// Which.
    pub step: StepId,
}

/// See [`Event::StepsGivenUp`](super::Event::StepsGivenUp).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepsGivenUp {
    /// Of which flow; empty at the top.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scope: String,
    /// The step that does without them.
    pub by: StepId,
    /// Which; those among them that are open are closed by a hand-off in the same commit.
    pub steps: Vec<StepId>,
}

/// See [`Event::FannedOut`](super::Event::FannedOut).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FannedOut {
    /// Which.
    pub visit: VisitId,
    /// The values, in order.
    pub items: Vec<Value>,
    /// The most that are under way at once.
    pub width: usize,
    /// The step is no list: it is done once, as one item without a value, in a tree of its own.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub alone: bool,
}

/// See [`Event::GoalsSet`](super::Event::GoalsSet).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalsSet {
    /// Each once, in order.
    pub goals: Vec<String>,
}

/// See [`Event::GoalsReached`](super::Event::GoalsReached).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalsReached {
    /// The visit that reached them.
    pub visit: VisitId,
    /// Those that were open.
    pub goals: Vec<String>,
    /// What a report named that is no goal of the run; nothing follows from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// See [`Event::FlowEntered`](super::Event::FlowEntered). Its scope is [`VisitId::inside`] of the visit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowEntered {
    /// The visit that runs it.
    pub visit: VisitId,
    /// Which flow.
    pub flow: FlowId,
    /// Its inputs, defaults filled in.
    pub inputs: Object,
    /// The step at which it is entered, if a hint named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<StepId>,
    /// Whether a hint led here; the visit's hand-off then stands already.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub by_hint: bool,
    /// Whether it goes on where the visit before this one stopped.
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
