//! The files that an attempt hands over: how many of them an event lists, and what it says of more.
//!
//! An event, a hand-off and an envelope are read again as documents of at most 16 MiB, whatever a step leaves. Up to
//! [`MOST_LISTED`] files stand in the event itself. More are a *manifest*: content of the store, which the event names by its
//! digest. The kernel never reads one; whoever needs the files (places, lists, comparisons) reads it from the store.

use crate::{
    event::{Blob, Change, FileChange},
    ids::StepId,
};
use envoi_contract::json::{Members, Object, Value};
use serde::{Deserialize, Serialize};

/// The most files that one attempt may list in its event, and one hand-off in `artifacts` (CONTRACTS 2).
pub const MOST_LISTED: usize = 1_000;

/// The most bytes that the paths of listed files have together. A path has up to 4 KiB, stands in a hand-off three times
/// and may double when it is escaped: 1,000 of the longest would not fit into a document.
pub const MOST_LISTED_BYTES: usize = 1024 * 1024;

/// The most files of one attempt. Its manifest, and the tables made from it, are read as a whole.
pub const MOST_FILES: usize = 1_000_000;

/// The one name in `artifacts` where a manifest has the files.
pub const MANIFEST: &str = "manifest";

/// The list of an attempt's files, where it is too long for an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The list in the store.
    pub list: Blob,
    /// How many files it has, deleted and unchanged ones too.
    pub total: u64,
    /// The bytes of their contents together.
    pub bytes: u64,
}

/// A manifest that a step of the run has handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedOver {
    /// The step.
    pub step: StepId,
    /// The list in the store.
    pub list: Blob,
}

impl HandedOver {
    /// Where the list lies, relative to the folder of its flow.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{}.files.json", self.step)
    }
}

/// Whether so many files, whose paths have so many bytes together, are listed. More are a manifest.
#[must_use]
pub fn are_listed(count: usize, path_bytes: usize) -> bool {
    count <= MOST_LISTED && path_bytes <= MOST_LISTED_BYTES
}

/// Where the list of a step's files lies, relative to the run's folder.
#[must_use]
pub fn manifest_path(flow_key: &str, step: &str) -> String {
    format!("{flow_key}/{step}.files.json")
}

/// `artifacts` of a hand-off whose files a manifest has.
pub(crate) fn manifest_artifacts(flow_key: &str, step: &str) -> Members<String> {
    Members::from([(MANIFEST, manifest_path(flow_key, step))])
}

/// Whether the `artifacts` of a hand-off are those of a manifest. A file that is called `manifest` lies at another path.
#[must_use]
pub fn is_manifest<'a>(artifacts: impl IntoIterator<Item = (&'a str, &'a str)>) -> bool {
    let mut artifacts = artifacts.into_iter();
    let first = artifacts.next();
    first.is_some_and(|(name, path)| name == MANIFEST && path.ends_with(".files.json"))
        && artifacts.next().is_none()
}

/// As [`is_manifest`], of `artifacts` as JSON.
pub(crate) fn is_manifest_value(artifacts: &Value) -> bool {
    let members = artifacts.as_object().into_iter().flat_map(Object::iter);
    is_manifest(members.filter_map(|(name, path)| Some((name, path.as_str()?))))
}

/// `file_changes` of a hand-off. Nothing where nothing changed: the member is then left out.
pub(crate) fn file_changes(files: &[FileChange], manifest: Option<&Manifest>) -> Value {
    if let Some(manifest) = manifest {
        return Value::Object(Object::from([
            (MANIFEST, Value::from(manifest.list.digest.to_string())),
            ("total", Value::from(manifest.total)),
            ("bytes", Value::from(manifest.bytes)),
        ]));
    }
    let changed: Vec<Value> =
        files.iter().filter(|file| file.change != Change::Unchanged).map(file_change).collect();
    if changed.is_empty() {
        return Value::Null;
    }
    let total = u64::try_from(changed.len()).unwrap_or(u64::MAX);
    Value::Object(Object::from([("files", Value::Array(changed)), ("total", Value::from(total))]))
}

fn file_change(file: &FileChange) -> Value {
    let mut members = Object::default();
    members.insert("path".to_owned(), Value::from(file.path.as_str()));
    if let Some(blob) = &file.blob {
        members.insert("digest".to_owned(), Value::from(blob.digest.to_string()));
        members.insert("size".to_owned(), Value::from(blob.size));
    }
    members.insert("change".to_owned(), Value::from(file.change.word()));
    Value::Object(members)
}
