//! Events of an attempt: its announcement, and how it ended.

use crate::model::{
    command::{Command, SessionFigures},
    event::{cached::CacheUse, files::FilesSetBack},
    files::{Blob, FileChange, Manifest, Snapshot},
    ids::{AttemptId, FlowId, InterruptId, VisitId},
    ledger::Budget,
    part::TakenFrom,
    throttle::Throttled,
};
use envoi_contract::{
    code::Code,
    digest::Digest,
    envelope::InterruptKind,
    json::{Object, Value},
    skill_report::SkillError,
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

/// See [`Event::AttemptStarted`](super::Event::AttemptStarted).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptStarted {
    /// The attempt.
    pub attempt: AttemptId,
    /// The command to execute.
    pub command: Command,
    /// Rendered variables of the flow and the step. On duplicate names, the later one wins. Contains no
    /// secrets.
    pub env: Vec<(String, String)>,
    /// Folder relative to the workspace; `.` for the workspace itself.
    pub cwd: String,
    /// Maximum duration.
    pub timeout_ms: Option<u64>,
    /// Number of times that the innermost loop has gone back; 0 outside a loop.
    pub iteration: u64,
    /// The visit whose hand-off the command gets as the last one.
    pub handoff: Option<VisitId>,
    /// The attempt whose text the command gets as feedback: that of the critic, or the failed attempt that is
    /// tried again.
    pub feedback: Option<AttemptId>,
    /// The answer that sent the run back. Its text is part of the feedback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_back_by: Option<InterruptId>,
    /// The last answer given to the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<InterruptId>,
    /// Identity of the boot in which this was decided. After a reboot, the attempt cannot be running any
    /// more.
    pub boot_id: String,
    /// The budget of its step, reserved until the attempt is settled. `None`: the step has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Budget>,
    /// The attempt in doubt that this one verifies. `None`: it does the step's own work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verifies: Option<AttemptId>,
    /// The snapshot to which the workspace is restored before the command starts. `None`: the files stay as
    /// they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_back: Option<Digest>,
    /// The item whose own tree the command works in. `None`: it works in the workspace of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<VisitId>,
}

impl AttemptStarted {
    /// Whether it merges the changes of its step's items.
    #[must_use]
    pub fn merges(&self) -> bool {
        matches!(self.command, Command::Merge(_))
    }
}

/// See [`Event::AttemptSettled`](super::Event::AttemptSettled).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptSettled {
    /// The attempt.
    pub attempt: AttemptId,
    /// How it ended.
    pub outcome: Outcome,
    /// The verdict (contract 4).
    pub ok: bool,
    /// The reason of a failure.
    pub error: Option<SkillError>,
    /// The step's text, by digest. The file is stored with the attempt.
    pub text: Option<Blob>,
    /// Whether the text was truncated. If so, nothing is read from it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub text_cut: bool,
    /// The skill report, by digest.
    pub report: Option<Blob>,
    /// `data` of the report; over 64 KiB `{"$artifact": digest, "size": n}`.
    pub data: Value,
    /// The content that holds the data, if `data` is such a reference. `None` in events of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_kept: Option<Blob>,
    /// `metrics` of the report.
    pub metrics: Object,
    /// Files that match `artifacts` and are handed over, and files that were deleted. Empty if there is a
    /// manifest.
    pub files: Vec<FileChange>,
    /// The list of these files, if it is too long for an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Manifest>,
    /// When the command was started.
    pub started_at: Timestamp,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
    /// Warnings for people, such as a secret found in an artifact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Another attempt had already replaced it. It is recorded and otherwise ignored.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub late: bool,
    /// It had been abandoned and was to be ended; then `late` is set too.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub given_up: bool,
    /// The flow that contains its step, if that is not the run's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowId>,
    /// The snapshot of the workspace after it, if snapshots are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_digest: Option<Digest>,
    /// Whether the workspace was changing while that snapshot was taken ([`Snapshot::moving`]).
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub workspace_moving: bool,
    /// The snapshot of the workspace before its command, if snapshots are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_before: Option<Snapshot>,
    /// The state of the agent's task, if the visit does not end with this attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentOutcome>,
    /// Members that the report lacked and the engine filled in: `generatedAt`, `skillName`, `data`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub report_filled: Vec<String>,
    /// The session that an agent program has reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionSeen>,
    /// The source of the result, if no attempt was made: the step is not in the run's part, and another run's
    /// visit supplied its hand-off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<TakenFrom>,
    /// The provider of an agent program has refused it temporarily.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<Throttled>,
    /// The restore of the workspace before its command, if one was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_back: Option<Box<FilesSetBack>>,
    /// The outcome of the cache, if its step has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Box<CacheUse>>,
    /// The result of a test runner, read from the stream that is not shown. An attempt that has not failed:
    /// from its stderr. A failed one: from its text, if its error is the end of the stderr of another
    /// command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_result: Option<String>,
}

/// The session of an agent program at the end of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSeen {
    /// Its id.
    pub id: String,
    /// Its sums.
    #[serde(default, skip_serializing_if = "SessionFigures::is_empty")]
    pub figures: SessionFigures,
    /// The id of the agent's last message in it, at which another session can branch off; `None`: none can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
}

impl AttemptSettled {
    /// Whether it failed with this code.
    #[must_use]
    pub fn has_failed_with(&self, code: Code) -> bool {
        self.error.as_ref().is_some_and(|error| error.is(code))
    }

    /// Whether the agent's task may go on without this attempt: the agent asks, contact was lost, or the
    /// attempt was abandoned before its message arrived. An attempt that was ended has cancelled its task
    /// itself.
    #[must_use]
    pub fn leaves_a_talk(&self) -> bool {
        match (&self.agent, &self.outcome) {
            (Some(outcome), _) => *outcome != AgentOutcome::Over,
            (None, Outcome::InDoubt { .. }) => true,
            (None, Outcome::Exited { .. } | Outcome::Signalled { .. }) => self.given_up,
            (None, Outcome::TimedOut | Outcome::Cancelled | Outcome::CannotStart { .. }) => false,
        }
    }
}

/// The state of another agent's task, other than success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentOutcome {
    /// It waits for an answer.
    Asks {
        /// Its question.
        text: String,
        /// The agent's task, or the tool call.
        evidence: Value,
        /// The kind of answer that it takes; `None`: words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<InterruptKind>,
    },
    /// Its task has ended without success.
    Over,
    /// It is not known whether the agent received the message.
    Unclear,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The command exited.
    Exited {
        /// Its exit code.
        code: i32,
    },
    /// A signal ended it.
    Signalled {
        /// Its number.
        signal: i32,
    },
    /// It exceeded its timeout and was ended.
    TimedOut,
    /// It was ended because the run was cancelled.
    Cancelled,
    /// It could not be started at all.
    CannotStart {
        /// The error of the operating system.
        reason: String,
    },
    /// Its end is not known.
    InDoubt {
        /// The known facts: `output_tail`, `ran_ms`, `files_changed`.
        evidence: Value,
    },
}
