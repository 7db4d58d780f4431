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
    /// The event; one of the commit's own.
    pub seq: Seq,
    /// The kind of notice.
    pub kind: Moment,
    /// The same for every try.
    pub id: String,
    /// Whom, as text that only its writer understands. Holds no secret.
    pub target: String,
}

/// The number of a delivery in its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeliveryKey(pub(crate) i64);

/// A delivery and how far it has come.
#[derive(Debug, Clone, PartialEq)]
pub struct DeliveryRow {
    /// Its number.
    pub key: DeliveryKey,
    /// The run.
    pub run: RunId,
    /// Its tenant.
    pub tenant: String,
    /// What was written with the event.
    pub delivery: Delivery,
    /// Tries so far.
    pub tries: u32,
    /// When the next one is due.
    pub next_try_at: Timestamp,
    /// When it was taken, if it was.
    pub delivered_at: Option<Timestamp>,
    /// When it was given up, if it was.
    pub gave_up_at: Option<Timestamp>,
    /// Why the last try failed; none while no try has.
    pub last_error: Option<String>,
}

impl DeliveryRow {
    /// Whether it is neither delivered nor given up.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.delivered_at.is_none() && self.gave_up_at.is_none()
    }
}

/// How many deliveries of a store have not come through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Undelivered {
    /// Those that are still tried.
    pub open: u64,
    /// Those of them that have failed at least once.
    pub failing: u64,
    /// Those that were given up.
    pub given_up: u64,
}

/// The outcome of a try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Of which delivery. One that is delivered or given up stays as it is.
    pub key: DeliveryKey,
    /// Tries so far, this one included.
    pub tries: u32,
    /// What has become of it.
    pub fate: Fate,
}

/// See [`Mark`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// Its try begins: a process is about to be started that may end the engine. Until the try is marked again, its end is not known.
    Begun {
        /// When it is tried again if no end is marked.
        at: Timestamp,
    },
    /// It was taken.
    Delivered {
        /// When.
        at: Timestamp,
    },
    /// It is tried again.
    Again {
        /// Not before this.
        at: Timestamp,
        /// Why it was not taken.
        error: String,
    },
    /// It is not tried any more.
    GivenUp {
        /// When.
        at: Timestamp,
        /// Why it was not taken.
        error: String,
    },
}
