//! A store: its state, the findings and changes of a repair, and a copy that becomes an independent store.

pub mod bundle;
pub mod cache;
pub mod output;
pub mod retention;
pub mod token;

use crate::run::SetAside;
use envoi_kernel::ids::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that `doctor` has looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Checkup {
    /// What was looked at.
    pub check: String,
    /// Whether it is as it should be.
    pub ok: bool,
    /// What was found.
    pub detail: String,
    /// The agent program that was looked for; null if something else was looked at.
    pub agent: Option<AgentProgram>,
}

/// A program that does `agent` steps, as `doctor` has found it. That it is missing is no fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentProgram {
    /// Its name in a flow file: `claude`, `codex`, `gemini` or `opencode`.
    pub program: String,
    /// Where it is; null if it is not in `PATH`.
    pub path: Option<String>,
    /// The version that it prints; null if it does not print one.
    pub version: Option<String>,
    /// Whether its version is among those that were tried: `tried`, `older` or `newer`; null if the version is not known.
    pub support: Option<String>,
    /// The oldest version that was tried.
    pub tried_from: String,
    /// The newest version that was tried.
    pub tried_to: String,
}

/// What `repair` has found and mended. In a list each text is one thing, with its run, table or path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repaired {
    /// Runs that were looked at.
    pub runs: u64,
    /// Events that were looked at.
    pub events: u64,
    /// Contents that were looked at.
    pub contents: u64,
    /// Whether everything is as it should be now.
    pub whole: bool,
    /// What `doctor` still finds.
    pub not_mended: Vec<String>,
    /// Rows that were made again, or put out of action.
    pub mended_rows: Vec<String>,
    /// Files that were written again.
    pub mended_files: Vec<String>,
    /// What SQLite finds wrong with the database.
    pub database_faults: Vec<String>,
    /// Places that no event has.
    pub gaps: Vec<String>,
    /// Events that cannot be read.
    pub damaged_events: Vec<String>,
    /// Contents that are missing, or are not what their digest says.
    pub damaged_contents: Vec<String>,
    /// Rows that are damaged and kept.
    pub damaged_rows: Vec<String>,
    /// Files that could not be written again.
    pub lost_files: Vec<String>,
    /// Runs that cannot be loaded.
    pub lost_runs: Vec<String>,
    /// Artifacts that have no place among the files of their run. Their content is kept.
    pub unplaceable_artifacts: Vec<String>,
    /// Leftovers of interrupted writes that were removed.
    pub swept_files: u64,
}

/// What `repair RUN` has found. It changes nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Examined {
    /// The run.
    #[schemars(with = "String")]
    pub run: RunId,
    /// Whether everything is as it should be.
    pub whole: bool,
    /// Why it is set aside; null if it is not.
    pub set_aside: Option<SetAside>,
    /// Events that were looked at.
    pub events: u64,
    /// Contents that were looked at.
    pub contents: u64,
    /// Whether its entry in the journal is missing.
    pub has_no_entry: bool,
    /// Places that no event has.
    pub gaps: Vec<String>,
    /// Events that cannot be read, each with its place and the reason.
    pub damaged_events: Vec<String>,
    /// Contents that are missing, or are not what their digest says.
    pub damaged_contents: Vec<String>,
    /// Rows that are not as the events say.
    pub differing_rows: Vec<String>,
    /// Files that are missing or differ. They are written again when the run goes on.
    pub differing_files: Vec<String>,
    /// Files that differ and cannot be written.
    pub blocked_files: Vec<BlockedFile>,
    /// Why it cannot be read; null if it can.
    pub unreadable_reason: Option<String>,
    /// What keeps its attempts from being started.
    pub obstacles: Vec<String>,
    /// Attempts that were started and have not ended.
    pub attempts: Vec<OpenAttempt>,
}

/// A file that cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockedFile {
    /// The file.
    pub file: String,
    /// What is in its way.
    pub obstacle: String,
}

/// An attempt that was started and has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenAttempt {
    /// Its id.
    pub attempt: String,
    /// Whether it runs; otherwise nothing works on it.
    pub running: bool,
}

/// What `store adopt` has done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Adopted {
    /// The id of the store.
    pub store: String,
    /// Its folder.
    pub folder: String,
    /// The folder of the store that it was a copy of; null if it was no copy.
    pub copied_from: Option<String>,
    /// How many of its runs have not ended.
    pub unfinished_runs: u64,
    /// Those of them that do not go on, because their workspace is that of the original.
    #[schemars(with = "Vec<String>")]
    pub runs_without_workspace: Vec<RunId>,
}
