//! Input and output of the writer: commits with their attachments, and the epoch of the engine that commits.

use crate::model::{delivery::Delivery, error::CommitError};
use envoi_contract::digest::Digest;
use envoi_kernel::{
    event::Record,
    ids::{RunId, Seq},
};
use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

/// The number of a lease holder. Each new holder gets a larger number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Events of one run that become durable together, and the rows that belong to them.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The run.
    pub run: RunId,
    /// Sequence number of the first record. It must be the run's next one; otherwise the commit fails with
    /// [`CommitError::Conflict`].
    pub expected: Seq,
    /// The events: at least one, in order, without gaps.
    pub records: Vec<Record>,
    /// The flow that the run is pinned to. It comes with the first commit, and always with its text. A flow
    /// in a later commit corrects the run's flow; the earlier flows are kept.
    pub pinned: Option<PinnedFlow>,
    /// Contents of at most [`crate::INLINE_MAX_BYTES`] each, stored in the same transaction. Larger content
    /// must be stored before the commit.
    pub blobs: Vec<(Digest, Vec<u8>)>,
    /// The notices that these records cause, one per target.
    pub deliveries: Vec<Delivery>,
    /// The state after a record that is already durable, or after the last record of this commit. Replaces
    /// the run's earlier snapshot.
    pub snapshot: Option<Snapshot>,
}

/// The text of a flow at the time when a run began, or when its flow was corrected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedFlow {
    /// SHA-256 of the flow's canonical JSON.
    pub digest: Digest,
    /// Version of the flow language.
    pub language: u32,
    /// The name of the text in diagnostics, such as its file's name.
    pub name: String,
    /// The complete text.
    pub text: String,
    /// The texts of the flows that it refers to, directly or indirectly, by path.
    pub parts: BTreeMap<String, String>,
    /// The flows that it corrects, if the run has been corrected. Replay needs all of them.
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

/// The cost of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// Size of its events as stored, in bytes. The caller adds them up to decide when a snapshot is due.
    pub events_bytes: u64,
}

/// How a writer waits while another process keeps the database locked. It tries until `waits` returns
/// `false`.
#[derive(Clone)]
pub struct Patience {
    /// Duration of one try.
    pub each: Duration,
    /// Called after each failed try with the number of failed tries so far; returns whether to try again.
    /// Runs on the writer's thread.
    pub waits: Arc<dyn Fn(u32) -> bool + Send + Sync>,
}

/// Called once, after COMMIT has returned. Runs on the writer's thread: it must be quick and must not panic.
pub type Done = Box<dyn FnOnce(Result<Receipt, CommitError>) + Send>;
