//! Hand-offs as short rows. The hand-off itself is contract 2.

use crate::{Time, scalar::words};
use envoi_kernel::ids::{FlowId, StepId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

words! {
    /// The result of a visit.
    HandoffStatus {
        /// Succeeded.
        Succeeded = "succeeded",
        /// Failed.
        Failed = "failed",
        /// Not executed.
        Skipped = "skipped",
    }
}

/// A hand-off at a glance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandoffRow {
    /// Its name, by which it is got: `[scope.]step.visit`.
    pub handoff: String,
    /// The step.
    #[schemars(with = "String")]
    pub step: StepId,
    /// The inner flows and the item in which the visit stands; empty at the top.
    pub scope: String,
    /// Which visit of the step, from 1.
    pub visit: u32,
    /// The flow that the step belongs to.
    #[schemars(with = "String")]
    pub flow: FlowId,
    /// What the visit came to.
    pub status: HandoffStatus,
    /// The first 200 characters of its summary.
    pub summary: String,
    /// When it was written.
    pub at: Time,
    /// The event that holds it.
    pub seq: u64,
}

/// The hand-offs of a run, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Handoffs {
    /// The hand-offs.
    pub handoffs: Vec<HandoffRow>,
}
