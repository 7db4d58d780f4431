//! A worker: its incarnation, its lease, its slots, and the runs that it holds.
//!
//! Owns whether a worker lives, and that it never gets more attempts than it has slots: a free slot is
//! offered once, and counts as used until the worker has looked at the run that used it. This object does not
//! know what the worker runs; the runs know.
//!
//! A heartbeat increases a count, and sends a check with that count for the time when the lease ends. If the
//! check finds the same count, there was no heartbeat since. So no clock of a worker is compared with another
//! one.

use crate::{
    message::{Message, Sent, ToDispatcher, ToRun, ToWorkerSlot},
    place::{Place, WorkerId},
};
use envoi_kernel::ids::{RunId, Seq};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The state of a worker's object.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// How often the worker has joined.
    incarnation: u64,
    /// The request number of its last join.
    request: u64,
    instance: String,
    /// Whether the worker lives, that is, is not lost.
    lives: bool,
    /// The last lost incarnation; 0 if there is none.
    lost: u64,
    /// Count of heartbeats, over all incarnations.
    beats: u64,
    /// The number of the last heartbeat of this incarnation.
    last_beat: u64,
    /// Offers that no run has used or refused yet.
    offers: BTreeSet<u64>,
    /// The number of the last offer, over all incarnations.
    last_offer: u64,
    /// Runs that the worker still has to look at, by mail number.
    mail: BTreeMap<u64, RunId>,
    last_mail: u64,
    /// For each run that was granted a slot or has left: its last event, and whether it holds a slot.
    held: BTreeMap<RunId, (Seq, bool)>,
}

/// The answer to a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Reply {
    /// The worker has joined.
    Joined {
        /// Its place from now on. The worker must write the incarnation to its disk before it does anything
        /// else.
        place: Place,
        /// The last lost incarnation. Nothing of it or of earlier ones may be started, and its running
        /// attempts must be ended.
        lost: u64,
    },
    /// Its disk is a copy, or was restored from an older state. It may join with another name and an empty
    /// disk.
    Copied,
    /// The worker comes from another instance, so it may run on a copy of its disk: it must wait until its
    /// earlier incarnation is lost.
    Wait,
    /// The worker lives.
    Lives {
        /// The runs to look at, by mail number.
        mail: Vec<(u64, RunId)>,
    },
    /// The worker is lost: it must end what it runs, and join again.
    Lost,
    /// The message was accepted, and has no further answer.
    Taken,
}

/// Handles a message. `lease_ms`: a worker without a heartbeat for this time is lost.
#[must_use]
pub fn handle(
    worker: &WorkerId,
    state: State,
    message: ToWorkerSlot,
    lease_ms: u64,
) -> (State, Vec<Sent>, Reply) {
    let mut turn = Turn { worker, state, sent: Vec::new(), lease_ms };
    let reply = turn.take(message);
    (turn.state, turn.sent, reply)
}

struct Turn<'w> {
    worker: &'w WorkerId,
    state: State,
    sent: Vec<Sent>,
    lease_ms: u64,
}

