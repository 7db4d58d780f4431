//! The state of the world that a run requires. The engine compares it with the real state.

use crate::model::ids::{AttemptId, InterruptId, TimerId, VisitId};
use envoi_contract::time::Timestamp;

/// The state of the world that a run requires. The engine compares it with the real state, and closes the
/// gap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wants {
    /// Attempts that must be running, or be found settled.
    pub attempts: Vec<AttemptId>,
    /// Visits that wait for a slot, the longest waiting first.
    pub ready: Vec<VisitId>,
    /// Timers that must be set.
    pub timers: Vec<(TimerId, Timestamp)>,
    /// Questions that must be shown.
    pub interrupts: Vec<InterruptId>,
    /// The expiry times of those questions that have one.
    pub expiries: Vec<(InterruptId, Timestamp)>,
    /// Abandoned attempts. They must be ended, and their end must be reported.
    pub ending: Vec<AttemptId>,
    /// Whether live attempts must be ended.
    pub cancelling: bool,
    /// Whether a restore of the files must be done before anything starts.
    pub restoring: bool,
}

impl Wants {
    /// Whether nothing can ever wake the run: true for an ended run only.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.attempts.is_empty()
            && self.ready.is_empty()
            && self.timers.is_empty()
            && self.interrupts.is_empty()
            && self.ending.is_empty()
            && !self.restoring
    }
}
