//! The services that an endpoint needs from outside: contents by digest, flows, and replicas that show runs.

use envoi_cluster::message::Commit;
use envoi_contract::digest::Digest;
use envoi_kernel::Flow;
use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc};

/// Why a store or a replica cannot be reached now. The call is tried again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unavailable: {reason}")]
pub struct Unavailable {
    /// A text for a person.
    pub reason: String,
}

/// Identifies a flow: the digest of its text, and the version of the language in which it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowName {
    /// In the form that [`Digest`] prints.
    pub digest: String,
    /// The version of the language.
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

/// The content store that all machines share. A stored content never changes, and is the same for all.
pub trait Contents: Send + Sync + 'static {
    /// The bytes with this digest. `None`: they were never stored.
    ///
    /// # Errors
    /// [`Unavailable`]: it is not known whether they are stored.
    fn content(&self, digest: &Digest) -> Result<Option<Vec<u8>>, Unavailable>;

    /// A flow, parsed from its text. `None`: it was never stored, or cannot be parsed.
    ///
    /// # Errors
    /// [`Unavailable`]: it is not known whether it is stored.
    fn flow(&self, name: &FlowName) -> Result<Option<Arc<Flow>>, Unavailable>;
}

/// A replica, which shows runs from their commits.
pub trait Replica: Send + Sync + 'static {
    /// Stores a commit, and returns when that is done. Commits arrive in any order, and more than once.
    ///
    /// # Errors
    /// [`Unavailable`]: the commit is not stored, and will be sent again.
    fn put(&self, commit: Commit) -> Result<(), Unavailable>;
}
