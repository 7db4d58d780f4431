//! `cached.json`: a result is being restored from the cache, and no command is started.
//!
//! If the supervisor is killed while this file exists and no start is claimed, no command has been started.

use std::collections::BTreeMap;

use crate::attempt::displaced::Displaced;
use serde::{Deserialize, Serialize};

/// Upper bound of the record's size. It lists artifacts, so it may be as large as the other records.
pub(crate) const MOST_BYTES: u64 = crate::attempt::record::LARGEST_RECORD_BYTES;

/// The content of `cached.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bringing {
    /// The attempt.
    pub(crate) attempt: String,
    /// Id of the announcement ([`crate::Start`]) of the attempt.
    pub(crate) start: String,
    /// The artifacts before the first file was restored: path to digest of the content.
    #[serde(default)]
    pub(crate) artifacts: BTreeMap<String, Option<String>>,
    /// The modes of the artifacts, by path.
    #[serde(default)]
    pub(crate) modes: BTreeMap<String, u32>,
    /// The files that the restored ones have displaced. The snapshot is that of the first supervisor that
    /// restored a file.
    #[serde(flatten)]
    pub(crate) displaced: Displaced,
}
