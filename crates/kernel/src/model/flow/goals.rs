//! `goals:` of a flow, as the kernel executes it.

use crate::model::{flow::Expression, ids::StepId};

/// The goals of a run, and the steps that are repeated until all are reached. A pass through these steps is a
/// round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalsPlan {
    /// A list of texts, evaluated when the first round begins.
    pub list: Expression,
    /// The first step of a round.
    pub from: StepId,
    /// The last step of a round. The step after it is entered when all goals are reached.
    pub to: StepId,
    /// Maximum number of rounds, at least 1 (contract 3: `max_stages`).
    pub max_rounds: u64,
    /// A person decides after this many rounds without a reached goal, at least 1 (contract 3: `is_stuck`).
    pub stuck_after: u64,
}
