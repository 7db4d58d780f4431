//! Matches free slots with waiting runs.
//!
//! Owns the order: tenants in turn, and for each tenant the run that has waited longest. It decides nothing:
//! it offers a slot to a run, and the run starts an attempt or refuses. Its information may be out of date: a
//! run in its queue may no longer be ready.

use crate::{
    message::{FreeSlot, Message, Sent, ToDispatcher, ToRun},
    place::{Place, WorkerId},
    seen::Seen,
};
use envoi_kernel::{ids::RunId, throttle::Standings};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

/// The state of the dispatcher.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Waiting runs, by tenant. No queue is empty.
    ready: BTreeMap<String, VecDeque<RunId>>,
    /// All runs in the queues.
    queued: BTreeSet<RunId>,
    /// The tenant that was served last.
    last: Option<String>,
    offers: VecDeque<Offer>,
    seen: BTreeMap<WorkerId, Seen>,
    /// Workers whose offers were withdrawn, each with the last incarnation that this concerns.
    withdrawn: BTreeMap<WorkerId, u64>,
    /// The state of the accounts that have refused an attempt.
    pub accounts: Arc<Standings>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Offer {
    place: Place,
    offer: u64,
    floor: u64,
}

impl State {
    /// Number of waiting runs.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queued.len()
    }

    /// Number of free slots.
    #[must_use]
    pub fn offered(&self) -> usize {
        self.offers.len()
    }

    fn next(&mut self) -> Option<RunId> {
        let after = self.last.clone();
        let later = self.ready.keys().find(|tenant| after.as_ref().is_none_or(|last| *tenant > last));
        let tenant = later.or_else(|| self.ready.keys().next())?.clone();
        let queue = self.ready.get_mut(&tenant)?;
        let run = queue.pop_front();
        if queue.is_empty() {
            self.ready.remove(&tenant);
        }
        self.last = Some(tenant);
        run.inspect(|run| {
            self.queued.remove(run);
        })
    }
}

/// Handles a message, and sends offers for the slots and runs that match.
#[must_use]
pub fn handle(mut state: State, message: ToDispatcher) -> (State, Vec<Sent>) {
    match message {
        ToDispatcher::Ready { run, tenant } => {
            if state.queued.insert(run.clone()) {
                state.ready.entry(tenant).or_default().push_back(run);
            }
        }
        ToDispatcher::Offer { place, offer, floor } => {
            let is_new = state.seen.entry(place.worker.clone()).or_default().take(offer, floor);
            let holds = state.withdrawn.get(&place.worker).is_none_or(|last| place.incarnation > *last);
            if is_new && holds {
                state.offers.push_back(Offer { place, offer, floor });
            }
        }
        ToDispatcher::Withdraw { worker, incarnation } => {
            state.offers.retain(|of| of.place.worker != worker || of.place.incarnation > incarnation);
            let last = state.withdrawn.entry(worker).or_default();
            *last = incarnation.max(*last);
        }
    }
    let mut sent = Vec::new();
    while !state.offers.is_empty() && !state.ready.is_empty() {
        let (Some(offer), Some(run)) = (state.offers.pop_front(), state.next()) else { break };
        let Offer { place, offer, floor } = offer;
        let slot = FreeSlot { place, offer, floor, accounts: Arc::clone(&state.accounts) };
        sent.push(Sent::now(Message::Run(run, ToRun::SlotFree(Box::new(slot)))));
    }
    (state, sent)
}
