//! The objects of a world with their states, and the effect of each message on them.
//!
//! In some worlds each message and each answer goes through its text form. Each handler is called twice with
//! the same state, as by an interrupted platform, and both calls must have the same result.

use envoi_cluster::{
    Message, Sent, Wanted, WorkerId, dispatcher,
    message::{Commit, ToRun, ToWorkerSlot},
    run,
    wire::Answer,
    worker_slot,
};
use envoi_contract::time::Timestamp;
use envoi_kernel::{flow::Versions, ids::RunId};
use std::collections::BTreeMap;

use crate::{
    faults::LEASE_MS,
    wire::{check_answers, check_travels},
};

/// 2026-11-21T00:00:00Z.
pub(crate) const BEGINNING_MS: i64 = 1_795_219_200_000;

pub(crate) fn time(now: u64) -> Timestamp {
    Timestamp::from_millis(BEGINNING_MS + i64::try_from(now).unwrap())
}

#[derive(Default)]
pub(crate) struct Objects {
    /// Whether messages and answers go through their text form, which is slow.
    are_written: bool,
    pub(crate) runs: BTreeMap<RunId, (run::State, Option<Versions>)>,
    dispatcher: dispatcher::State,
    workers: BTreeMap<WorkerId, worker_slot::State>,
}

impl Objects {
    pub(crate) fn new(are_written: bool) -> Self {
        Self { are_written, ..Self::default() }
    }

    fn travels(&self, message: &Message, now: u64) {
        if self.are_written {
            check_travels(message, now);
        }
    }

    fn answers(&self, answer: &Answer) {
        if self.are_written {
            check_answers(answer);
        }
    }

    /// The sent messages, and a commit if there is one.
    pub(crate) fn take(&mut self, message: Message, now: u64) -> (Vec<Sent>, Option<Commit>) {
        match message {
            Message::Run(id, message) => (self.run(&id, message, now).0, None),
            Message::WorkerSlot(id, message) => (self.worker(&id, message, now).0, None),
            Message::Dispatcher(message) => {
                self.travels(&Message::Dispatcher(message.clone()), now);
                let state = self.dispatcher.clone();
                let once = dispatcher::handle(state.clone(), message.clone());
                assert_eq!(once, dispatcher::handle(state, message));
                self.dispatcher = once.0;
                (once.1, None)
            }
            Message::Commit(commit) => {
                self.travels(&Message::Commit(commit.clone()), now);
                (Vec::new(), Some(commit))
            }
        }
    }

    pub(crate) fn run(&mut self, id: &RunId, message: ToRun, now: u64) -> (Vec<Sent>, Wanted) {
        self.travels(&Message::Run(id.clone(), message.clone()), now);
        let (state, flow) = self.runs.get_mut(id).unwrap();
        let flow = flow.as_ref().unwrap();
        let handle = |message| run::handle(id, state.clone(), flow, message, time(now)).unwrap();
        let once = handle(message.clone());
        assert_eq!(once, handle(message), "{id}: a message that is handled again leads to something else");
        *state = once.state;
        self.answers(&Answer::Run { said: once.reply.into(), wanted: once.wanted.clone() });
        (once.sent, once.wanted)
    }

    pub(crate) fn worker(
        &mut self,
        id: &WorkerId,
        message: ToWorkerSlot,
        now: u64,
    ) -> (Vec<Sent>, worker_slot::Reply) {
        self.travels(&Message::WorkerSlot(id.clone(), message.clone()), now);
        let state = self.workers.get(id).cloned().unwrap_or_default();
        let once = worker_slot::handle(id, state.clone(), message.clone(), LEASE_MS);
        assert_eq!(once, worker_slot::handle(id, state, message, LEASE_MS));
        self.answers(&Answer::WorkerSlot(once.2.clone()));
        self.workers.insert(id.clone(), once.0);
        (once.1, once.2)
    }
}
