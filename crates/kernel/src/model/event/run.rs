//! Events of a run as a whole: its start, its limits, its end, and its continuation after the end.

use crate::model::{
    family::Share,
    ids::{FlowId, Principal, RunId, Seq, StepId, VisitId},
    ledger::Ledger,
    part::Part,
    requester::Requester,
};
use envoi_contract::{
    digest::Digest,
    envelope::TerminalReason,
    json::{Object, Value},
};
use serde::{Deserialize, Serialize};

/// See [`Event::RunStarted`](super::Event::RunStarted).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// The run.
    pub run: RunId,
    /// The flow's id.
    pub flow: FlowId,
    /// The pinned flow's digest.
    pub flow_digest: Digest,
    /// Version of the flow language.
    pub language: u32,
    /// Absolute path of the flow file; secret files are relative to its folder.
    pub source: String,
    /// Declared inputs, with defaults filled in.
    pub inputs: Object,
    /// Absolute path of the folder in which commands run.
    pub workspace: String,
    /// Whether other runs may have live attempts there at the same time.
    #[serde(default)]
    pub shared: bool,
    /// Whether the files of the workspace are kept before and after each attempt.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub keep_files: bool,
    /// The scope of its snapshots, to its end. A run that an earlier build has started keeps the scope of that build: files that a
    /// snapshot lacks and the next one has would be deleted when the first is restored.
    #[serde(default, skip_serializing_if = "SnapshotScope::is_first")]
    pub snapshots: SnapshotScope,
    /// Whether the cache of steps is not used.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub no_cache: bool,
    /// The tree of its own in which the run works. `None`: it works in a folder of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolated: Option<Box<Isolated>>,
    /// Absolute path of the run's own folder (RUN_BASE).
    pub run_base: String,
    /// The requester.
    pub by: Principal,
    /// Steps whose questions are approved at once, as the start request demands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub yes_to: Vec<StepId>,
    /// The `traceparent` of the caller that started it. It only determines the ids of traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// The variables of the caller's environment that expressions of the flow name (`env.NAME`). They are
    /// fixed at the start, like inputs.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub env: Object,
    /// The requester, as the caller states it. Empty in runs of versions without this member.
    #[serde(default, skip_serializing_if = "Requester::is_empty")]
    pub requester: Requester,
    /// The part of the flow that the run executes. `None`: the whole flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Box<Part>>,
}

/// The contents of the snapshots of a run, beside the files that no rule ignores.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotScope {
    /// The files of submodules that are there without their repository, as in a tree of its own.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub submodules: bool,
    /// Files that are kept although git ignores them: globs of files and folders, relative to the workspace. As the flow had them when the
    /// run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
}

impl SnapshotScope {
    /// That of a run that begins now. `keeps`: whether there are any.
    #[must_use]
    pub fn of_new_run(keeps: bool, also: &[String]) -> Self {
        match keeps {
            true => Self { submodules: true, also: also.to_vec() },
            false => Self::default(),
        }
    }

    /// Whether it is that of runs that were started before there was a choice.
    #[must_use]
    pub fn is_first(&self) -> bool {
        *self == Self::default()
    }
}

/// The tree of a run, made before it began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolated {
    /// Absolute path of the workspace that is left unchanged and receives the result.
    pub of: String,
    /// Absolute path of the tree's root. The workspace of the run is this folder or below it.
    pub place: String,
    /// The branch of the worktree. `None`: it is a folder without git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit that the branch began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The snapshot of the initial workspace of the run.
    pub base: Digest,
    /// Remarks for people, such as what the tree does not contain; one sentence each, only a few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

impl RunStarted {
    /// The scope of the snapshots of a fork of this run. Earlier snapshots are its own too, so they stay as they are. `is_isolated`: the
    /// fork gets a tree of its own, and so has snapshots in any case.
    #[must_use]
    pub fn snapshots_of_fork(&self, is_isolated: bool) -> SnapshotScope {
        match self.keep_files {
            true => self.snapshots.clone(),
            false => SnapshotScope::of_new_run(is_isolated, &[]),
        }
    }

    /// The user: the one that the caller named, otherwise the one who started the run.
    #[must_use]
    pub fn user_id(&self) -> &str {
        self.requester.user_id.as_deref().unwrap_or(&self.by.actor)
    }

    /// The conversation: the one that the caller named, otherwise the run itself.
    #[must_use]
    pub fn session_id(&self) -> &str {
        self.requester.session_id.as_deref().unwrap_or_else(|| self.run.as_str())
    }

    /// The request as received, otherwise the inputs as JSON.
    #[must_use]
    pub fn raw_input(&self) -> String {
        let inputs = || Value::Object(self.inputs.clone()).compact();
        self.requester.raw_input.clone().unwrap_or_else(inputs)
    }
}

/// See [`Event::LimitsRaised`](super::Event::LimitsRaised).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitsRaised {
    /// The requester.
    pub by: Principal,
    /// The reason, if one was given.
    pub why: Option<String>,
    /// The amount added to each bound.
    pub more: Ledger,
    /// As in [`InterruptAnswered::request`](super::InterruptAnswered::request).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

/// See [`Event::CancelRequested`](super::Event::CancelRequested).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CancelRequested {
    /// The requester.
    pub by: Principal,
}

/// See [`Event::RunReopened`](super::Event::RunReopened).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReopened {
    /// The requester.
    pub by: Principal,
    /// The reason, if one was given.
    pub why: Option<String>,
    /// The step that gets a new visit, or whose last decision is repeated.
    pub step: StepId,
    /// Its last visit, if only a bound kept that visit from going back: the bound now allows it, and the run
    /// goes back without repeating the visit. `None`: the step gets a new visit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decides: Option<VisitId>,
    /// Usage and raised bounds of the other runs of its family since this run last knew them.
    #[serde(default, skip_serializing_if = "Share::is_nothing")]
    pub elsewhere: Share,
    /// As in [`InterruptAnswered::request`](super::InterruptAnswered::request). `None` also if a raise or a
    /// correction reopens the run: their events hold the request id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

/// See [`Event::RunForked`](super::Event::RunForked).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunForked {
    /// The run that the earlier events were copied from.
    pub from: RunId,
    /// The run at the root of the chain of forks.
    pub root: RunId,
    /// The step that had just been entered.
    pub step: StepId,
    /// The last event that was copied from `from`.
    pub at: Seq,
    /// The requester.
    pub by: Principal,
    /// The reason, if one was given.
    pub why: Option<String>,
    /// Usage and raised bounds of all runs of the family so far. They count for this run.
    pub family: Share,
}

/// See [`Event::RunEnded`](super::Event::RunEnded).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEnded {
    /// The status.
    pub status: EndStatus,
    /// The reason for programs; stored as its word, such as `completed`.
    pub terminal_reason: TerminalReason,
    /// The reason in one sentence.
    pub reason: String,
    /// The step that stopped it. If the run is reopened, this step gets a new visit.
    pub stopped_by: Option<StepId>,
}

impl RunEnded {
    /// An end, with the step that caused it, if any.
    #[must_use]
    pub fn new(status: EndStatus, why: TerminalReason, reason: String, stopped_by: Option<StepId>) -> Self {
        Self { status, terminal_reason: why, reason, stopped_by }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndStatus {
    /// Every step that had to be executed is done.
    Succeeded,
    /// A step, a person or a signal stopped it.
    Failed,
    /// A bound was reached.
    Exhausted,
    /// A person cancelled it.
    Cancelled,
}
