//! What had to make room for files that came, and what was written to it afterwards.

use serde::{Deserialize, Serialize};

/// What files of a result have displaced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Displaced {
    /// The digest of the snapshot of what stood in their places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stood: Option<String>,
    /// What was written to files after they had been put aside, also by an earlier restore. It is in the store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<LateFile>,
}

impl Displaced {
    /// Whether nothing was.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.stood.is_none() && self.late.is_empty()
    }
}

/// A content that was written to a displaced file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateFile {
    /// Where it stood in the workspace, masked.
    pub path: String,
    /// Its digest, if the store has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// In bytes.
    pub size: u64,
}
