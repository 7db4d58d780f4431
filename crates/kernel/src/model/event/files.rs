//! Events of a restore: the files of the workspace are set back to a snapshot.

use crate::model::ids::Principal;
use envoi_contract::digest::Digest;
use serde::{Deserialize, Serialize};

/// See [`Event::FilesRestoring`](super::Event::FilesRestoring).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesRestoring {
    /// The snapshot of what stands there now, to go back to.
    pub from: Digest,
    /// The snapshot whose files are to stand there.
    pub to: Digest,
    /// The folder, if it is not the workspace: what differs between the two snapshots is changed there, and nothing else. Absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Whether it takes back what was brought into that folder before.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub undoes: bool,
    /// Who wants it.
    pub by: Principal,
    /// The reason, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The list of the folders that it takes away, with their modes, in the store: what takes this back makes them again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folders_gone: Option<Digest>,
    /// The list of the folders that it makes again, because what it takes back took them away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folders_back: Option<Digest>,
    /// Contents that an earlier restore had laid aside and that were not reported yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<LateFile>,
}

/// See [`Event::FilesRestored`](super::Event::FilesRestored).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesRestored {
    /// The snapshot whose files stand there.
    pub to: Digest,
    /// What was written to displaced files while the restore went on. It is in the store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<LateFile>,
    /// Files that are as they were, because their content is not kept. Not all of many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

/// See [`Event::FilesKeptAsTheyWere`](super::Event::FilesKeptAsTheyWere).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesKeptAsTheyWere {
    /// Why the restore was given up before anything was touched.
    pub reason: String,
}

/// The files of the workspace were set back before the command of an attempt, as [`AttemptStarted::set_back`] says.
///
/// [`AttemptStarted::set_back`]: super::AttemptStarted::set_back
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesSetBack {
    /// The snapshot of what stood there, to go back to.
    pub from: Digest,
    /// The snapshot whose files were to stand there.
    pub to: Digest,
    /// The list of the folders that it took away, with their modes, in the store: what takes this back makes them again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folders_gone: Option<Digest>,
    /// What was written to displaced files meanwhile. It is in the store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<LateFile>,
    /// Files that are as they were, because their content is not kept. Not all of many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

/// A content that was written to a file after a restore had displaced it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateFile {
    /// The path that it had in the workspace. Bytes that are no UTF-8 are replaced.
    pub path: String,
    /// The content, in the store. `None`: it is too large, and lies where the restore has put it aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// In bytes.
    pub size: u64,
}
