//! Events of runs.

mod shown;

pub use shown::{shown, text, text_and_stored};

use crate::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What happened to a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its place in the run, from 0.
    pub seq: u64,
    /// When it was decided.
    pub at: Time,
    /// What happened.
    pub event: EventBody,
    /// The event as the journal has it, if the request wants that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub stored: Option<String>,
}

/// What happened: its type, and members of that type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, extend("additionalProperties" = true))]
pub struct EventBody {
    /// Its type, such as `attempt_settled`.
    #[serde(rename = "type")]
    pub name: String,
    /// Its other members.
    #[serde(flatten)]
    pub members: Map<String, Value>,
}

/// A page of events, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Events {
    /// The events.
    pub events: Vec<Event>,
    /// The `after` of the next page; null on the last.
    pub next: Option<u64>,
}
