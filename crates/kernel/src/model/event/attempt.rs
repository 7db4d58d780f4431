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
    /// Which attempt.
    pub attempt: AttemptId,
    /// What is to be executed.
    pub command: Command,
    /// Rendered variables of the flow and the step, later ones win. Secrets are not among them.
    pub env: Vec<(String, String)>,
    /// Folder relative to the workspace; `.` for the workspace itself.
    pub cwd: String,
    /// Longest duration.
    pub timeout_ms: Option<u64>,
    /// Times that the innermost loop has gone back, 0 outside a loop.
    pub iteration: u64,
    /// The visit whose hand-off the command is given as the last one.
    pub handoff: Option<VisitId>,
    /// The attempt whose text the command is given as feedback: the critic's, or the failed one that it tries again.
    pub feedback: Option<AttemptId>,
    /// The answer that sent the run back, whose text belongs to the feedback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_back_by: Option<InterruptId>,
    /// The last answer that the run was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<InterruptId>,
    /// Identity of the boot in which it was decided; a reboot since then means that it cannot still be running.
    pub boot_id: String,
    /// Its step's budget, set aside until it is settled. `None`: it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Budget>,
    /// The attempt in doubt of which it says whether it happened. `None`: it does the step's own work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verifies: Option<AttemptId>,
    /// The snapshot whose files the workspace gets before the command is started. `None`: the files stay as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_back: Option<Digest>,
    /// The item in whose own tree the command works. `None`: it works in the workspace of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<VisitId>,
}

impl AttemptStarted {
    /// Whether it merges what the items of its step have changed.
    #[must_use]
    pub fn merges(&self) -> bool {
        matches!(self.command, Command::Merge(_))
    }
}

/// See [`Event::AttemptSettled`](super::Event::AttemptSettled).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptSettled {
    /// Which attempt.
    pub attempt: AttemptId,
    /// How it ended.
    pub outcome: Outcome,
    /// The verdict (contract 4).
    pub ok: bool,
    /// Why not.
    pub error: Option<SkillError>,
    /// The step's text, by digest; the file is among the attempt's.
    pub text: Option<Blob>,
    /// Whether the text is only a part of what the command wrote. Then nothing is read from it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub text_cut: bool,
    /// The skill report, by digest.
    pub report: Option<Blob>,
    /// `data` of the report; over 64 KiB `{"$artifact": digest, "size": n}`.
    pub data: Value,
    /// The content that holds the data where `data` is such a reference. None in events of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_kept: Option<Blob>,
    /// `metrics` of the report.
    pub metrics: Object,
    /// Files that match `artifacts` and are handed over, and those that were deleted. Empty where there is a manifest.
    pub files: Vec<FileChange>,
    /// The list of these files, where it is too long for an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Manifest>,
    /// When the command was started.
    pub started_at: Timestamp,
    /// How long it ran.
    pub duration_ms: u64,
    /// Things a person should know, such as a secret seen in an artifact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Another attempt had already taken its place: recorded, and ignored.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub late: bool,
    /// It had been given up and was to be ended; then it is late, too.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub given_up: bool,
    /// The flow that its step stands in, if that is not the run's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowId>,
    /// The snapshot of the workspace after it, if snapshots are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_digest: Option<Digest>,
    /// Whether that snapshot is [`Snapshot::moving`].
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub workspace_moving: bool,
    /// The snapshot of the workspace before its command, if snapshots are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_before: Option<Snapshot>,
    /// The state of the agent's task, where the visit is not over with this attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentOutcome>,
    /// Members that the report lacked and that the engine filled: `generatedAt`, `skillName`, `data`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub report_filled: Vec<String>,
    /// The session that an agent program has reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionSeen>,
    /// No attempt was made: the step is left out of the run's part, and this is what another run's visit handed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<TakenFrom>,
    /// The provider of an agent program has refused it for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<Throttled>,
    /// The files of the workspace were set back before its command, or were to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_back: Option<Box<FilesSetBack>>,
    /// What came of the cache of its step, if that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Box<CacheUse>>,
    /// The result of a test runner, from the stream that is not shown: of an attempt that has not failed from its stderr, of one that has
    /// failed from its text, where its error is the end of another stderr.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_result: Option<String>,
}

/// The session of an agent program, as it was when an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSeen {
    /// Its id.
    pub id: String,
    /// Its sums.
    #[serde(default, skip_serializing_if = "SessionFigures::is_empty")]
    pub figures: SessionFigures,
    /// The id of the agent's last message in it, where another session can begin; none: no other one can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
}

impl AttemptSettled {
    /// Whether it has failed, and with this code.
    #[must_use]
    pub fn has_failed_with(&self, code: Code) -> bool {
        self.error.as_ref().is_some_and(|error| error.is(code))
    }

    /// Whether the agent's task may go on without this attempt, if it talked to an agent: that asks, was lost sight of, or
    /// was given up before that could reach it. An attempt that was ended has seen to that itself.
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

/// What another agent has come to, beside success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentOutcome {
    /// It waits for an answer.
    Asks {
        /// Its question.
        text: String,
        /// Which task of which agent, or which call of a tool.
        evidence: Value,
        /// What it takes; `None`: words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<InterruptKind>,
    },
    /// Its task is over, without success.
    Over,
    /// It is not known whether the agent took the message.
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
    /// It outlived its timeout and was ended.
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
        /// What is known: `output_tail`, `ran_ms`, `files_changed`.
        evidence: Value,
    },
}
