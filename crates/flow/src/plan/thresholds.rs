//! What of a plan is past a given maximum.

use super::{Most, Plan};
use envoi_kernel::ledger::Cost;

/// Maximums for a run; one that is not set is not checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Maxima {
    /// Attempts.
    pub attempts: Option<u64>,
    /// Model calls.
    pub llm_calls: Option<u64>,
    /// Milliseconds in which an attempt is live.
    pub time_ms: Option<u64>,
    /// Cost.
    pub cost: Option<Cost>,
}

/// A maximum that a run of the flow could pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exceeded {
    /// Attempts: the maximum and what is planned.
    Attempts(u64, Most),
    /// Model calls.
    LlmCalls(u64, Option<Most>),
    /// Milliseconds in which an attempt is live.
    Time(u64, Option<Most>),
    /// Cost.
    Cost(Cost, Option<Cost>),
}

impl Plan {
    /// What is past `maxima`, and what is not bounded and so past any maximum.
    #[must_use]
    pub fn exceeded(&self, maxima: &Maxima) -> Vec<Exceeded> {
        // A number that is too large to be exact is past any maximum.
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
