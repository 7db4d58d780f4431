//! Deletion of runs and contents from a store, and the tombstones that remain.

use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_kernel::ids::{RunId, Seq};

/// Runs to delete in one transaction: all of them or none.
#[derive(Debug, Clone)]
pub struct Removal {
    /// The runs, each with its next sequence number. A run that has newer events is not deleted.
    pub runs: Vec<(RunId, Seq)>,
    /// The time.
    pub at: Timestamp,
    /// The rule that selected them, in one sentence.
    pub why: String,
    /// The folder with their bundles, if they were archived.
    pub archive: Option<String>,
}

/// The record that remains of a deleted run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// The run.
    pub run: RunId,
    /// On whose behalf it was started.
    pub tenant: String,
    /// The flow's id.
    pub flow: String,
    /// The head of the hash chain over its events.
    pub head: Digest,
    /// Number of its events.
    pub events: u64,
    /// When it was deleted.
    pub deleted_at: Timestamp,
    /// The rule that selected it.
    pub why: String,
    /// The folder with its bundle, if it was archived.
    pub archive: Option<String>,
}

/// Changes to contents that are stored in the database, made by one collection.
#[derive(Debug, Clone, Default)]
pub struct SmallContents {
    /// Contents set aside because nothing refers to them.
    pub aside: Vec<Digest>,
    /// Contents restored because something refers to them.
    pub back: Vec<Digest>,
    /// Contents deleted, out of those that were set aside.
    pub gone: Vec<Digest>,
    /// The time.
    pub at: Option<Timestamp>,
}

/// Reasons known to the store for keeping an ended run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Number of notices that are still to be delivered.
    pub notices: u64,
    /// A client of A2A may still request the run, or a push notification about it is pending.
    pub is_task: bool,
    /// Its result was dropped, so it is not needed.
    pub is_dropped: bool,
    /// It has the newest event of the store. Deleting it would let a later event get the same number.
    pub is_newest: bool,
    /// Size of its events in bytes.
    pub event_bytes: u64,
}
