//! Files that restored files have displaced, and later writes to them.

use serde::{Deserialize, Serialize};

/// The files that a restored result has displaced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Displaced {
    /// The digest of the snapshot of the displaced files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stood: Option<String>,
    /// Contents that a process wrote to files after they had been displaced, also by an earlier restore. They
    /// are in the store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<LateFile>,
}

impl Displaced {
    /// Whether no file was displaced.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.stood.is_none() && self.late.is_empty()
    }
}

/// Content that was written to a displaced file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateFile {
    /// Path in the workspace, masked.
    pub path: String,
    /// Digest of the content, if the store has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Size in bytes.
    pub size: u64,
}
