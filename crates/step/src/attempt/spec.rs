//! What an attempt is to run, and its bounds with their defaults (time limit, grace from TERM to KILL, how much output is kept): the
//! order that travels from the engine to the supervisor through a pipe.
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
    /// Program and arguments, as they are.
    Exec {
        /// The program, looked up in the command's own `PATH` unless it has a slash; then its arguments.
        argv: Vec<String>,
    },
    /// A text for `sh -c`.
    Shell {
        /// The text.
        script: String,
    },
}

impl Command {
    /// Program and arguments that are really started.
    pub(crate) fn argv(&self) -> Vec<&str> {
        match self {
            Self::Exec { argv } => argv.iter().map(String::as_str).collect(),
            Self::Shell { script } => vec!["sh", "-c", script],
        }
    }
}

/// What follows if no file matches a glob of `artifacts` although the command has succeeded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoArtifacts {
    /// A warning.
    #[default]
    Warn,
    /// Nothing.
    Ignore,
    /// The record names the globs for which the attempt fails.
    Fail,
}

/// Everything that the supervisor of one attempt needs to know.
///
/// Holds secrets: its `Debug` shows neither them nor the environment.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The run.
    pub run_id: String,
    /// The attempt's id, unique within the run.
    pub attempt: String,
    /// What to run.
    pub command: Command,
    /// The command's working folder.
    pub cwd: PathBuf,
    /// The command's whole environment, `ENVOI_ATTEMPT` and `ENVOI_RUN_BASE` included. Nothing is added or inherited.
    pub env: Vec<(String, String)>,
    /// The root of `artifacts`.
    pub workspace: PathBuf,
    /// Globs relative to the workspace; `*` stays within a folder. Nothing below `.envoi` or `.git` ever matches.
    pub artifacts: Vec<String>,
    /// What follows if no file matches one of them although the command has succeeded.
    #[serde(default)]
    pub if_no_artifacts: NoArtifacts,
    /// Absolute folders in which nothing ever matches either, such as the store's own. Compared as folders, not as names.
    #[serde(default)]
    pub never: Vec<PathBuf>,
    /// How snapshots of the workspace are taken, before and after the command. `None`: none are.
    #[serde(default)]
    pub keep: Option<envoi_tree::Order>,
    /// The digest of the snapshot whose files the workspace gets before the command is started. `None`: it stays as it is.
    #[serde(default)]
    pub set_back: Option<String>,
    /// How the cache of steps is used. `None`: it is not.
    #[serde(default)]
    pub cache: Option<CacheOrder>,
    /// The folder of an earlier attempt: what has changed since before that one is handed over as changed by this one.
    #[serde(default)]
    pub since: Option<PathBuf>,
    /// From the start of the command to its TERM; none, no limit.
    pub timeout_ms: Option<u64>,
    /// Until when it may run, by [`crate::boot_ms`], unless its lease is renewed ([`crate::Lease`]). `None`: it has no lease.
    #[serde(default)]
    pub lease_until_ms: Option<u64>,
    /// From TERM to KILL.
    pub grace_ms: u64,
    /// What is kept of each of stdout and stderr: the first half and the last half of it.
    pub stream_cap_bytes: u64,
    /// What is kept of the step's text: its end.
    pub text_cap_bytes: u64,
    /// Exit codes beside 0 with which the step has done its work: then files that match are handed over, changed or not.
    #[serde(default)]
    pub success_codes: Vec<i32>,
    /// Values to be masked, and each line of them. What is under [`crate::MIN_SECRET_BYTES`] is not: masking it would shred
    /// the output.
    pub secrets: Vec<String>,
    /// The boot in which the attempt is started.
    pub boot_id: String,
    /// Which announcement of the attempt is carried out; the records of the attempt name it. See [`crate::Start`].
    #[serde(default)]
    pub start: String,
    /// What the secrets are, for a later comparison. The records of the attempt name it.
    #[serde(default)]
    pub secret_marks: Vec<SecretMark>,
}

/// What the value of a secret was: enough to see later that it is another one, and not enough to guess it.
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

    /// A variable of the command's environment.
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

/// What really goes through the pipe: the spec, and the folder it is for.
#[derive(Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) dir: PathBuf,
    pub(crate) spec: Spec,
}
