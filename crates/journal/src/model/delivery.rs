//! The outbox as values: a notice for one target, and the outcome of sending it.
//!
//! The rows are in `tables::deliveries`.

use envoi_contract::time::Timestamp;
use envoi_kernel::{
    ids::{RunId, Seq},
    notify::Moment,
};

/// A notice of one event for one target. Belongs to the [`crate::Commit`] of that event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The event. It is one of the events of the commit.
    pub seq: Seq,
    /// The kind of notice.
    pub kind: Moment,
    /// The id of the notice; the same for every try.
    pub id: String,
    /// The target, as text that only its writer interprets. Contains no secret.
    pub target: String,
}

/// The number of a delivery in its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeliveryKey(pub(crate) i64);

/// A delivery and its progress.
#[derive(Debug, Clone, PartialEq)]
pub struct DeliveryRow {
    /// Its number.
    pub key: DeliveryKey,
    /// The run.
    pub run: RunId,
    /// Its tenant.
    pub tenant: String,
    /// The notice as it was written with the event.
    pub delivery: Delivery,
    /// Tries so far.
    pub tries: u32,
    /// When the next try is due.
    pub next_try_at: Timestamp,
    /// When the target accepted it, if it did.
    pub delivered_at: Option<Timestamp>,
    /// When sending was abandoned, if it was.
    pub gave_up_at: Option<Timestamp>,
    /// Why the last try failed; `None` if no try has failed.
    pub last_error: Option<String>,
}

impl DeliveryRow {
    /// Whether it is neither delivered nor abandoned.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.delivered_at.is_none() && self.gave_up_at.is_none()
    }
}

/// Numbers of deliveries of a store that were not delivered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Undelivered {
    /// Deliveries that are still tried.
    pub open: u64,
    /// Open deliveries that have failed at least once.
    pub failing: u64,
    /// Deliveries that were abandoned.
    pub given_up: u64,
}

/// The outcome of a try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The delivery. A delivery that is already delivered or abandoned does not change.
    pub key: DeliveryKey,
    /// Tries so far, this one included.
    pub tries: u32,
    /// The outcome.
    pub fate: Fate,
}

/// See [`Mark`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// A try begins: a process is about to be started that may end the engine. The outcome is unknown until
    /// the try is marked again.
    Begun {
        /// When the next try is due if no outcome is marked.
        at: Timestamp,
    },
    /// The target accepted it.
    Delivered {
        /// The time.
        at: Timestamp,
    },
    /// The try failed, and another one will follow.
    Again {
        /// The earliest time of the next try.
        at: Timestamp,
        /// Why the target did not accept it.
        error: String,
    },
    /// The try failed, and no other will follow.
    GivenUp {
        /// The time.
        at: Timestamp,
        /// Why the target did not accept it.
        error: String,
    },
}
