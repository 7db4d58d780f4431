//! The result of `backtest`: decisions of recorded runs that a changed flow would make differently.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The row of `backtest`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Backtest {
    /// The flow file, as it was named.
    pub file: String,
    /// The id of the flow.
    pub flow: String,
    /// The digest of the flow.
    pub flow_digest: String,
    /// The runs that were looked at, newest first, or in the order in which they were named.
    pub runs: Vec<BacktestRun>,
}

/// The decisions of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BacktestRun {
    /// The run.
    pub run: String,
    /// Number of decisions that were made from a text.
    pub decisions: u64,
    /// Number of decisions that cannot be compared, because the text is not kept.
    pub unknown: u64,
    /// Those that would differ, in order.
    pub differences: Vec<BacktestDifference>,
}

/// A decision that would differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BacktestDifference {
    /// The event that has it.
    pub seq: u64,
    /// The visit whose text it is.
    pub visit: String,
    /// What was decided.
    pub then: BacktestDecision,
    /// What would be decided; null if the flow has no such step.
    pub now: Option<BacktestDecision>,
}

/// A decision from a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BacktestDecision {
    /// What the run does, in words.
    pub what: String,
    /// The word of the signal.
    pub decision: String,
    /// Its reason.
    pub reason: String,
    /// The row of the decision table that fired.
    pub rule: Option<String>,
    /// What made it fire.
    pub because: Option<String>,
}
