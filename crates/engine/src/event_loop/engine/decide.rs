//! Decision of a request: the run turns it into events, which go to the journal, or refuses it.

use super::Engine;
use crate::{
    event_loop::active_run::{InFlight, Request},
    model::{
        message::{EngineError, Reply},
        trouble::{Trouble, TroubleKind, guarded},
    },
};
use envoi_journal::Commit;
use envoi_kernel::{Input, Refusal, ids::RunId};
use std::sync::Arc;

impl Engine {
    /// A client's request to a run that is held.
    pub(super) fn input(&mut self, id: RunId, input: Input, reply: Reply) {
        if !self.runs.contains_key(&id) {
            return reply(Err(EngineError::NotHeld { run: id }));
        }
        self.push(&id, Request { reply: Some(reply), ..Request::of(input) });
    }

    /// Has the run decide on a request. Its events are submitted to the journal; a refusal is the reply.
    pub(super) fn decide(&mut self, id: &RunId, request: Request) {
        let Request { input, blobs, corrected, reply } = request;
        let Some(active) = self.runs.get(id) else { return };
        let tenant = Arc::clone(&active.tenant);
        // A halted run starts nothing, so it needs no slot.
        let slot = if active.halted { None } else { self.take_slot(id, &tenant, &input) };
        let has_slot = slot.is_some();
        let begins = matches!(input, Input::Start(_) | Input::Fork(_));
        let begun_call = match &input {
            Input::ModelCall(call) => Some(call.call.clone()),
            _ => None,
        };
        if let Input::ModelCalled(called) = &input {
            self.calls.remove(&called.call);
        }
        let now = self.clocks();
        let Some(active) = self.runs.get_mut(id) else { return };
        let time = active.time(now);
        if let Some(corrected) = &corrected {
            active.run.learn(Arc::clone(&corrected.flow));
        }
        let decided = guarded("a decision", || {
            let records = active.run.decide_next(input, slot, time)?;
            if let Some(corrected) = corrected {
                // The text of the flow becomes durable with the event that names it.
                active.pinned = Some(corrected.pinned);
            }
            self.accounts.decided(&active.tenant, &active.run, &records, now);
            let deliveries = self.outbox.deliveries(&active.run, id, &records);
            let commit = active.commit(id, &records, blobs, deliveries, &mut self.snapshots);
            active.cut_short = active.run.is_cut_short();
            Ok::<_, Refusal>((records, commit))
        });
        if has_slot && !matches!(decided, Ok(Ok(_))) {
            self.slots.give_back(&tenant);
            self.slots.settle_loan(id, None);
        }
        match decided {
            Ok(Ok((records, commit))) => {
                self.calls.extend(begun_call);
                self.submit(id, InFlight { records, slot: has_slot, reply }, commit);
            }
            Ok(Err(refusal)) => self.refused(id, refusal, begins, reply),
            Err(trouble) => self.panicked(id, trouble, begins, reply),
        }
    }

    fn submit(&mut self, id: &RunId, in_flight: InFlight, commit: Commit) {
        let Some(active) = self.runs.get_mut(id) else { return };
        active.in_flight = Some(in_flight);
        self.commits_under_way = self.commits_under_way.saturating_add(1);
        self.world.log.submit(commit);
    }

    /// The run does not accept a request; it is as before. A run that did not begin is forgotten.
    fn refused(&mut self, id: &RunId, refusal: Refusal, begins: bool, reply: Option<Reply>) {
        self.changing.settle(id, self.runs.get(id));
        if begins {
            self.runs.remove(id);
            self.leave_at_rest(id);
        }
        // An ended run may have been adopted only for this request.
        self.forget_if_over(id);
        match reply {
            Some(reply) => reply(Err(refusal.into())),
            // The input came from the loop itself and must not be lost: the state of the run contradicts itself.
            None if matches!(refusal, Refusal::Inconsistent { .. }) => {
                self.set_aside(id, Trouble::new(TroubleKind::Inconsistent, refusal.to_string()));
            }
            None => {}
        }
    }

    /// The decision panicked: a defect. The run is set aside, or forgotten if it did not begin.
    fn panicked(&mut self, id: &RunId, trouble: Trouble, begins: bool, reply: Option<Reply>) {
        if let Some(reply) = reply {
            let reason = trouble.reason.clone();
            reply(Err(EngineError::Refused(Refusal::Inconsistent { reason })));
        }
        if begins {
            self.runs.remove(id);
            self.leave_at_rest(id);
        } else {
            self.set_aside(id, trouble);
        }
    }
}
