//! The files that an attempt hands over: a short list in the event, or a manifest for a longer one.
//!
//! An event, a hand-off and an envelope are read again as documents of at most 16 MiB, however many files a
//! step leaves. The event itself lists up to [`MOST_LISTED`] files. A longer list is a *manifest*: content of
//! the store, which the event refers to by digest. The kernel never reads a manifest. Code that needs the
//! files (places, lists, comparisons) reads it from the store.

use crate::model::ids::{StepId, VisitId};
use envoi_contract::digest::Digest;
use envoi_contract::json::{Members, Object, Value};
use serde::{Deserialize, Serialize};

/// Maximum number of files that one attempt may list in its event, and one hand-off in `artifacts` (CONTRACTS
/// 2).
pub const MOST_LISTED: usize = 1_000;

/// Maximum size of the paths of listed files together. A path has up to 4 KiB, occurs three times in a
/// hand-off, and may double in size when escaped: 1,000 of the longest would not fit into a document.
pub const MOST_LISTED_BYTES: usize = 1024 * 1024;

/// Maximum number of files of one attempt. Its manifest, and the tables made from it, are read as a whole.
pub const MOST_FILES: usize = 1_000_000;

/// The single name in `artifacts` if a manifest lists the files.
pub const MANIFEST: &str = "manifest";

/// A snapshot of the workspace's files, kept in the store (docs/files.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The digest of their list.
    pub digest: Digest,
    /// Whether another attempt was working in the same folder. If so, the folder may never have been in
    /// exactly this state.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub moving: bool,
}

/// The list of an attempt's files, if it is too long for an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The list in the store.
    pub list: Blob,
    /// Number of files, including deleted and unchanged ones.
    pub total: u64,
    /// Total size of their contents.
    pub bytes: u64,
}

/// The files of an attempt with too many of them for its event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Many {
    /// All files: the hand-over of a successful attempt.
    pub all: Manifest,
    /// The changed files: the hand-over of any other attempt. They may be few enough to be listed.
    pub changed: Changed,
}

/// The files that an attempt has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Changed {
    /// Few enough to be listed.
    Listed(Vec<FileChange>),
    /// Too many for an event.
    Manifest(Manifest),
}

/// A manifest that a step of the run has handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedOver {
    /// The scope of the visit; empty in the run's own flow.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scope: String,
    /// The step.
    pub step: StepId,
    /// The list in the store.
    pub list: Blob,
}

impl HandedOver {
    /// The path of the list, relative to the folder of its flow.
    #[must_use]
    pub fn path(&self) -> String {
        list_name(&self.scope, &self.step)
    }
}

/// Whether this many files, with paths of this total size, are listed in the event. Otherwise they go into a
/// manifest.
#[must_use]
pub fn are_listed(count: usize, path_bytes: usize) -> bool {
    count <= MOST_LISTED && path_bytes <= MOST_LISTED_BYTES
}

/// The name of the list of a step's files in the folder of its flow: `[scope.]step.files.json`. Items, and
/// visits that call the same flow, share that folder; the scope distinguishes their lists, as it does their
/// hand-offs.
#[must_use]
pub fn list_name(scope: &str, step: &StepId) -> String {
    let dot = if scope.is_empty() { "" } else { "." };
    format!("{scope}{dot}{step}.files.json")
}

/// The path of the list of a visit's files, relative to the run's folder.
#[must_use]
pub fn manifest_path(flow_key: &str, visit: &VisitId) -> String {
    format!("{flow_key}/{}", list_name(&visit.scope, &visit.step))
}

/// The `artifacts` of a hand-off whose files are in a manifest.
pub(crate) fn manifest_artifacts(flow_key: &str, visit: &VisitId) -> Members<String> {
    Members::from([(MANIFEST, manifest_path(flow_key, visit))])
}

/// Whether the `artifacts` of a hand-off refer to a manifest. A file that is named `manifest` has another
/// path.
#[must_use]
pub fn is_manifest<'a>(artifacts: impl IntoIterator<Item = (&'a str, &'a str)>) -> bool {
    let mut artifacts = artifacts.into_iter();
    let first = artifacts.next();
    first.is_some_and(|(name, path)| name == MANIFEST && path.ends_with(".files.json"))
        && artifacts.next().is_none()
}

/// The path of the list if `artifacts`, as JSON, refer to a manifest: see [`is_manifest`].
pub(crate) fn list_of(artifacts: &Value) -> Option<&str> {
    let members = artifacts.as_object().into_iter().flat_map(Object::iter);
    let is_manifest = is_manifest(members.filter_map(|(name, path)| Some((name, path.as_str()?))));
    artifacts.get(MANIFEST).and_then(Value::as_str).filter(|_| is_manifest)
}

/// The `file_changes` of a hand-off. Null if nothing changed; the member is then omitted.
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
    /// Size in bytes.
    pub size: u64,
}

/// A file that an attempt hands over or has deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Relative to the workspace, `/` between segments.
    pub path: String,
    /// The kind of change.
    pub change: Change,
    /// Its content afterwards; `None` when deleted.
    pub blob: Option<Blob>,
    /// Its content before, if it existed and was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Blob>,
}

/// The kind of change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It did not exist before.
    Created,
    /// Its content differs.
    Modified,
    /// It was deleted.
    Deleted,
    /// It did not change.
    Unchanged,
}

impl Change {
    /// The word for it in events.
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
