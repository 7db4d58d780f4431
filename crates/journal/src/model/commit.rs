//! What the writer gets and returns: commits with what belongs to them, and the epoch of the engine that commits.

use crate::model::{delivery::Delivery, error::CommitError};
use envoi_contract::digest::Digest;
use envoi_kernel::{
    event::Record,
    ids::{RunId, Seq},
};
use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

/// The number of a holder of the engine's lease; each new one is larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Events of one run that become durable together, and what belongs to them.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The run.
    pub run: RunId,
    /// Place of the first record; the run's next one, else [`CommitError::Conflict`].
    pub expected: Seq,
    /// What happened, at least one, in order, without gaps.
    pub records: Vec<Record>,
    /// The flow that the run is pinned to: with its first commit, and never without its text. One that comes with a later commit
    /// corrects it; the flows before it are kept.
    pub pinned: Option<PinnedFlow>,
    /// Content up to [`crate::INLINE_MAX_BYTES`] each, stored in the same transaction. Larger content is put first.
    pub blobs: Vec<(Digest, Vec<u8>)>,
    /// The notices that these records cause, one a target.
    pub deliveries: Vec<Delivery>,
    /// The state after a record that is durable, or after the last one of the commit. Replaces the run's earlier one.
    pub snapshot: Option<Snapshot>,
}

/// The text of a flow as it was when a run began, or when its flow was corrected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedFlow {
    /// Of its canonical JSON.
    pub digest: Digest,
    /// Version of the flow language.
    pub language: u32,
    /// What to call the text in a diagnostic, such as its file's name.
    pub name: String,
    /// All of it.
    pub text: String,
    /// The texts of the flows that it names, directly or not, by their paths.
    pub parts: BTreeMap<String, String>,
    /// The flows that it corrects, if the run has been corrected: replay needs all of them.
    pub earlier: Vec<PinnedFlow>,
}

/// The state of a run as bytes that only the kernel understands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The last record that it includes.
    pub seq: Seq,
    /// The state.
    pub state: Vec<u8>,
}

/// What a commit has cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// Bytes of its events as stored. Add them up to know when a snapshot is due.
    pub events_bytes: u64,
}

/// What a writer does while another process keeps the database locked: it tries for ever, and says so.
#[derive(Clone)]
pub struct Patience {
    /// How long one try lasts.
    pub each: Duration,
    /// Called after each try in vain, with their number so far: whether to try again. Runs on the writer's thread.
    pub waits: Arc<dyn Fn(u32) -> bool + Send + Sync>,
}

/// Called once, after COMMIT has returned. Runs on the writer's thread: it must be quick and must not panic.
pub type Done = Box<dyn FnOnce(Result<Receipt, CommitError>) + Send>;
