//! Compares a plan with given maximums.

use super::{Most, Plan};
use envoi_kernel::ledger::Cost;

/// Maximums for a run. A maximum that is not set is not checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Maxima {
    /// Attempts.
    pub attempts: Option<u64>,
    /// Milliseconds of attempts.
    pub llm_calls: Option<u64>,
    /// Milliseconds of attempts.
    pub time_ms: Option<u64>,
    /// Cost.
    pub cost: Option<Cost>,
}

/// A maximum that a run of the flow could exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exceeded {
    /// Attempts: the maximum and the planned number.
    Attempts(u64, Most),
    /// Model calls.
    LlmCalls(u64, Option<Most>),
    /// Milliseconds of attempts.
    Time(u64, Option<Most>),
    /// Cost.
    Cost(Cost, Option<Cost>),
}

impl Plan {
    /// The figures that exceed `maxima`. An unbounded figure exceeds any maximum.
    #[must_use]
    pub fn exceeded(&self, maxima: &Maxima) -> Vec<Exceeded> {
        // A number that is too large to be exact exceeds any maximum.
        let over = |max: u64, planned: Most| planned.known().is_none_or(|planned| planned > max);
        let attempts = maxima
            .attempts
            .filter(|max| over(*max, self.attempts))
            .map(|max| Exceeded::Attempts(max, self.attempts));
        let calls = self.llm_calls;
        let unbounded_or_over =
            |max: u64, planned: Option<Most>| planned.is_none_or(|planned| over(max, planned));
        let calls = maxima
            .llm_calls
            .filter(|max| unbounded_or_over(*max, calls))
            .map(|max| Exceeded::LlmCalls(max, calls));
        let time = maxima
            .time_ms
            .filter(|max| unbounded_or_over(*max, self.time_ms))
            .map(|max| Exceeded::Time(max, self.time_ms));
        let cost = maxima
            .cost
            .filter(|max| self.cost.is_none_or(|cost| cost > *max))
            .map(|max| Exceeded::Cost(max, self.cost));
        [attempts, calls, time, cost].into_iter().flatten().collect()
    }
}
