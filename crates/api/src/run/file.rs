//! The files of a run: the differences between two snapshots of its workspace, and the versions of its artifacts.

use crate::scalar::words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A row of `gc`: the tree of a run that had one of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OldTree {
    /// The run.
    pub run: String,
    /// The root of the tree. Absolute.
    pub place: String,
    /// Regular files in it.
    pub files: u64,
    /// Their size on the disk.
    pub size_bytes: u64,
    /// Whether it is removed now; with `--dry-run`, whether it would be.
    pub removed: bool,
    /// Why it stays, as a sentence; null if it goes.
    pub stays: Option<String>,
    /// What is left of it, such as a branch with commits; null if nothing is.
    pub left: Option<String>,
}

/// A row of `diff`: a path at which two snapshots differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileDifference {
    /// Relative to the workspace. Bytes that are no UTF-8 are replaced.
    pub path: String,
    /// What stood there; null if nothing did.
    pub before: Option<FileState>,
    /// What stands there; null if nothing does.
    pub after: Option<FileState>,
    /// Lines that came. 0 for a file that is no text.
    pub added: u64,
    /// Lines that went.
    pub removed: u64,
    /// The attempts that changed it, in their order. `edited between A and B`: it changed between these two attempts, not by an attempt. `set back for A`: Envoi set it back before that attempt. `restored after A`: a restore that came after it set it back.
    pub by: Vec<String>,
}

/// A path at which two states of a run's files differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedFile {
    /// What differs. `by` is empty unless `authors` was asked for.
    #[serde(flatten)]
    pub row: FileDifference,
    /// The lines that differ, with three around them, as text for people; null unless `lines` was asked for. Characters that would steer a
    /// terminal are escaped, and long lines are cut: it is no patch.
    pub lines: Option<String>,
}

/// A page of differences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Differences {
    /// The files, sorted by their paths.
    pub files: Vec<ComparedFile>,
    /// How many there are on all pages.
    pub total: u64,
    /// The `cursor` of the next page; null on the last.
    pub next: Option<String>,
    /// With `outside`, a sentence about the files that the run has changed in its tree, but not in its workspace; null if there are none.
    #[serde(default)]
    pub outside: Option<String>,
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileState {
    /// Its kind.
    pub kind: FileKind,
    /// The permission bits in octal digits, such as `644`.
    pub mode: String,
    /// The digest of its content, or of the target of a link; null if it is not kept.
    pub digest: Option<String>,
    /// Its size.
    pub size_bytes: u64,
}

words! {
    /// The kind of an entry at a path.
    FileKind {
        /// A regular file.
        File = "file",
        /// A symbolic link.
        Link = "link",
        /// An empty folder.
        EmptyFolder = "empty_folder",
        /// A file without stored content, because it is too large or cannot be read. Or a folder that could not be
        /// listed.
        LeftOut = "left_out",
    }
}

/// A page of versions of artifacts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Artifacts {
    /// The versions, sorted by their paths; those of one path in the order in which they were handed over.
    pub artifacts: Vec<ArtifactVersion>,
    /// How many there are on all pages.
    pub total: u64,
    /// The `cursor` of the next page; null on the last.
    pub next: Option<String>,
}

/// A row of `artifacts list`: a version of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactVersion {
    /// Relative to the workspace.
    pub path: String,
    /// The visit that left it.
    pub visit: String,
    /// The digest of its content; null if it was deleted.
    pub digest: Option<String>,
    /// Its size; null if it was deleted.
    pub size_bytes: Option<u64>,
}
