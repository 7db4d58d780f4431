//! Why items could not be merged.

use envoi_contract::digest::Digest;
use envoi_tree::{ContentError, ListError, NotKept, NotMerged, NotRestored};
use std::{io, path::PathBuf};

/// Why a merge has failed. The run's tree is as it was, unless the report alone is missing: then it is done again.
#[derive(Debug, thiserror::Error)]
pub(super) enum MergeError {
    /// The order cannot be read, or is none.
    #[error("`{}`: {source}", path.display())]
    Order {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The files of the run's tree cannot be kept.
    #[error(transparent)]
    NotKept(#[from] NotKept),
    /// The run's tree cannot be changed, or files cannot be laid out to be edited.
    #[error(transparent)]
    NotRestored(#[from] NotRestored),
    /// The store cannot be read while items are merged.
    #[error(transparent)]
    NotMerged(#[from] NotMerged),
    /// A snapshot is missing, damaged or no list.
    #[error("the snapshot {digest} cannot be read: {source}")]
    Snapshot {
        /// Which.
        digest: Digest,
        /// Why.
        source: SnapshotError,
    },
    /// A snapshot that is read for files which git ignores.
    #[error("a snapshot cannot be read: {0}")]
    Ignored(SnapshotError),
    /// The content of a file that a person has edited.
    #[error("`{path}`: {source}")]
    Edited {
        /// The path of the file.
        path: String,
        /// Why.
        source: ContentError,
    },
    /// Files that a person has edited cannot stand in the list beside the others.
    #[error(transparent)]
    List(#[from] ListError),
    /// The contents cannot be opened, or the report cannot be written.
    #[error(transparent)]
    Disk(#[from] io::Error),
    /// The files of the run's tree change all the time.
    #[error(
        "{text}files of the run's tree have changed {tries} times while items were merged into it; nothing is lost, and `envoi resume` merges again"
    )]
    KeepsChanging {
        /// What was done until then, in lines.
        text: String,
        /// How often it was tried.
        tries: usize,
    },
}

/// Why a snapshot cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum SnapshotError {
    /// The contents cannot be opened.
    #[error(transparent)]
    Disk(#[from] io::Error),
    /// Its content.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// It is no list.
    #[error(transparent)]
    List(#[from] ListError),
}
