//! A run that was lived elsewhere and comes with all its events at once.

use crate::model::commit::PinnedFlow;
use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_kernel::{event::Record, ids::RunId};

/// See the module.
#[derive(Debug, Clone)]
pub struct Import {
    /// The run, which is over.
    pub run: RunId,
    /// Its events, each with its line as another journal has it: it stands there in the same bytes.
    pub events: Vec<(Record, String)>,
    /// Its flow, with those before its corrections.
    pub pinned: PinnedFlow,
    /// The head of the chain over the events.
    pub head: Digest,
    /// How it came.
    pub origin: Imported,
}

/// How a run came that was lived elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The file of its bundle, as it was named.
    pub file: String,
    /// Who has signed the bundle, of those whom the importer has named.
    pub signer: Option<String>,
    /// When.
    pub at: Timestamp,
    /// Who brought it.
    pub by: String,
}
