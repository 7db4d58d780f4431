//! What a run wants to be true: what an engine compares with the world.

use crate::model::ids::{AttemptId, InterruptId, TimerId, VisitId};
use envoi_contract::time::Timestamp;

/// What a run wants to be true. The engine compares it with what is, and closes the gap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wants {
    /// Attempts that are to be running, or to be found settled.
    pub attempts: Vec<AttemptId>,
    /// Visits that wait for a slot, the longest waiting first.
    pub ready: Vec<VisitId>,
    /// Timers that are to be armed.
    pub timers: Vec<(TimerId, Timestamp)>,
    /// Questions that are to be shown.
    pub interrupts: Vec<InterruptId>,
    /// When those of them that lapse do.
    pub expiries: Vec<(InterruptId, Timestamp)>,
    /// Attempts that were given up. They must be ended, and their end must be reported.
    pub ending: Vec<AttemptId>,
    /// Live attempts are to be ended.
    pub cancelling: bool,
    /// A restore of the files is to be done, before anything starts.
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
