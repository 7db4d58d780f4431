//! `goals:` as the kernel obeys it.

use crate::model::{flow::Expression, ids::StepId};

/// What a run is for, and the steps that are repeated until it is reached. One time through them is a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalsPlan {
    /// A list of texts, evaluated when the first round begins.
    pub list: Expression,
    /// The first step of a round.
    pub from: StepId,
    /// The last step of a round; what follows it is entered when all goals are reached.
    pub to: StepId,
    /// The most rounds, from 1 (contract 3: `max_stages`).
    pub max_rounds: u64,
    /// A person decides after this many rounds without a reached goal, from 1 (contract 3: `is_stuck`).
    pub stuck_after: u64,
}
