//! The contents that `gc` removes from a store.

use crate::run::file::OldTree;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `gc` prints: what is removed now; with `--dry-run`, what would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Collection {
    /// The trees of runs that had one of their own, those that stay too.
    pub trees: Vec<OldTree>,
    /// Runs of which something goes, and those that a rule names and that stay.
    pub runs: Vec<OldRun>,
    /// Contents that nothing names.
    pub contents: OldContents,
    /// What is left of folders of runs that are deleted, each with the system's reason. The next `gc` tries again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
    /// The database, if it was compacted.
    pub compacted: Option<Compacted>,
}

/// A run of which something goes, or that a rule names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OldRun {
    /// The run.
    pub run: String,
    /// The id of its flow.
    pub flow: String,
    /// On whose behalf it was started.
    pub tenant: String,
    /// What is done with it.
    pub stage: GcStage,
    /// The reason, as a sentence: the rule.
    pub reason: String,
    /// Why it stays all the same, as a sentence; null if it goes.
    pub stays: Option<String>,
    /// Files that go.
    pub files: u64,
    /// Their size; of a run that is deleted, with that of its events.
    pub size_bytes: u64,
    /// The folder with its bundle; null if it was not archived.
    pub archive: Option<String>,
}

/// What is done with a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GcStage {
    /// Copies of artifacts that its attempts have left go. The store has them by digest.
    Trim,
    /// All of it goes.
    Delete,
}

/// Contents that nothing names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OldContents {
    /// Laid aside. A later `gc` removes them, if still nothing names them.
    pub aside: ContentCount,
    /// Brought back: something names them again.
    pub back: ContentCount,
    /// Removed, of those that were laid aside.
    pub removed: ContentCount,
}

/// Contents, and their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContentCount {
    /// How many; a pack of many small ones counts as one.
    pub count: u64,
    /// Their size.
    pub size_bytes: u64,
}

/// The database before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compacted {
    /// The size of its file before.
    pub before_bytes: u64,
    /// The size of its file after.
    pub after_bytes: u64,
}
