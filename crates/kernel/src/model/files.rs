//! The files that an attempt hands over: how many of them an event lists, and what it says of more.
//!
//! An event, a hand-off and an envelope are read again as documents of at most 16 MiB, whatever a step leaves. Up to
//! [`MOST_LISTED`] files stand in the event itself. More are a *manifest*: content of the store, which the event names by its
//! digest. The kernel never reads one. Code that needs the files (places, lists, comparisons) reads it from the store.

use crate::model::ids::{StepId, VisitId};
use envoi_contract::digest::Digest;
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

/// The files of the workspace at one moment, kept in the store (docs/files.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The digest of their list.
    pub digest: Digest,
    /// Whether another attempt was at work in the same folder: then it is no state that the folder ever had for sure.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub moving: bool,
}

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

/// The files of an attempt that has left too many for its event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Many {
    /// All of them: what an attempt that succeeded hands over.
    pub all: Manifest,
    /// Those that are not as they were: what any other attempt hands over. They may be few enough to be listed.
    pub changed: Changed,
}

/// The files that an attempt has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Changed {
    /// Few.
    Listed(Vec<FileChange>),
    /// Too many for an event.
    Manifest(Manifest),
}

/// A manifest that a step of the run has handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedOver {
    /// The scope of the visit; nothing in the run's own flow.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scope: String,
    /// The step.
    pub step: StepId,
    /// The list in the store.
    pub list: Blob,
}

impl HandedOver {
    /// Where the list lies, relative to the folder of its flow.
    #[must_use]
    pub fn path(&self) -> String {
        list_name(&self.scope, &self.step)
    }
}

/// Whether so many files, whose paths have so many bytes together, are listed. More are a manifest.
#[must_use]
pub fn are_listed(count: usize, path_bytes: usize) -> bool {
    count <= MOST_LISTED && path_bytes <= MOST_LISTED_BYTES
}

/// What the list of a step's files is called in the folder of its flow: `[scope.]step.files.json`. Items, and visits that call
/// one flow, share that folder: the scope tells their lists apart, as it does their hand-offs.
#[must_use]
pub fn list_name(scope: &str, step: &StepId) -> String {
    let dot = if scope.is_empty() { "" } else { "." };
    format!("{scope}{dot}{step}.files.json")
}

/// Where the list of a visit's files lies, relative to the run's folder.
#[must_use]
pub fn manifest_path(flow_key: &str, visit: &VisitId) -> String {
    format!("{flow_key}/{}", list_name(&visit.scope, &visit.step))
}

/// `artifacts` of a hand-off whose files a manifest has.
pub(crate) fn manifest_artifacts(flow_key: &str, visit: &VisitId) -> Members<String> {
    Members::from([(MANIFEST, manifest_path(flow_key, visit))])
}

/// Whether the `artifacts` of a hand-off are those of a manifest. A file that is called `manifest` lies at another path.
#[must_use]
pub fn is_manifest<'a>(artifacts: impl IntoIterator<Item = (&'a str, &'a str)>) -> bool {
    let mut artifacts = artifacts.into_iter();
    let first = artifacts.next();
    first.is_some_and(|(name, path)| name == MANIFEST && path.ends_with(".files.json"))
        && artifacts.next().is_none()
}

/// The path of the list if `artifacts`, as JSON, are those of a manifest: see [`is_manifest`].
pub(crate) fn list_of(artifacts: &Value) -> Option<&str> {
    let members = artifacts.as_object().into_iter().flat_map(Object::iter);
    let is_manifest = is_manifest(members.filter_map(|(name, path)| Some((name, path.as_str()?))));
    artifacts.get(MANIFEST).and_then(Value::as_str).filter(|_| is_manifest)
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

/// Bytes in the store, by digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob {
    /// SHA-256.
    pub digest: Digest,
    /// Bytes.
    pub size: u64,
}

/// One file that an attempt hands over, or has deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Relative to the workspace, `/` between segments.
    pub path: String,
    /// What was done to it.
    pub change: Change,
    /// Its content afterwards; `None` when deleted.
    pub blob: Option<Blob>,
    /// Its content before, where it was there and was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Blob>,
}

/// See [`FileChange`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It was not there before.
    Created,
    /// Its content differs.
    Modified,
    /// It is gone.
    Deleted,
    /// It is as it was.
    Unchanged,
}

impl Change {
    /// The word for it, as it is written.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Unchanged => "unchanged",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_the_scope_in_its_name_as_a_hand_off_has() {
        let visit = |scope: &str| VisitId {
            scope: scope.to_owned(),
            step: StepId::new("compile").unwrap(),
            visit: 1,
        };
        assert_eq!(manifest_path("fix", &visit("")), "fix/compile.files.json");
        assert_eq!(manifest_path("fix", &visit("build.2.3")), "fix/build.2.3.compile.files.json");
        let artifacts = |path: &str| Value::Object(Object::from([(MANIFEST, Value::from(path))]));
        let path = manifest_path("fix", &visit("3"));
        assert_eq!(list_of(&artifacts(&path)), Some(path.as_str()));
        assert_eq!(list_of(&artifacts("fix/manifest")), None);
    }
}
