//! The messages between objects and workers.
//!
//! A platform delivers each [`Sent`] message at least once, not before its time, and in any order. A call of
//! a worker or a person ([`ToRun`], [`ToWorkerSlot`]) or its answer may be lost, and the call is then
//! repeated. [`crate::wire`] is the text form: it has the members of these types, so a change of one needs
//! another version.

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
    /// The message and its recipient.
    pub message: Message,
    /// Delay before the delivery, in milliseconds.
    pub after_ms: u64,
}

impl Sent {
    /// A message to deliver at once.
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
    /// To all replicas, which show runs.
    Commit(Commit),
}

/// The events that were decided together. A reader gets commits in any order and more than once, and orders
/// the events by `seq`.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    /// The run.
    pub run: RunId,
    /// The events, at least one.
    pub records: Vec<Record>,
}

/// A message to a run.
#[derive(Debug, Clone, PartialEq)]
pub enum ToRun {
    /// An input of a person, a client or a timer. Settled attempts and doubts come as [`ToRun::Settled`] and
    /// [`ToRun::InDoubt`].
    Input(Box<Input>),
    /// A slot is free for one attempt.
    SlotFree(Box<FreeSlot>),
    /// An attempt has ended.
    Settled {
        /// The worker that reports it.
        caller: Caller,
        /// How it ended.
        result: Box<AttemptResult>,
    },
    /// An attempt was started, does not run any more, and has left no result.
    InDoubt {
        /// The worker that reports it.
        caller: Caller,
        /// The attempt.
        attempt: AttemptId,
        /// The known facts about it.
        evidence: Value,
    },
    /// A worker asks what it has to run.
    Look {
        /// The worker.
        caller: Caller,
    },
    /// A worker sent no heartbeat for the time of its lease.
    Lost {
        /// The worker.
        worker: WorkerId,
        /// This incarnation and all earlier ones are lost.
        incarnation: u64,
    },
}

/// A worker that calls a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caller {
    /// The worker, in its current incarnation.
    pub place: Place,
    /// The worker's last lost incarnation, from the answer to its join; 0 if there is none. The run may not
    /// have got the message about it yet.
    pub lost: u64,
}

/// A slot of a worker, for one attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSlot {
    /// The worker.
    pub place: Place,
    /// The number of the worker's offer. Each is used once.
    pub offer: u64,
    /// All offers of the worker below this number are used up.
    pub floor: u64,
    /// The state of the accounts that have refused an attempt.
    pub accounts: Arc<Standings>,
}

/// The answer to a worker's call: the state of one run that is wanted on the worker now.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Attempts to run. The worker starts those that it has never started, and reports those that have ended.
    pub run: Vec<Arc<AttemptStarted>>,
    /// Attempts to end and report. An attempt that was never started must not be started any more.
    pub end: Vec<AttemptId>,
}

/// A message to the dispatcher.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ToDispatcher {
    /// An attempt of this run could start.
    Ready {
        /// The run.
        run: RunId,
        /// The tenant of the run: tenants get slots in turn.
        tenant: String,
    },
    /// A worker has a free slot, which goes to a waiting run.
    Offer {
        /// The worker.
        place: Place,
        /// The number of the worker's offer, from 1.
        offer: u64,
        /// All offers of the worker below this number are used up.
        floor: u64,
    },
    /// Offers of this worker are no longer valid.
    Withdraw {
        /// The worker.
        worker: WorkerId,
        /// Concerns the offers of this incarnation and all earlier ones.
        incarnation: u64,
    },
}

/// A message to a worker's object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ToWorkerSlot {
    /// The worker starts, or joins again.
    Join {
        /// Its last incarnation, according to its disk; 0 if there was none. A copy of the disk has an older
        /// one.
        last: u64,
        /// A new number, which is the same when the call is repeated.
        request: u64,
        /// The instance of its machine, as in [`Place::instance`].
        instance: String,
    },
    /// A heartbeat, which extends the lease.
    Beat {
        /// In this incarnation.
        incarnation: u64,
        /// Number of the heartbeat in this incarnation, from 1.
        number: u64,
        /// How many more attempts the worker could start.
        free: u32,
        /// The worker has handled its mail up to this number.
        read: u64,
    },
    /// Checks whether there was a heartbeat since.
    Check {
        /// In this incarnation.
        incarnation: u64,
        /// The count of heartbeats when the check was sent.
        beats: u64,
    },
    /// A run has used an offer: the worker has to look at the run.
    Granted {
        /// The run.
        run: RunId,
        /// The event that used the offer.
        seq: Seq,
        /// The worker.
        place: Place,
        /// The number of the offer.
        offer: u64,
    },
    /// A run did not need an offer.
    Unused {
        /// The number of the offer.
        offer: u64,
    },
    /// A run has no attempt on the worker any more.
    Left {
        /// The run.
        run: RunId,
        /// The event since which it has none.
        seq: Seq,
    },
    /// An attempt has to be ended, or something else has changed: the worker has to look at the run.
    Changed {
        /// The run.
        run: RunId,
    },
}
