//! The order that the engine sends to the supervisor through a pipe: what to run, and its bounds with their
//! defaults (time limit, grace from TERM to KILL, how much output is kept).
//!
//! Never written to disk: it holds the secrets.

use crate::attempt::cached::CacheOrder;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The command of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Program and arguments, run directly.
    Exec {
        /// The program, looked up in the command's own `PATH` unless it contains a slash; then its arguments.
        argv: Vec<String>,
    },
    /// A script for `sh -c`.
    Shell {
        /// The text.
        script: String,
    },
}

impl Command {
    /// The program and arguments to start.
    pub(crate) fn argv(&self) -> Vec<&str> {
        match self {
            Self::Exec { argv } => argv.iter().map(String::as_str).collect(),
            Self::Shell { script } => vec!["sh", "-c", script],
        }
    }
}

/// The reaction if the command succeeds and no file matches a glob of `artifacts`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoArtifacts {
    /// The record gets a warning.
    #[default]
    Warn,
    /// Nothing happens.
    Ignore,
    /// The attempt fails. The record names the globs.
    Fail,
}

/// Everything that the supervisor of one attempt needs to know.
///
/// Holds secrets: its `Debug` shows neither the secrets nor the environment.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The id of the run.
    pub run_id: String,
    /// The attempt's id, unique within the run.
    pub attempt: String,
    /// The command to run.
    pub command: Command,
    /// The command's working folder.
    pub cwd: PathBuf,
    /// The command's whole environment, `ENVOI_ATTEMPT` and `ENVOI_RUN_BASE` included. Nothing is added or inherited.
    pub env: Vec<(String, String)>,
    /// The root of `artifacts`.
    pub workspace: PathBuf,
    /// Globs relative to the workspace; `*` stays within a folder. Nothing below `.envoi` or `.git` ever matches.
    pub artifacts: Vec<String>,
    /// The reaction if the command succeeds and no file matches one of the globs.
    #[serde(default)]
    pub if_no_artifacts: NoArtifacts,
    /// Absolute folders in which no file matches either, such as the store's own. Compared as folders, not as
    /// names.
    #[serde(default)]
    pub never: Vec<PathBuf>,
    /// How to take snapshots of the workspace before and after the command. `None`: no snapshots.
    #[serde(default)]
    pub keep: Option<envoi_tree::Order>,
    /// The digest of a snapshot. The workspace is restored to it before the command starts. `None`: it stays
    /// as it is.
    #[serde(default)]
    pub set_back: Option<String>,
    /// How to use the cache of steps. `None`: do not use it.
    #[serde(default)]
    pub cache: Option<CacheOrder>,
    /// The folder of an earlier attempt. Changes since the start of that attempt count as changes of this
    /// one.
    #[serde(default)]
    pub since: Option<PathBuf>,
    /// From the start of the command to its TERM, in milliseconds. `None`: no limit.
    pub timeout_ms: Option<u64>,
    /// End of the lease, by [`crate::boot_ms`], unless it is renewed ([`crate::Lease`]). `None`: no lease.
    #[serde(default)]
    pub lease_until_ms: Option<u64>,
    /// From TERM to KILL, in milliseconds.
    pub grace_ms: u64,
    /// How much of stdout, and of stderr, is kept: the first half and the last half of this.
    pub stream_cap_bytes: u64,
    /// How much of the step's text is kept, counted from its end.
    pub text_cap_bytes: u64,
    /// Exit codes other than 0 that count as success. After a success all matching files are handed over,
    /// changed or not.
    #[serde(default)]
    pub success_codes: Vec<i32>,
    /// Values to mask, each as a whole and line by line. Values under [`crate::MIN_SECRET_BYTES`] are not
    /// masked: that would make the output unreadable.
    pub secrets: Vec<String>,
    /// The boot in which the attempt is started.
    pub boot_id: String,
    /// The announcement of the attempt that is carried out. The records of the attempt name it. See
    /// [`crate::Start`].
    #[serde(default)]
    pub start: String,
    /// The name of a folder of the attempt's folder that is Envoi's own: masking leaves it there. A merge has files of
    /// the workspace in it that a person may edit.
    #[serde(default)]
    pub own_folder: Option<String>,
    /// Marks of the secrets' values, for a later comparison. The records of the attempt contain them.
    #[serde(default)]
    pub secret_marks: Vec<SecretMark>,
}

/// A mark of a secret's value: enough to see later that the value has changed, not enough to guess it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretMark {
    /// The name of the secret.
    pub name: String,
    /// A short keyed digest of the value.
    pub mark: String,
}

impl Spec {
    /// Default of `grace_ms`.
    pub const GRACE_MS: u64 = 5_000;
    /// Default of `stream_cap_bytes`.
    pub const STREAM_CAP_BYTES: u64 = 64 * 1024 * 1024;
    /// Default of `text_cap_bytes`.
    pub const TEXT_CAP_BYTES: u64 = 1024 * 1024;

    /// The value of a variable in the command's environment.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.env.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spec")
            .field("run_id", &self.run_id)
            .field("attempt", &self.attempt)
            .field("cwd", &self.cwd)
            .field("workspace", &self.workspace)
            .field("artifacts", &self.artifacts)
            .field("timeout_ms", &self.timeout_ms)
            .finish_non_exhaustive()
    }
}

/// The message that goes through the pipe: the spec, and the attempt's folder.
#[derive(Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) dir: PathBuf,
    pub(crate) spec: Spec,
}
