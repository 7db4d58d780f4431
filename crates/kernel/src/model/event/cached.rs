//! The outcome of the step cache for an attempt.

use super::files::LateFile;
use crate::model::ids::{AttemptId, RunId};
use envoi_contract::digest::Digest;
use serde::{Deserialize, Serialize};

/// Part of an [`Event::AttemptSettled`](super::Event::AttemptSettled) whose step has a cache.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheUse {
    /// The key, in hexadecimal. Empty if none could be computed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// The attempt that produced this result. The command was not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<CachedFrom>,
    /// The list of the result in the store, in the form of a snapshot. It is kept as long as the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Digest>,
    /// The key of the state that the command left. The result is valid for that state too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
    /// Why no result was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<String>,
    /// Why the result is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_kept: Option<String>,
    /// The snapshot of files that were at the paths of restored files, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stood: Option<Digest>,
    /// Content that was written to displaced files meanwhile, including those of earlier restores. It is in
    /// the store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<LateFile>,
}

/// The attempt that produced a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedFrom {
    /// Its run, which may have been deleted.
    pub run: RunId,
    /// The attempt.
    pub attempt: AttemptId,
}
