//! The output of `export`, `verify` and `import` for a bundle.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The row of `export`: the file that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exported {
    /// The file, as it was named.
    pub file: String,
    /// Its size.
    pub size_bytes: u64,
    /// The run.
    pub run: String,
    /// How the run stood after the last event.
    pub status: String,
    /// Number of events.
    pub events: u64,
    /// Number of contents.
    pub contents: u64,
    /// Number of contents that the run names and that are not in the bundle, but for those that were not wanted.
    pub left_out: u64,
    /// The head of the chain over the events: `sha256:` and 64 digits.
    pub head: String,
}

/// The row of `import`, of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedRun {
    /// The file, as it was named.
    pub file: String,
    /// The run.
    pub run: String,
    /// The id of its flow.
    pub flow: String,
    /// How it ended.
    pub status: String,
    /// Number of events.
    pub events: u64,
    /// The head of the chain over the events.
    pub head: String,
    /// Whether it came now. The store may have had it.
    pub is_new: bool,
    /// Who has signed it, of those whom the caller has named; null if the caller has named none.
    pub signer: Option<String>,
}

/// The row of `verify`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verified {
    /// The file, as it was named.
    pub file: String,
    /// Whether it is whole.
    pub ok: bool,
    /// Where it differs; null if it is whole.
    pub place: Option<String>,
    /// How it differs, as a sentence; null if it is whole.
    pub reason: Option<String>,
    /// The run; null if the file is not whole, as for all that follows.
    pub run: Option<String>,
    /// The id of its flow.
    pub flow: Option<String>,
    /// How the run stood after the last event.
    pub status: Option<String>,
    /// Number of events.
    pub events: Option<u64>,
    /// The head of the chain over the events.
    pub head: Option<String>,
    /// Whether it has a signature.
    pub is_signed: Option<bool>,
    /// Who has signed it, of those whom the caller has named; null if the caller has named none.
    pub signer: Option<String>,
}
