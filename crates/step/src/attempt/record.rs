//! The records of an attempt: `started.json` and `exit.json`.
//!
//! The supervisor writes them, the engine reads them, and nothing changes them.

use crate::attempt::cached::CacheUse;
use crate::attempt::displaced::LateFile;
use crate::attempt::spec::SecretMark;
use envoi_contract::digest::Digest;
use serde::{Deserialize, Serialize};

/// Version of both records. The reader of `exit.json` refuses another version. The members of `started.json`
/// keep their meaning in every version, because every engine must know whether a supervisor lives.
pub(crate) const VERSION: u32 = 1;

/// The largest record of an attempt that is read. A supervisor writes no larger one: see [`MOST_FILES`].
pub(crate) const LARGEST_RECORD_BYTES: u64 = 256 * 1024 * 1024;

/// Bounds of the list of files in a record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MostFiles {
    pub(crate) files: usize,
    /// Size of the list in the record.
    pub(crate) bytes: usize,
}

/// Bounds of the list that a supervisor writes. They leave 32 MiB of the largest record for the rest, which
/// is bounded too and takes a few MiB.
pub(crate) const MOST_FILES: MostFiles = MostFiles { files: 1_000_000, bytes: 224 * 1024 * 1024 };

/// `started.json`: a command may have been started since this was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Version of the record, 1.
    pub version: u32,
    /// The id of the attempt.
    pub attempt: String,
    /// Process id of the supervisor.
    pub supervisor_pid: u32,
    /// Start time of the supervisor as the kernel counts it, in clock ticks since boot. A later process with
    /// the same id has another one. 0 if the system does not report it.
    pub supervisor_started_ticks: u64,
    /// The boot in which the supervisor runs.
    pub boot_id: String,
    /// When the supervisor announced the start, Unix time in milliseconds.
    pub started_at_ms: u64,
    /// The program, masked.
    pub argv0: String,
    /// The announcement ([`crate::Start`]) that the supervisor carries out. Empty if an older supervisor
    /// wrote the record.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub start: String,
    /// Marks of the secrets' values. Empty if an older supervisor wrote the record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secret_marks: Vec<SecretMark>,
}

/// `exit.json`: the attempt has ended, and so have all its processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Version of the record, 1.
    pub version: u32,
    /// The id of the attempt.
    pub attempt: String,
    /// How the command ended.
    pub outcome: Outcome,
    /// The boot in which all this was written.
    pub boot_id: String,
    /// Unix time at which the command was started (or would have been), in milliseconds.
    pub started_at_ms: u64,
    /// `started_at_ms + duration_ms`.
    pub ended_at_ms: u64,
    /// From the start of the command to the exit of its leader, on the monotonic clock.
    pub duration_ms: u64,
    /// Standard output.
    pub stdout: Stream,
    /// Standard error.
    pub stderr: Stream,
    /// The last 4 KiB of standard error, masked, without escape sequences.
    pub stderr_tail: String,
    /// The step's text: a file of its own, or `$ENVOI_OUTPUT` or stdout if that is exactly the text.
    pub text: FileRef,
    /// Whether the text is only a part of the command's output: the end of an output that is larger than a
    /// text, or of a stream that is not kept in full. False if an older supervisor wrote the record.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub text_cut: bool,
    /// The report, masked, if the command left a file where a report is expected. Not checked to be a report.
    /// A report over 16 MiB is cut to 16 MiB and one byte, which no reader of the contracts accepts.
    pub report: Option<FileRef>,
    /// Whether the command put something at `ENVOI_REPORT`. If not, `report` is the file named after
    /// `--output`.
    #[serde(default)]
    pub report_assigned: bool,
    /// The kind of thing at the path of the report, such as `a folder`, if it is not a readable file; masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_unreadable: Option<String>,
    /// The data that the command wrote to `ENVOI_DATA`, masked. Not checked to be JSON. Over 16 MiB it is cut
    /// like a report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<FileRef>,
    /// The kind of thing at the path of `ENVOI_DATA`, if it is not a readable file; masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_unreadable: Option<String>,
    /// Artifacts that the command changed, by path. If the command succeeded, also unchanged ones.
    pub files: Vec<FileChange>,
    /// The number of files, if they are too many for the record. `files` is empty then, and no file was
    /// copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_many_files: Option<u64>,
    /// Globs of `artifacts` that no file matches, if the attempt fails because of them: a few sentences,
    /// masked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_artifacts: Vec<String>,
    /// Paths of `files` in which a secret was found. These files are handed over unmasked.
    pub secret_in_files: Vec<String>,
    /// Number of processes that had to be ended after the command had ended.
    pub ended_leftovers: u32,
    /// Further warnings for a person: a few sentences, masked.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The announcement ([`crate::Start`]) that ended so. Empty if an older supervisor wrote the record.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub start: String,
    /// Files of the run's folder, relative to it, that hold a secret and cannot be written. They are not
    /// masked, unless the engine finds that it has not put them there ([`crate::mask_closed`]). Empty if an
    /// older supervisor wrote the record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed_with_secret: Vec<String>,
    /// The snapshot of the workspace before the command, if one was wanted and could be taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_before: Option<Snapshot>,
    /// The snapshot after the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_after: Option<Snapshot>,
    /// Set if the files were restored before the command, or should have been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_back: Option<SetBack>,
    /// How the cache of steps was used, if it was to be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheUse>,
}

