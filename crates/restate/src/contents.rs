//! What an endpoint needs of others: contents by digest, flows, and those who show runs.

use envoi_cluster::message::Commit;
use envoi_contract::digest::Digest;
use envoi_kernel::Flow;
use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc};

/// Why a store, or somebody who shows runs, cannot be reached now. It is tried again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unavailable: {reason}")]
pub struct Unavailable {
    /// In words.
    pub reason: String,
}

/// Which flow: the digest of its text, and the version of the language in which it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowName {
    /// As [`Digest`] writes it.
    pub digest: String,
    /// The version.
    pub language: u32,
}

impl FlowName {
    /// The name of a flow.
    #[must_use]
    pub fn of(flow: &Flow) -> Self {
        Self { digest: flow.digest.to_string(), language: flow.language }
    }
}

impl fmt::Display for FlowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in version {} of the language", self.digest, self.language)
    }
}

/// The store of contents that all machines share. What is there stays there, the same for everybody.
pub trait Contents: Send + Sync + 'static {
    /// The bytes of a digest; `None`: nobody has kept them.
    ///
    /// # Errors
    /// [`Unavailable`]: it is not known whether they are there.
    fn content(&self, digest: &Digest) -> Result<Option<Vec<u8>>, Unavailable>;

    /// A flow, read from its text; `None`: nobody has kept it, or it cannot be read.
    ///
    /// # Errors
    /// [`Unavailable`]: it is not known whether it is there.
    fn flow(&self, name: &FlowName) -> Result<Option<Arc<Flow>>, Unavailable>;
}

/// Shows runs, by their commits.
pub trait Replica: Send + Sync + 'static {
    /// Takes a commit, and returns when it is kept. Commits come in any order, and more than once.
    ///
    /// # Errors
    /// [`Unavailable`]: it is not kept, and comes again.
    fn put(&self, commit: Commit) -> Result<(), Unavailable>;
}
