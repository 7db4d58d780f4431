//! How much a snapshot may hold.

use serde::{Deserialize, Serialize};

/// Bounds of a snapshot. Past `max_files` or `max_new_bytes` none is taken; a file past `max_file_bytes` is listed and not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// The largest file that is kept.
    pub max_file_bytes: u64,
    /// The most bytes of contents that the store does not have yet.
    pub max_new_bytes: u64,
    /// The most files.
    pub max_files: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { max_file_bytes: 64 << 20, max_new_bytes: 1 << 30, max_files: 200_000 }
    }
}
