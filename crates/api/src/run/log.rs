//! The output of attempts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An attempt, and how much it has written so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Log {
    /// The attempt: `[scope.]step.visit.attempt`.
    pub attempt: String,
    /// The event that started it.
    pub seq: u64,
    /// Bytes on stdout.
    pub stdout_bytes: u64,
    /// Bytes on stderr.
    pub stderr_bytes: u64,
}

/// A page of attempts, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Logs {
    /// The attempts.
    pub logs: Vec<Log>,
    /// The `after` of the next page; null on the last.
    pub next: Option<u64>,
}

/// One line that an attempt has written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogLine {
    /// The attempt.
    pub attempt: String,
    /// `stdout`, `stderr`, or `events`: what an agent program wrote (`logs --raw`).
    pub stream: String,
    /// The line, without its end.
    pub line: String,
}
