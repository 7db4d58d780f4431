//! The records that an attempt leaves: `started.json` and `exit.json`.
//!
//! Written by the supervisor, read by the engine, and never changed.

use crate::attempt::cached::CacheUse;
use crate::attempt::displaced::LateFile;
use crate::attempt::spec::SecretMark;
use envoi_contract::digest::Digest;
use serde::{Deserialize, Serialize};

/// Version of both records. The reader of `exit.json` refuses another. The members of `started.json` keep their meaning in every version: whether
/// a supervisor lives must be known to every engine.
pub(crate) const VERSION: u32 = 1;

/// The largest record of an attempt that is read. A supervisor writes none that is larger: see [`MOST_FILES`].
pub(crate) const LARGEST_RECORD_BYTES: u64 = 256 * 1024 * 1024;

/// How many files a record lists.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MostFiles {
    pub(crate) files: usize,
    /// What their list takes in the record.
    pub(crate) bytes: usize,
}

/// A supervisor lists no more files. The list leaves 32 MiB of the largest record for everything else, which is bounded
/// too and has a few MiB.
pub(crate) const MOST_FILES: MostFiles = MostFiles { files: 1_000_000, bytes: 224 * 1024 * 1024 };

/// `started.json`: from here on a command may have been started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Version of the record, 1.
    pub version: u32,
    /// The attempt.
    pub attempt: String,
    /// Process id of the supervisor.
    pub supervisor_pid: u32,
    /// When the supervisor started by the kernel's count, in clock ticks since the boot. It differs for a later process with
    /// the same id. 0 where the system does not say.
    pub supervisor_started_ticks: u64,
    /// The boot it runs in.
    pub boot_id: String,
    /// Unix time in milliseconds.
    pub started_at_ms: u64,
    /// The program, masked.
    pub argv0: String,
    /// Which announcement of the attempt it carries out. An older supervisor does not say it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub start: String,
    /// What the secrets were. An older supervisor does not say it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secret_marks: Vec<SecretMark>,
}

/// `exit.json`: the attempt is over and nothing of it lives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Version of the record, 1.
    pub version: u32,
    /// The attempt.
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
    /// The step's text: a file of its own, or that of `$ENVOI_OUTPUT` or stdout where it is exactly the text.
    pub text: FileRef,
    /// Whether the text is only a part of what the command wrote: the end of what is larger than a text, or of a stream that is not
    /// kept in full. An older supervisor does not say it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub text_cut: bool,
    /// The report, masked, if the command left a file where one is looked for. Not checked to be a report. One over 16 MiB
    /// is cut to 16 MiB and one byte, which no reader of the contracts accepts.
    pub report: Option<FileRef>,
    /// Whether something stood at `ENVOI_REPORT`. A `report` without it stood behind `--output`.
    #[serde(default)]
    pub report_assigned: bool,
    /// What stood in the place of the report and is no file that can be read, such as `a folder`, masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_unreadable: Option<String>,
    /// What the command wrote at `ENVOI_DATA`, masked. Not checked to be JSON. Over 16 MiB it is cut as a report is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<FileRef>,
    /// What stood there and is no file that can be read, masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_unreadable: Option<String>,
    /// Artifacts that differ from before the command, by path; of a command that succeeded also those that do not.
    pub files: Vec<FileChange>,
    /// How many files would be listed, where they are too many for the record: `files` is empty then, and no file was copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_many_files: Option<u64>,
    /// Globs of `artifacts` that no file matches, a sentence each, masked and not many, if the attempt fails for that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_artifacts: Vec<String>,
    /// Paths of `files` in which a secret was seen. They are handed over as they are.
    pub secret_in_files: Vec<String>,
    /// Processes that had to be ended after the command was over.
    pub ended_leftovers: u32,
    /// What else a person should know, a sentence each, masked; not many.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Which announcement of the attempt it is the end of. An older supervisor does not say it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub start: String,
    /// Files of the run's folder that hold a secret and are closed to writing, relative to it: not masked, unless the engine
    /// finds that it has not put them there ([`crate::mask_closed`]). An older supervisor names none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed_with_secret: Vec<String>,
    /// The snapshot of the workspace before the command, if it was to be taken and could be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_before: Option<Snapshot>,
    /// The one after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_after: Option<Snapshot>,
    /// The files were set back before the command, or were to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_back: Option<SetBack>,
    /// What came of the cache of steps, if it was to be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheUse>,
}

/// The files of the workspace were set back before the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetBack {
    /// The digest of the snapshot of what stood there.
    pub from: String,
    /// The digest of the snapshot whose files were to stand there.
    pub to: String,
    /// The digest of the list of the folders that it took away, with their modes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folders_gone: Option<String>,
    /// What was written to displaced files meanwhile. It is in the store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<LateFile>,
    /// Files that are as they were, because their content is not kept, masked. Not all of many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

/// A snapshot of the workspace, in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// `sha256:` and the digest of its list.
    pub digest: String,
    /// Whether another attempt was at work in the workspace.
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
    /// By itself.
    Exited {
        /// 0 to 255.
        code: i32,
    },
    /// By a signal that the supervisor did not send.
    Signalled {
        /// Its number.
        signal: i32,
    },
    /// It ran longer than it may, and was ended.
    TimedOut,
    /// A cancel was requested. The command may not have been started at all.
    Cancelled,
    /// Its lease was over. The command may not have been started at all.
    LeaseOver,
    /// It never ran.
    CannotStart {
        /// Why, for a person.
        reason: String,
        /// Whether the reason is that there is no such program.
        not_found: bool,
    },
}

/// What is kept of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// What the command wrote, before masking and capping.
    pub total_bytes: u64,
    /// What is kept of it. There is no file where that is nothing.
    pub file: FileRef,
}

/// A file of the attempt's folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    /// Relative to the folder, with `/`.
    pub path: String,
    /// Length.
    pub bytes: u64,
    /// SHA-256 in lower-case hexadecimal.
    pub sha256: String,
}

impl FileRef {
    /// Refers to a stream into which nothing came: there may be no file.
    pub(crate) fn of_nothing(path: String) -> Self {
        Self { path, bytes: 0, sha256: Digest::of(b"").hex() }
    }

    /// Whether the file holds exactly this.
    pub(crate) fn holds(&self, content: &[u8]) -> bool {
        usize::try_from(self.bytes).is_ok_and(|bytes| bytes == content.len())
            && self.sha256 == Digest::of(content).hex()
    }
}

/// An artifact, and what the command did to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Relative to the workspace, with `/`.
    pub path: String,
    /// What happened to it.
    pub change: Change,
    /// The copy; none for a deleted file, and none in [`crate::Evidence`].
    pub file: Option<FileRef>,
    /// What it was before the command, if that was kept: it may be too large, or hold a secret. An older supervisor kept
    /// nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<FileRef>,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It was not there.
    Created,
    /// Its bytes differ.
    Modified,
    /// It is gone.
    Deleted,
    /// It is as it was.
    Unchanged,
}
