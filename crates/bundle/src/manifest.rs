//! The manifest: the description of a bundle within the bundle.

use envoi_contract::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the format for a run with snapshots.
pub const FORMAT: u32 = 2;

/// Version of the format for any other run: the same as before bundles had snapshots. An old bundle of a run
/// with snapshots does not contain them.
pub(crate) const WITHOUT_SNAPSHOTS: u32 = 1;

pub(crate) const README: &str = "README.txt";
pub(crate) const MANIFEST: &str = "MANIFEST.json";
pub(crate) const FLOW: &str = "flow.yaml";
pub(crate) const FLOWS: &str = "flows.json";
pub(crate) const EVENTS: &str = "events.jsonl";
pub(crate) const CHAIN: &str = "CHAIN";
pub(crate) const HANDOFFS: &str = "handoff/";
pub(crate) const LOGS: &str = "logs/";
/// Lists of snapshots, by their digits. The contents that they name are in [`BLOBS`].
pub(crate) const TREES: &str = "trees/";
pub(crate) const BLOBS: &str = "blobs/sha256/";
pub(crate) const SUMS: &str = "SHA256SUMS";
pub(crate) const SIGNATURE: &str = "SHA256SUMS.sig";

/// The description of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`FORMAT`], or 1: without snapshots.
    pub format: u32,
    /// The run.
    pub run: String,
    /// The id of its flow.
    pub flow: String,
    /// Its status after the last event: a word of `envoi runs`.
    pub status: String,
    /// Number of events.
    pub events: u64,
    /// The head of the hash chain over the events.
    pub head: Digest,
    /// Number of contents.
    pub contents: u64,
    /// Missing contents and lists of snapshots that events, or such a list, refer to.
    pub left_out: Vec<LeftOut>,
    /// The version of the program that made it.
    pub made_by: String,
}

/// A content that is not in the bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// Its digest.
    pub digest: Digest,
    /// The reason.
    pub why: String,
}

impl LeftOut {
    /// It was not in the store.
    pub const MISSING: &str = "missing";
    /// It was in the store, with other bytes.
    pub const DAMAGED: &str = "damaged";
    /// The snapshots were not wanted in the bundle.
    pub const NOT_WANTED: &str = "not wanted";
    /// The list of a snapshot has more bytes than a bundle takes.
    pub const TOO_LARGE: &str = "too large";
}

/// A version of the flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowText {
    pub(crate) digest: Digest,
    pub(crate) language: u32,
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) parts: BTreeMap<String, String>,
}

/// The text of `README.txt`, for readers who do not know Envoi. It is a part of the format: `verify` accepts no other one. With another text
/// [`FORMAT`] becomes another number.
pub(crate) fn readme(run: &str, format: u32) -> String {
    let snapshots = match format {
        WITHOUT_SNAPSHOTS => "",
        _ => {
            "trees/ has the lists of snapshots of the workspace, each under its own SHA-256: mode, digest,\n\
             size and path of each file, and a NUL. The files themselves are in blobs/sha256/.\n\n"
        }
    };
    format!(
        "This is the record of one run of Envoi: {run}.\n\n\
         Check by hand, in this folder:\n\n    \
         sha256sum -c SHA256SUMS\n\n\
         Each line of events.jsonl is an event. CHAIN has a sum for each of them: the SHA-256 of the\n\
         sum before it (32 bytes; before the first event the SHA-256 of the id of the run) and of the\n\
         line without its newline. The last one, the head, is in MANIFEST.json. Somebody who has kept\n\
         the head from the time of the run can tell that no event was changed since. Without that, or\n\
         a signature, the sums say only that the file is whole.\n\n\
         blobs/sha256/ has the contents that events name, each under its own SHA-256. logs/ has what\n\
         the attempts wrote: no event vouches for that.\n\n\
         {snapshots}\
         If there is a SHA256SUMS.sig, ssh-keygen made it; ALLOWED names who may sign (ssh-keygen(1)):\n\n    \
         ssh-keygen -Y verify -f ALLOWED -I SIGNER -n envoi-run -s SHA256SUMS.sig < SHA256SUMS\n\n\
         Envoi checks all of it, and that the events follow from the flow: envoi verify FILE\n"
    )
}
