//! The files of a run: what differs between two snapshots of its workspace, and the versions of its artifacts.

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
    /// Their bytes on the disk.
    pub bytes: u64,
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
    /// The attempts that changed it, in their order. `edited between A and B`: it changed between these two attempts, not by an attempt.
    pub by: Vec<String>,
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
    /// In bytes.
    pub size: u64,
}

/// The kind of what stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// An empty folder.
    EmptyFolder,
    /// A file whose content is not kept: it is too large, or cannot be read.
    LeftOut,
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
    /// In bytes.
    pub size: Option<u64>,
}
