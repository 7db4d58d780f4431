//! A finished run from another store that is imported with all its events at once.

use crate::model::commit::PinnedFlow;
use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_kernel::{event::Record, ids::RunId};

/// A run to import.
#[derive(Debug, Clone)]
pub struct Import {
    /// The run. It has ended.
    pub run: RunId,
    /// Its events, each with its line from the other journal. The line is stored byte for byte.
    pub events: Vec<(Record, String)>,
    /// Its flow, with the earlier flows if it was corrected.
    pub pinned: PinnedFlow,
    /// The head of the hash chain over the events.
    pub head: Digest,
    /// The source of the import.
    pub origin: Imported,
}

/// The source of an imported run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The name of its bundle file, as the importer gave it.
    pub file: String,
    /// The signer of the bundle, if the importer named that signer as trusted.
    pub signer: Option<String>,
    /// When it was imported.
    pub at: Timestamp,
    /// The person who imported it.
    pub by: String,
}
