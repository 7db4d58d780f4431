//! Brings free slots and runs that wait together.
//!
//! Owns the order: tenants in turn, and of one tenant the run that waits longest. It decides nothing: it offers a slot to a run, and
//! the run starts an attempt or refuses. Its messages may be out of date: a run in its queue may not be ready any more.

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

/// What it keeps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Runs that wait, by tenant; no queue is empty.
    ready: BTreeMap<String, VecDeque<RunId>>,
    /// The runs in them.
    queued: BTreeSet<RunId>,
    /// The tenant that was served last.
    last: Option<String>,
    offers: VecDeque<Offer>,
    seen: BTreeMap<WorkerId, Seen>,
    /// The last life of each worker whose offers do not hold any more.
    withdrawn: BTreeMap<WorkerId, u64>,
    /// How the accounts stand that have refused an attempt.
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
    /// How many runs wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queued.len()
    }

    /// How many slots wait.
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

/// Takes a message, and sends what fits together.
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
