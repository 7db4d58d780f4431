//! The worst case of a flow, as `plan` prints it.

use crate::scalar::maybe_dollars;
use envoi_kernel::ids::{FlowId, StepId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The worst case of a flow, what of it is past a maximum, and how it differs from another flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The flow.
    #[serde(flatten)]
    pub flow: FlowPlan,
    /// What is past a maximum that was given.
    pub past: Vec<PastMaximum>,
    /// The other flow; null if none was given.
    pub compared_with: Option<FlowPlan>,
    /// What differs from the other flow; null if none was given.
    pub differences: Option<Vec<Difference>>,
}

/// The worst case of a flow. A figure that is null is not bounded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowPlan {
    /// Its id.
    #[schemars(with = "String")]
    pub flow: FlowId,
    /// The file, as it was named.
    pub file: String,
    /// Attempts of all steps.
    pub attempts: Most,
    /// Visits of all steps.
    pub visits: Most,
    /// Times that loops go back.
    pub iterations: Most,
    /// Rounds of its goals; null if it has none.
    pub rounds: Option<u64>,
    /// Time in which attempts run, added up.
    pub wall_time_ms: Option<Most>,
    /// Time of waiting before further tries, added up.
    pub waits_ms: Most,
    /// Time from the start to the end, if every attempt has a slot and every question an answer at once.
    pub elapsed_ms: Option<Most>,
    /// Calls of models that reports may tell of.
    pub llm_calls: Option<Most>,
    /// Dollars that reports may tell of.
    #[schemars(schema_with = "maybe_dollars")]
    pub cost_usd: Option<String>,
    /// Its steps, and after them those of the flows that it runs.
    pub steps: Vec<PlannedStep>,
    /// What sends the run back.
    pub loops: Vec<PlannedLoop>,
    /// The limits that lower the worst case.
    pub limits: Vec<PlannedLimit>,
    /// What to lower for fewer attempts; null if nothing in the file can be lowered.
    pub most_attempts: Option<MostAttempts>,
    /// What to lower for less time; null if nothing in the file can be lowered.
    pub most_time: Option<MostTime>,
    /// What has to be known to read the figures.
    pub notes: Vec<String>,
}

/// The most that something can come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Most {
    /// This many.
    Known(u64),
    /// More than every reader of JSON can hold exactly.
    Beyond {
        /// The largest number that they can: 2^53 − 1.
        more_than: u64,
    },
}

/// What a limit bounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Amount {
    /// A count, or milliseconds.
    Count(Most),
    /// Dollars.
    Dollars(String),
}

/// The worst case of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedStep {
    /// The flow that it is a step of.
    #[schemars(with = "String")]
    pub flow: FlowId,
    /// Its id.
    #[schemars(with = "String")]
    pub step: StepId,
    /// Whether it asks a person and makes no attempt.
    pub asks: bool,
    /// The flow that it runs; null if it runs none.
    #[schemars(with = "Option<String>")]
    pub inner_flow: Option<FlowId>,
    /// Its visits.
    pub visits: Most,
    /// Items of a visit; null if it is done for no list.
    pub items: Option<PlannedItems>,
    /// Attempts of a visit, or of an item.
    pub attempts_each: Most,
    /// How many of those are because an attempt was in doubt.
    pub doubt_each: u32,
    /// Its attempts.
    pub attempts: Most,
    /// The time limit of an attempt; null if it has none.
    pub timeout_ms: Option<u64>,
    /// Time of all its attempts; null if it is not bounded.
    pub wall_time_ms: Option<Most>,
}

/// How many items a step is done for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedItems {
    /// At most.
    pub most: u64,
    /// Whether the files say so; otherwise it is the most that any list may have.
    pub known: bool,
}

/// The worst case of a loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedLoop {
    /// The flow that it is in.
    #[schemars(with = "String")]
    pub flow: FlowId,
    /// The step that closes it.
    #[schemars(with = "String")]
    pub step: StepId,
    /// The earliest step that it goes back to.
    #[schemars(with = "String")]
    pub back_to: StepId,
    /// How often it goes back each time that it is entered.
    pub each_entry: u64,
    /// How often it is entered.
    pub entries: Most,
    /// How often it goes back in the run.
    pub returns: Most,
    /// Whether it goes back only where a person decides so.
    pub by_people: bool,
    /// Whether it is the rounds of the flow's goals.
    pub by_rounds: bool,
}

/// A limit that lowers the worst case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedLimit {
    /// Its key in `limits`.
    pub limit: String,
    /// What could be without it.
    pub without: Amount,
    /// What it lowers that to.
    pub with: Amount,
}

/// A figure of a flow file that matters most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dominant {
    /// Its key, from the step or from the top of the file.
    pub key: String,
    /// The flow in whose file it stands.
    #[schemars(with = "String")]
    pub flow: FlowId,
    /// The step; null if it is the flow's.
    #[schemars(with = "Option<String>")]
    pub step: Option<StepId>,
    /// The file; null if the key does not stand in it.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u64>,
    /// What it is now.
    pub now: u64,
    /// Whether the file says so; otherwise it is the most that any list may have.
    pub known: bool,
    /// The steps that are repeated because of it.
    #[schemars(with = "Vec<String>")]
    pub path: Vec<StepId>,
}

/// The figure that causes the most attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MostAttempts {
    /// The figure.
    #[serde(flatten)]
    pub figure: Dominant,
    /// The attempts that one less saves.
    pub one_less_saves: Most,
    /// The attempts of the steps in `path`.
    pub spent_there: Most,
}

/// The figure that causes the most time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MostTime {
    /// The figure.
    #[serde(flatten)]
    pub figure: Dominant,
    /// The time that one less saves.
    pub one_less_saves_ms: Most,
    /// The time of the steps in `path`.
    pub spent_there_ms: Most,
}

/// A figure that is past its maximum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PastMaximum {
    /// Which: `attempts`, `llm_calls`, `wall_time_ms` or `cost_usd`.
    pub figure: String,
    /// The maximum.
    pub allowed: Amount,
    /// The worst case; null if it is not bounded.
    pub planned: Option<Amount>,
}

/// A figure that two flows have differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The flow that the step belongs to; null for a figure of the whole.
    #[schemars(with = "Option<String>")]
    pub flow: Option<FlowId>,
    /// The step; null for a figure of the whole.
    #[schemars(with = "Option<String>")]
    pub step: Option<StepId>,
    /// Which figure, by its name in the plan.
    pub figure: String,
    /// What this flow has; null if it is not bounded, or the flow has no such step.
    pub this: Option<Amount>,
    /// What the other one has.
    pub other: Option<Amount>,
}
