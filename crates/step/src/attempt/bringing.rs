//! `cached.json`: no command is started; a result of the cache is being brought.
//!
//! A supervisor that is killed while this stands there, and no claim of a start, has started nothing.

use std::collections::BTreeMap;

use crate::attempt::displaced::Displaced;
use serde::{Deserialize, Serialize};

/// No such record is larger. It lists artifacts.
pub(crate) const MOST_BYTES: u64 = crate::attempt::record::LARGEST_RECORD_BYTES;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bringing {
    /// The attempt.
    pub(crate) attempt: String,
    /// Which announcement of it.
    pub(crate) start: String,
    /// The artifacts as they stood before the first file came: paths, each with the digest of the content.
    #[serde(default)]
    pub(crate) artifacts: BTreeMap<String, Option<String>>,
    /// Their modes.
    #[serde(default)]
    pub(crate) modes: BTreeMap<String, u32>,
    /// What its files have displaced. The snapshot is that of the first supervisor that brought some.
    #[serde(flatten)]
    pub(crate) displaced: Displaced,
}
