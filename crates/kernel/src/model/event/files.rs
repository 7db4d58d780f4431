//! Events of a restore of the workspace's files to a snapshot.

use crate::model::ids::Principal;
use envoi_contract::digest::Digest;
use serde::{Deserialize, Serialize};

/// See [`Event::FilesRestoring`](super::Event::FilesRestoring).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesRestoring {
    /// The snapshot of the present files, for going back.
    pub from: Digest,
    /// The snapshot to restore.
    pub to: Digest,
    /// Which files it may touch.
    #[serde(default, rename = "folder", skip_serializing_if = "Reach::is_workspace")]
    pub reach: Reach,
    /// Whether it takes back what was brought into that folder before.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub undoes: bool,
    /// The requester.
    pub by: Principal,
    /// The reason, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The list, in the store, of the folders that it removes, with their modes. Undoing the restore creates
    /// them again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folders_gone: Option<Digest>,
    /// The list of the folders that it creates again, because the restore that it undoes removed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folders_back: Option<Digest>,
    /// Contents that an earlier restore had put aside and that were not reported yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<LateFile>,
}

/// Which files a restore may touch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reach {
    /// All of the workspace gets the files of the snapshot.
    #[default]
    Workspace,
    /// The differences between the two snapshots are made in this folder, which is not the workspace, and nothing else. Absolute.
    Folder(String),
    /// The differences between the two snapshots are made in the workspace, and nothing else. It is written as an object: a build
    /// that does not know it expects a folder and refuses the event, and does not set back all of the workspace.
    Paths {
        /// The requested paths, to be shown. Not all of many.
        paths: Vec<String>,
    },
}

impl Reach {
    /// The folder, if it is not the workspace.
    #[must_use]
    pub fn folder(&self) -> Option<&str> {
        match self {
            Self::Folder(folder) => Some(folder),
            Self::Workspace | Self::Paths { .. } => None,
        }
    }

    fn is_workspace(&self) -> bool {
        matches!(self, Self::Workspace)
    }
}

/// See [`Event::FilesRestored`](super::Event::FilesRestored).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesRestored {
    /// The snapshot that was restored.
    pub to: Digest,
    /// Content that was written to displaced files during the restore. It is in the store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<LateFile>,
    /// Files that were left unchanged, because their content is not kept. Not all of them are listed if there
    /// are many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

/// See [`Event::FilesKeptAsTheyWere`](super::Event::FilesKeptAsTheyWere).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesKeptAsTheyWere {
    /// Why the restore was abandoned before any change.
    pub reason: String,
}

/// The restore of the workspace before the command of an attempt ([`AttemptStarted::set_back`]).
///
/// [`AttemptStarted::set_back`]: super::AttemptStarted::set_back
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesSetBack {
    /// The snapshot of the files before it, for going back.
    pub from: Digest,
    /// The snapshot to restore.
    pub to: Digest,
    /// The list, in the store, of the folders that it removed, with their modes. Undoing the restore creates
    /// them again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folders_gone: Option<Digest>,
    /// Content that was written to displaced files meanwhile. It is in the store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<LateFile>,
    /// Files that were left unchanged, because their content is not kept. Not all of them are listed if there
    /// are many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

/// Content that was written to a file after a restore had displaced the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateFile {
    /// Its path in the workspace. Invalid UTF-8 is replaced.
    pub path: String,
    /// The content, in the store. `None`: it is too large, and lies where the restore put it aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Size in bytes.
    pub size: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields that a build without restores of single files reads.
    #[derive(Debug, Deserialize)]
    struct Older {
        #[serde(default)]
        folder: Option<String>,
    }

    fn wanted(reach: Reach) -> FilesRestoring {
        FilesRestoring {
            from: Digest::of(b"from"),
            to: Digest::of(b"to"),
            reach,
            undoes: false,
            by: Principal { tenant: "local".to_owned(), actor: "ada".to_owned() },
            why: None,
            folders_gone: None,
            folders_back: None,
            found: Vec::new(),
        }
    }

    #[test]
    fn an_older_build_refuses_a_restore_of_single_files_and_takes_it_for_no_other_one() {
        let older = |reach: &Reach| {
            let text = serde_json::to_string(&wanted(reach.clone())).unwrap();
            assert_eq!(serde_json::from_str::<FilesRestoring>(&text).unwrap().reach, *reach, "{text}");
            serde_json::from_str::<Older>(&text).map(|read| read.folder)
        };
        assert_eq!(older(&Reach::Workspace).unwrap(), None);
        assert_eq!(older(&Reach::Folder("/w".to_owned())).unwrap(), Some("/w".to_owned()));
        for paths in [vec!["a".to_owned()], Vec::new()] {
            older(&Reach::Paths { paths }).unwrap_err();
        }
    }
}