impl Turn<'_> {
    fn take(&mut self, message: ToWorkerSlot) -> Reply {
        match message {
            ToWorkerSlot::Join { last, request, instance } => return self.join(last, request, instance),
            ToWorkerSlot::Beat { incarnation, number, free, read } => {
                return self.beat(incarnation, number, free, read);
            }
            ToWorkerSlot::Check { incarnation, beats } => self.check(incarnation, beats),
            ToWorkerSlot::Granted { run, seq, place, offer } => self.granted(run, seq, &place, offer),
            ToWorkerSlot::Unused { offer } => {
                self.state.offers.remove(&offer);
            }
            ToWorkerSlot::Left { run, seq } => self.holds(run, seq, false),
            ToWorkerSlot::Changed { run } => self.look_at(run),
        }
        Reply::Taken
    }

    fn place(&self) -> Place {
        Place {
            worker: self.worker.clone(),
            incarnation: self.state.incarnation,
            instance: self.state.instance.clone(),
        }
    }

    fn join(&mut self, last: u64, request: u64, instance: String) -> Reply {
        let state = &mut self.state;
        let is_again = state.incarnation > 0 && request == state.request;
        let is_same_instance = instance == state.instance;
        // A copy of the folder made before the answer arrived has the same number, but is another instance.
        if !(is_again && is_same_instance) {
            if !is_again && last != state.incarnation {
                return Reply::Copied;
            }
            if state.lives && !is_same_instance {
                return Reply::Wait;
            }
            state.incarnation = state.incarnation.saturating_add(1);
            (state.request, state.instance, state.lives, state.last_beat) = (request, instance, true, 0);
            // Earlier offers are still valid, and count as used: see `granted`.
            let held: Vec<RunId> =
                state.held.iter().filter(|(_, (_, holds))| *holds).map(|(run, _)| run.clone()).collect();
            held.into_iter().for_each(|run| self.look_at(run));
            self.lasts();
        }
        Reply::Joined { place: self.place(), lost: self.state.lost }
    }

    fn beat(&mut self, incarnation: u64, number: u64, free: u32, read: u64) -> Reply {
        if !self.is_alive(incarnation) {
            return Reply::Lost;
        }
        let state = &mut self.state;
        // A heartbeat that arrives out of order has an old number of free slots.
        if number > state.last_beat {
            state.last_beat = number;
            state.mail.retain(|number, _| *number > read);
            if state.offers.is_empty() {
                // With no open offers, no grant can arrive any more for a run that has left.
                state.held.retain(|_, (_, holds)| *holds);
            }
            let used = state.offers.len().saturating_add(state.mail.len());
            let free = usize::try_from(free).unwrap_or(usize::MAX).saturating_sub(used);
            let first = state.last_offer.saturating_add(1);
            let more = u64::try_from(free).unwrap_or(0);
            state.last_offer = state.last_offer.saturating_add(more);
            state.offers.extend(first..first.saturating_add(more));
            let floor = state.offers.first().copied().unwrap_or(first);
            for offer in first..first.saturating_add(more) {
                let place = self.place();
                self.send(Message::Dispatcher(ToDispatcher::Offer { place, offer, floor }));
            }
            self.lasts();
        }
        Reply::Lives { mail: self.state.mail.iter().map(|(number, run)| (*number, run.clone())).collect() }
    }

    /// The lease starts again now.
    fn lasts(&mut self) {
        self.state.beats = self.state.beats.saturating_add(1);
        let check = ToWorkerSlot::Check { incarnation: self.state.incarnation, beats: self.state.beats };
        let message = Message::WorkerSlot(self.worker.clone(), check);
        self.sent.push(Sent { message, after_ms: self.lease_ms });
    }

    fn check(&mut self, incarnation: u64, beats: u64) {
        if !self.is_alive(incarnation) || beats != self.state.beats {
            return;
        }
        let state = &mut self.state;
        state.lives = false;
        state.lost = incarnation;
        state.offers.clear();
        state.mail.clear();
        let held = core::mem::take(&mut state.held);
        // First, so that fewer of these runs get one of these slots again.
        self.withdraw(incarnation);
        for (run, _) in held.into_iter().filter(|(_, (_, holds))| *holds) {
            self.lost(run);
        }
    }

    fn granted(&mut self, run: RunId, seq: Seq, place: &Place, offer: u64) {
        if place.incarnation <= self.state.lost {
            return self.lost(run);
        }
        self.holds(run.clone(), seq, true);
        // An offer of an earlier incarnation counts too: nothing else would make the worker look at the run.
        if self.state.offers.remove(&offer) {
            self.look_at(run);
        }
    }

    fn holds(&mut self, run: RunId, seq: Seq, holds: bool) {
        let known = self.state.held.get(&run).is_some_and(|(known, _)| *known > seq);
        if !known {
            self.state.held.insert(run, (seq, holds));
        }
    }

    fn look_at(&mut self, run: RunId) {
        self.state.last_mail = self.state.last_mail.saturating_add(1);
        self.state.mail.insert(self.state.last_mail, run);
    }

    fn lost(&mut self, run: RunId) {
        let lost = ToRun::Lost { worker: self.worker.clone(), incarnation: self.state.lost };
        self.send(Message::Run(run, lost));
    }

    fn withdraw(&mut self, incarnation: u64) {
        let worker = self.worker.clone();
        self.send(Message::Dispatcher(ToDispatcher::Withdraw { worker, incarnation }));
    }

    fn is_alive(&self, incarnation: u64) -> bool {
        self.state.lives && incarnation == self.state.incarnation
    }

    fn send(&mut self, message: Message) {
        self.sent.push(Sent::now(message));
    }
}
