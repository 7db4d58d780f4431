//! The messages between objects and workers.
//!
//! A platform delivers each [`Sent`] message at least once, not before its time, and in any order. Calls of workers and people
//! ([`ToRun`], [`ToWorkerSlot`]) may be lost on their way or on the way back, and are then made again. How they are written stands in
//! [`crate::wire`]: a member here is a member there, and a change of one needs another version.

use crate::place::{Place, WorkerId};
use envoi_contract::json::Value;
use envoi_kernel::{
    Input, Record,
    event::AttemptStarted,
    ids::{AttemptId, RunId, Seq},
    input::AttemptResult,
    throttle::Standings,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A message, and when it may be delivered.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    /// To whom, and what.
    pub message: Message,
    /// Not before so many milliseconds have passed.
    pub after_ms: u64,
}

impl Sent {
    /// To be delivered at once.
    pub(crate) const fn now(message: Message) -> Self {
        Self { message, after_ms: 0 }
    }
}

/// A message and the object that receives it.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// To a run.
    Run(RunId, ToRun),
    /// To the dispatcher.
    Dispatcher(ToDispatcher),
    /// To a worker's object.
    WorkerSlot(WorkerId, ToWorkerSlot),
    /// To everybody who shows runs.
    Commit(Commit),
}

/// What was decided together. A reader gets commits in any order and more than once, and puts them in order by `seq`.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    /// Of which run.
    pub run: RunId,
    /// One event at least.
    pub records: Vec<Record>,
}

/// A message to a run.
#[derive(Debug, Clone, PartialEq)]
pub enum ToRun {
    /// By a person, a client or a timer. Settled attempts and doubts come as [`ToRun::Settled`] and [`ToRun::InDoubt`].
    Input(Box<Input>),
    /// A slot is free for one attempt.
    SlotFree(Box<FreeSlot>),
    /// An attempt is over.
    Settled {
        /// Who says so.
        caller: Caller,
        /// How it ended.
        result: Box<AttemptResult>,
    },
    /// An attempt was started there, does not run, and has left no end.
    InDoubt {
        /// Who says so.
        caller: Caller,
        /// Which.
        attempt: AttemptId,
        /// What is known of it.
        evidence: Value,
    },
    /// A worker asks what it is to run.
    Look {
        /// Which.
        caller: Caller,
    },
    /// A worker was not heard of for the time of its lease.
    Lost {
        /// Which.
        worker: WorkerId,
        /// This life of it and all before are lost.
        incarnation: u64,
    },
}

/// A worker that calls a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caller {
    /// Which, in its present life.
    pub place: Place,
    /// Its last life that counts as lost, as it was told when it joined; 0 if none does. The run may not have heard of it yet.
    pub lost: u64,
}

/// A slot of a worker, for one attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSlot {
    /// Where.
    pub place: Place,
    /// The number of the offer, of this worker. It is used once.
    pub offer: u64,
    /// All offers of the worker below this number are used up.
    pub floor: u64,
    /// How the accounts stand that have refused an attempt.
    pub accounts: Arc<Standings>,
}

/// The answer to a call of a worker: what is to be true on it now of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// To be running: each one that was never started is started, each one that is over is reported.
    pub run: Vec<Arc<AttemptStarted>>,
    /// To be ended and reported; one that was never started is not started any more.
    pub end: Vec<AttemptId>,
}

/// A message to the dispatcher.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ToDispatcher {
    /// An attempt of this run could start.
    Ready {
        /// Which.
        run: RunId,
        /// Whose it is: slots go to tenants in turn.
        tenant: String,
    },
    /// A worker has a free slot. It goes to a run when one waits.
    Offer {
        /// Where.
        place: Place,
        /// Its number, of this worker, from 1.
        offer: u64,
        /// All its offers below this number are used up.
        floor: u64,
    },
    /// Offers of this worker do not hold any more.
    Withdraw {
        /// Which.
        worker: WorkerId,
        /// Of this life of it and of all before.
        incarnation: u64,
    },
}

/// A message to a worker's object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ToWorkerSlot {
    /// The worker begins, or begins anew.
    Join {
        /// Its last incarnation, as its disk has it; 0 if it never was one. Another disk that is a copy of it has an older one.
        last: u64,
        /// A new number, the same one when the call is made again.
        request: u64,
        /// The running instance of its machine, as in [`Place::instance`].
        instance: String,
    },
    /// The worker lives. A call that makes its lease last longer.
    Beat {
        /// In this life.
        incarnation: u64,
        /// Counts the beats of this life, from 1.
        number: u64,
        /// Attempts that it could start beside those that it runs.
        free: u32,
        /// Up to here it has done what its mail says.
        read: u64,
    },
    /// Whether there was a beat since.
    Check {
        /// In this life.
        incarnation: u64,
        /// The count of beats when it was sent.
        beats: u64,
    },
    /// A run has used an offer: it is to be looked at.
    Granted {
        /// Which run.
        run: RunId,
        /// The event that used it.
        seq: Seq,
        /// Where.
        place: Place,
        /// Which offer.
        offer: u64,
    },
    /// A run had no use for an offer.
    Unused {
        /// Which offer.
        offer: u64,
    },
    /// A run has nothing on the worker any more.
    Left {
        /// Which run.
        run: RunId,
        /// The event after which it has not.
        seq: Seq,
    },
    /// Something is to be ended, or else is not as it was: the run is to be looked at.
    Changed {
        /// Which run.
        run: RunId,
    },
}
