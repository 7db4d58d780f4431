//! What is deleted of a store, and what is left of it.

use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_kernel::ids::{RunId, Seq};

/// Runs that are deleted together, or none of them.
#[derive(Debug, Clone)]
pub struct Removal {
    /// Which, each with the place of its next event: one that has gone on since stays.
    pub runs: Vec<(RunId, Seq)>,
    /// When.
    pub at: Timestamp,
    /// By which rule, in a sentence.
    pub why: String,
    /// The folder with their bundles, if they were archived.
    pub archive: Option<String>,
}

/// What is left of a run that was deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// The run.
    pub run: RunId,
    /// On whose behalf it was started.
    pub tenant: String,
    /// The flow's id.
    pub flow: String,
    /// The head of the chain over its events.
    pub head: Digest,
    /// Number of its events.
    pub events: u64,
    /// When it was deleted.
    pub deleted_at: Timestamp,
    /// By which rule.
    pub why: String,
    /// The folder with its bundle, if it was archived.
    pub archive: Option<String>,
}

/// What is done with small contents.
#[derive(Debug, Clone, Default)]
pub struct SmallContents {
    /// Laid aside: nothing names them.
    pub aside: Vec<Digest>,
    /// Brought back: something names them.
    pub back: Vec<Digest>,
    /// Removed, of those that were laid aside.
    pub gone: Vec<Digest>,
    /// When.
    pub at: Option<Timestamp>,
}

/// What waits for a run that is over, as far as the store knows: such a run is not deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Notices that are to be delivered.
    pub notices: u64,
    /// A client of A2A may still request it, or has a notification of it to come.
    pub is_task: bool,
    /// Its result was dropped: it is not needed.
    pub is_dropped: bool,
    /// It has the newest event of the store, whose number would be given again.
    pub is_newest: bool,
    /// Bytes of its events.
    pub event_bytes: u64,
}
