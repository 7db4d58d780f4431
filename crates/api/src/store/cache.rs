//! Cached results of steps.

use crate::scalar::Time;
use envoi_kernel::ids::{AttemptId, FlowId, RunId, StepId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A result that later runs may get.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CachedStep {
    /// Its key: of the state in which the command has made it.
    pub key: String,
    /// The step.
    #[schemars(with = "String")]
    pub step: StepId,
    /// The id of the flow of its run; null if that run is no longer in the store.
    #[schemars(with = "Option<String>")]
    pub flow: Option<FlowId>,
    /// The run that has made it.
    #[schemars(with = "String")]
    pub run: RunId,
    /// The attempt that has made it.
    #[schemars(with = "String")]
    pub attempt: AttemptId,
    /// When.
    pub made_at: Time,
    /// How many artifacts it has; null if its contents are gone: then the command runs.
    pub files: Option<u64>,
    /// Their size; null likewise.
    pub size_bytes: Option<u64>,
}
