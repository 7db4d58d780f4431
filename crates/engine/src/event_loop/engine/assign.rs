//! Assignment of slots: a free one by the rule of `slots`, or one on loan from the attempt that waits for the
//! run.

use super::Engine;
use crate::model::runner::CallingAttempt;
use envoi_kernel::{Input, ids::RunId, input::Slot};
use std::sync::Arc;

impl Engine {
    /// Whether a live attempt of this engine waits for a run that was called `within` it. Such a run
    /// continues even if nothing new may start: otherwise the attempt could not end.
    pub(super) fn is_called(&self, within: &[CallingAttempt]) -> bool {
        let live = |caller: &CallingAttempt| self.runs.get(&caller.run)?.live.get(&caller.attempt);
        within.first().and_then(live).is_some()
    }

    /// The attempt that waits for this run and has its slot to lend.
    pub(super) fn lender(&self, id: &RunId) -> Option<CallingAttempt> {
        let within = &self.runs.get(id)?.within;
        let lender = within.first().filter(|_| self.is_called(within))?;
        self.slots.may_lend(lender).then(|| lender.clone())
    }

    /// A slot for a start that may follow from a decision: that of the attempt which waits for the run, or a
    /// free one. A continuing run leaves free slots to runs that have been waiting.
    pub(super) fn take_slot(&mut self, id: &RunId, tenant: &Arc<str>, input: &Input) -> Option<Slot> {
        if let Some(lender) = self.lender(id) {
            self.slots.lend(lender, id.clone());
            self.slots.take(tenant);
            return Some(self.slot(id, tenant));
        }
        let has_turn = matches!(input, Input::SlotFree);
        if self.draining || !self.slots.is_free() || (!has_turn && self.slots.is_awaited()) {
            return None;
        }
        self.slots.take(tenant);
        Some(self.slot(id, tenant))
    }

    /// A slot with the present state of the tenant's accounts, by the time of the run.
    fn slot(&mut self, id: &RunId, tenant: &str) -> Slot {
        let now = self.clocks();
        let time = self.runs.get_mut(id).map_or(now.wall, |active| active.time(now));
        Slot { boot_id: self.world.clock.boot_id(), accounts: self.accounts.standings(tenant, time, now) }
    }

    pub(super) fn serve_waiting(&mut self) {
        while self.stopped.is_none() && !self.draining && self.slots.is_free() {
            let Some(id) = self.slots.next() else { break };
            self.turn(&id);
        }
        self.serve_borrowers();
    }

    /// Runs whose caller can lend a slot get their turn before runs that have waited longer.
    pub(super) fn serve_borrowers(&mut self) {
        while self.stopped.is_none() {
            let Some(id) = self.slots.called().find(|id| self.lender(id).is_some()).cloned() else { return };
            self.slots.stop_waiting(&id);
            self.turn(&id);
        }
    }
}
