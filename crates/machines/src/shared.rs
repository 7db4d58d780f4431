//! The contents that all machines of a cluster share: contents by digest, the texts of flows, and the commits
//! of runs.
//!
//! Owns the names in the store and the format of the bytes. The name of a commit has its run and the number
//! of its first event, so a reader that knows the next number finds the next commit without a list.

use crate::blob_store::BlobStore;
use envoi_cluster::{Message, message::Commit, wire::Posted};
use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_engine::parsed_flow;
use envoi_journal::PinnedFlow;
use envoi_kernel::{
    Flow, Record,
    ids::{RunId, Seq},
};
use envoi_restate::{Contents, FlowName, Unavailable};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

/// The shared contents. Cheap to clone.
#[derive(Clone)]
pub struct SharedContents(Arc<dyn BlobStore>);

/// The name of the cluster's lease, in milliseconds.
const LEASE: &str = "lease_ms";

/// A stored commit.
pub(crate) struct KeptCommit {
    /// The events, at least one.
    pub(crate) records: Vec<Record>,
    /// The stored text, which has the digests of all contents.
    pub(crate) text: Vec<u8>,
}

/// A flow in the store. Its name there has its digest and the version of its language.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowText {
    name: String,
    text: String,
    parts: BTreeMap<String, String>,
}

impl SharedContents {
    /// The contents in this store.
    #[must_use]
    pub fn new(store: Arc<dyn BlobStore>) -> Self {
        Self(store)
    }

    /// Stores the lease of the cluster, unless one is stored already. Returns the stored one. A worker with a
    /// longer lease would let a step run while another worker starts it again.
    ///
    /// # Errors
    /// [`Unavailable`]: it is not known which lease is stored.
    pub fn agree_on_lease_ms(&self, lease_ms: u64) -> Result<u64, Unavailable> {
        self.0.put(LEASE, lease_ms.to_string().as_bytes())?;
        self.lease_ms()?.ok_or_else(|| damaged(LEASE, &"it is gone"))
    }

    /// The lease of the cluster, in milliseconds. `None`: no server has stored one.
    ///
    /// # Errors
    /// [`Unavailable`]: it cannot be read, or is damaged.
    pub fn lease_ms(&self) -> Result<Option<u64>, Unavailable> {
        let Some(bytes) = self.0.get(LEASE)? else { return Ok(None) };
        let text = String::from_utf8_lossy(&bytes);
        text.parse().map(Some).map_err(|error| damaged(LEASE, &error))
    }

    /// Stores a content under its digest.
    ///
    /// # Errors
    /// [`Unavailable`]: it may not be stored.
    pub fn keep(&self, bytes: &[u8]) -> Result<(), Unavailable> {
        self.0.put(&content_name(&Digest::of(bytes)), bytes)
    }

    /// Stores the text of a flow.
    ///
    /// # Errors
    /// [`Unavailable`]: it may not be stored.
    pub fn keep_flow(&self, pinned: &PinnedFlow) -> Result<(), Unavailable> {
        let PinnedFlow { digest, language, name, text, parts, .. } = pinned;
        let flow = FlowText { name: name.clone(), text: text.clone(), parts: parts.clone() };
        self.0.put(&flow_name(digest, *language), &written(&flow)?)
    }

    /// The text of a flow. `None`: it was never stored.
    ///
    /// # Errors
    /// [`Unavailable`]: it is not known whether it is stored, or it is damaged.
    pub fn pinned(&self, name: &FlowName) -> Result<Option<PinnedFlow>, Unavailable> {
        let Some(digest) = Digest::parse(&name.digest) else { return Ok(None) };
        let place = flow_name(&digest, name.language);
        let Some(bytes) = self.0.get(&place)? else { return Ok(None) };
        let FlowText { name: file, text, parts } =
            serde_json::from_slice(&bytes).map_err(|error| damaged(&place, &error))?;
        let earlier = Vec::new();
        Ok(Some(PinnedFlow { digest, language: name.language, name: file, text, parts, earlier }))
    }

    /// Stores a commit.
    ///
    /// # Errors
    /// [`Unavailable`]: it may not be stored.
    pub fn keep_commit(&self, commit: Commit) -> Result<(), Unavailable> {
        let Some(first) = commit.records.first().map(|record| record.seq) else { return Ok(()) };
        let place = commit_name(&commit.run, first);
        // The events have their own times, so the message needs none.
        let posted = Posted { message: Message::Commit(commit), at: Timestamp::from_millis(0) };
        let text = posted.written().map_err(|error| damaged(&place, &error))?.text;
        self.0.put(&place, text.as_bytes())
    }

    /// The commit whose first event has this number. `None`: it has not arrived.
    ///
    /// # Errors
    /// [`Unavailable`]: it is not known whether it is stored, or it is damaged.
    pub(crate) fn commit(&self, run: &RunId, first: Seq) -> Result<Option<KeptCommit>, Unavailable> {
        let place = commit_name(run, first);
        let Some(bytes) = self.0.get(&place)? else { return Ok(None) };
        let text = str::from_utf8(&bytes).map_err(|error| damaged(&place, &error))?;
        match Posted::read(text, |_| None).map_err(|error| damaged(&place, &error))?.message {
            Message::Commit(commit) if commit.run == *run => {
                Ok(Some(KeptCommit { records: commit.records, text: bytes }))
            }
            _ => Err(damaged(&place, &"it is no commit of this run")),
        }
    }
}

impl Contents for SharedContents {
    fn content(&self, digest: &Digest) -> Result<Option<Vec<u8>>, Unavailable> {
        let place = content_name(digest);
        match self.0.get(&place)? {
            Some(bytes) if Digest::of(&bytes) != *digest => Err(damaged(&place, &"its bytes are others")),
            found => Ok(found),
        }
    }

    fn flow(&self, name: &FlowName) -> Result<Option<Arc<Flow>>, Unavailable> {
        let Some(PinnedFlow { digest, language, name, text, parts, .. }) = self.pinned(name)? else {
            return Ok(None);
        };
        let parsed = parsed_flow(language, &name, &text, &parts).ok().map(|parsed| parsed.flow);
        Ok(parsed.filter(|flow| flow.digest == digest))
    }
}

fn content_name(digest: &Digest) -> String {
    let hex = digest.hex();
    let folder = hex.get(..2).unwrap_or_default();
    format!("sha256/{folder}/{hex}")
}

fn flow_name(digest: &Digest, language: u32) -> String {
    format!("flows/{}-{language}.json", digest.hex())
}

fn commit_name(run: &RunId, first: Seq) -> String {
    format!("runs/{run}/{first}")
}

fn written(value: &impl Serialize) -> Result<Vec<u8>, Unavailable> {
    serde_json::to_vec(value)
        .map_err(|error| Unavailable { reason: format!("it cannot be written: {error}") })
}

fn damaged(place: &str, error: &dyn std::fmt::Display) -> Unavailable {
    Unavailable { reason: format!("`{place}` of the shared contents cannot be used: {error}") }
}

#[cfg(test)]
mod tests;