/// The files of the workspace were restored to a snapshot before the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetBack {
    /// The digest of the snapshot of the files before the restore.
    pub from: String,
    /// The digest of the snapshot that was to be restored.
    pub to: String,
    /// The digest of the list of the folders that the restore removed, with their modes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folders_gone: Option<String>,
    /// Contents written to displaced files meanwhile. They are in the store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<LateFile>,
    /// Files that were not restored because their content is not kept; masked. The list may be cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

/// A snapshot of the workspace, in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// `sha256:` and the digest of the snapshot's list.
    pub digest: String,
    /// Whether another attempt was working in the workspace meanwhile.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub moving: bool,
}

impl Exit {
    /// Every file that is handed over.
    pub fn handed_over(&self) -> impl Iterator<Item = &FileRef> {
        [&self.stdout.file, &self.stderr.file, &self.text]
            .into_iter()
            .chain(&self.report)
            .chain(&self.data)
            .chain(self.files.iter().flat_map(|change| change.file.iter().chain(&change.before)))
    }
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// It exited by itself.
    Exited {
        /// Exit code, 0 to 255.
        code: i32,
    },
    /// It was ended by a signal that the supervisor did not send.
    Signalled {
        /// Number of the signal.
        signal: i32,
    },
    /// It reached its time limit, and was ended.
    TimedOut,
    /// A cancel was requested. The command may not have been started.
    Cancelled,
    /// Its lease ended. The command may not have been started.
    LeaseOver,
    /// It was never started.
    CannotStart {
        /// Why, for a person.
        reason: String,
        /// Whether the reason is that there is no such program.
        not_found: bool,
    },
}

/// The kept part of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// The length of the command's output, before masking and capping.
    pub total_bytes: u64,
    /// The kept part. The file may be missing if the part is empty.
    pub file: FileRef,
}

/// A file of the attempt's folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    /// Relative to the folder, with `/`.
    pub path: String,
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256 in lower-case hexadecimal.
    pub sha256: String,
}

impl FileRef {
    /// Refers to an empty stream: the file may be missing.
    pub(crate) fn of_nothing(path: String) -> Self {
        Self { path, bytes: 0, sha256: Digest::of(b"").hex() }
    }

    /// Whether the file has exactly this content.
    pub(crate) fn holds(&self, content: &[u8]) -> bool {
        usize::try_from(self.bytes).is_ok_and(|bytes| bytes == content.len())
            && self.sha256 == Digest::of(content).hex()
    }
}

/// An artifact, and how the command changed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Relative to the workspace, with `/`.
    pub path: String,
    /// The kind of change.
    pub change: Change,
    /// The copy. `None` for a deleted file, and in [`crate::Evidence`].
    pub file: Option<FileRef>,
    /// The content before the command, if it was kept: it may be too large, or hold a secret. `None` if an
    /// older supervisor wrote the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<FileRef>,
}

/// The kind of change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The file did not exist before.
    Created,
    /// Its bytes differ.
    Modified,
    /// The file no longer exists.
    Deleted,
    /// The file has the same bytes.
    Unchanged,
}
