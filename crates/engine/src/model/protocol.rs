//! Requests of commands to the engine, and its responses: JSON, one line each, the same in one process and
//! over the socket.
//!
//! The command may be of a newer version than the engine. A request with an unknown member is refused,
//! because the engine would otherwise ignore a part of the request. In a response, unknown members are
//! ignored.

pub use super::refused::Refused;
use super::{
    retention::{CollectRequest, Collected},
    runner::CallingAttempt,
};
use envoi_contract::{digest::Digest, json::Object};
use envoi_journal::Aside;
use envoi_kernel::{
    Record, Status,
    event::Choice,
    ids::{Principal, RunId, StepId},
    input::Answer,
    ledger::Ledger,
    part::Selection,
    requester::Requester,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

/// Exit code of a command if the store, the machine or its run has a fault.
const FAILED: u8 = 8;

/// A request to the engine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Begin a run and follow it.
    Start(Box<StartRequest>),
    /// Begin a run with the history of another one, and follow it.
    Fork(Box<ForkRequest>),
    /// Go on with a run and follow it.
    Resume(Box<ResumeRequest>),
    /// Answer a question, go on with its run and follow it.
    Answer(Box<AnswerRequest>),
    /// Set the files of a run's workspace back to a snapshot.
    Restore(Box<RestoreRequest>),
    /// Bring what a run has changed in its own tree into the folder that it was made from.
    Apply(Box<ApplyRequest>),
    /// End a run and follow it to its end.
    Cancel {
        /// The run.
        run: RunId,
        /// The requester.
        by: Principal,
        /// For the case that an attempt has to be waited for.
        caller: Box<CallerWire>,
    },
    /// Delete data that are not needed any more.
    Collect(Box<CollectRequest>),
    /// Checks that an engine answers.
    Ping,
}

impl Request {
    /// The name of the request.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Start(_) => "start",
            Self::Fork(_) => "fork",
            Self::Resume(_) => "resume",
            Self::Answer(_) => "answer",
            Self::Restore(_) => "restore",
            Self::Apply(_) => "apply",
            Self::Cancel { .. } => "cancel",
            Self::Collect(_) => "collect",
            Self::Ping => "ping",
        }
    }

    /// The run that it is about.
    #[must_use]
    pub fn run(&self) -> Option<&RunId> {
        match self {
            Self::Start(start) => Some(&start.run),
            Self::Fork(fork) => Some(&fork.run),
            Self::Resume(resume) => Some(&resume.run),
            Self::Answer(answer) => Some(&answer.run),
            Self::Restore(restore) => Some(&restore.run),
            Self::Apply(apply) => Some(&apply.run),
            Self::Cancel { run, .. } => Some(run),
            Self::Collect(_) | Self::Ping => None,
        }
    }

    /// The client's data: the variables that commands may see, and the attempts that wait for the run.
    pub fn caller_mut(&mut self) -> Option<&mut CallerWire> {
        match self {
            Self::Start(start) => Some(&mut start.caller),
            Self::Fork(fork) => Some(&mut fork.caller),
            Self::Resume(resume) => Some(&mut resume.caller),
            Self::Answer(answer) => Some(&mut answer.caller),
            Self::Restore(restore) => Some(&mut restore.caller),
            Self::Apply(apply) => Some(&mut apply.caller),
            Self::Cancel { caller, .. } => Some(caller),
            Self::Collect(_) | Self::Ping => None,
        }
    }
}

/// See [`Request::Start`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartRequest {
    /// Chosen by the caller, so that asking twice cannot start two runs.
    pub run: RunId,
    /// Name of the flow file, for diagnostics.
    pub flow_name: String,
    /// Its text.
    pub flow_text: String,
    /// The texts of the flows that it names, directly or not, by their paths.
    #[serde(default)]
    pub flow_parts: BTreeMap<String, String>,
    /// The version of the language in which it was registered. `None`: the newest.
    #[serde(default)]
    pub language: Option<u32>,
    /// Inputs as given, defaults not filled in.
    pub inputs: Object,
    /// How the workspace may be used.
    pub workspace: WorkspaceUse,
    /// Whether the files of the workspace are kept before and after each attempt.
    #[serde(default)]
    pub keep_files: bool,
    /// Whether no result comes from the cache of steps.
    #[serde(default)]
    pub no_cache: bool,
    /// The run gets a tree of its own, and keeps its files.
    #[serde(default)]
    pub isolate: Option<Isolate>,
    /// Steps whose questions are approved as soon as they are put.
    #[serde(default)]
    pub yes_to: Vec<StepId>,
    /// The client's `traceparent`; ignored if it is not well formed.
    #[serde(default)]
    pub trace: Option<String>,
    /// The requester, as the caller states it.
    #[serde(default)]
    pub requester: Requester,
    /// The part of the flow to execute; `None`: the whole flow.
    #[serde(default)]
    pub part: Option<PartRequest>,
    /// The requester.
    pub by: Principal,
    /// Variables and secrets of the client.
    pub caller: CallerWire,
}

/// The part of a flow that a run is to do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartRequest {
    /// The selected steps.
    pub selection: Selection,
    /// The run whose hand-offs replace those of omitted steps.
    pub with: Option<RunId>,
}

/// See [`Request::Fork`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForkRequest {
    /// Chosen by the caller, so that asking twice cannot start two runs.
    pub run: RunId,
    /// The run whose history the new one begins with.
    pub from: RunId,
    /// The step at which the new run begins; `None`: the step that stopped the other one.
    pub step: Option<StepId>,
    /// How the workspace may be used.
    pub workspace: WorkspaceUse,
    /// Steps whose questions are approved as soon as they are put.
    pub yes_to: Vec<StepId>,
    /// The reason, if one is given.
    pub why: Option<String>,
    /// The corrected flow for the new run; `None`: the flow that applied at that point.
    #[serde(default)]
    pub correct: Option<CorrectedFlow>,
    /// Whether the files are first set back to what they were when the step was entered.
    #[serde(default)]
    pub files: Option<SetBack>,
    /// The new run gets a tree of its own, and keeps its files.
    #[serde(default)]
    pub isolate: Option<Isolate>,
    /// The requester.
    pub by: Principal,
    /// Variables and secrets of the client.
    pub caller: CallerWire,
}

/// A run gets a tree of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Isolate {
    /// The folder in which trees lie.
    pub trees: PathBuf,
    /// Whether it begins with the commit that is checked out, without what was changed since.
    #[serde(default)]
    pub from_head: bool,
    /// Ignored files and folders that it gets too, relative to the workspace.
    #[serde(default)]
    pub bring: Vec<PathBuf>,
    /// The same, as far as they are there.
    #[serde(default)]
    pub bring_if_there: Vec<PathBuf>,
    /// Folders of which no snapshot is taken.
    #[serde(default)]
    pub too_wide: Vec<PathBuf>,
}

/// The files of a workspace are set back before a run goes on there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetBack {
    /// Folders of which no snapshot is taken.
    pub too_wide: Vec<PathBuf>,
}

/// How a run uses its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceUse {
    /// Alone: refused while another run has a live attempt in it.
    Alone,
    /// Beside others, knowingly.
    Shared,
    /// A copy of its own, in the run's folder.
    Copy,
}

/// See [`Request::Resume`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResumeRequest {
    /// Which run.
    pub run: RunId,
    /// The decision on its open questions, if one is given.
    pub choice: Option<Choice>,
    /// Whether a run that is over is to be reopened.
    pub reopen: bool,
    /// Amounts to add to its limits before it goes on.
    #[serde(default)]
    pub raise: Option<Ledger>,
    /// The corrected flow under which it goes on; an ended run is reopened.
    #[serde(default)]
    pub correct: Option<CorrectedFlow>,
    /// Whether it is tried again if it is set aside.
    #[serde(default)]
    pub again: bool,
    /// Whether visits that wait for a closed account, or have failed because of one, are tried now.
    #[serde(default)]
    pub now: bool,
    /// Whether the files are first set back to what they were when the attempt in doubt began. Only with [`Choice::Rerun`].
    #[serde(default)]
    pub files: Option<SetBack>,
    /// The id of the request: a request that was done already, and is made again because no reply came, is only followed.
    #[serde(default)]
    pub request: Option<String>,
    /// The reason, if one is given.
    pub why: Option<String>,
    /// The requester.
    pub by: Principal,
    /// Variables and secrets of the client.
    pub caller: CallerWire,
}

impl ResumeRequest {
    /// Follows a run: decides nothing, and reopens nothing.
    #[must_use]
    pub fn follow(run: RunId, by: Principal, caller: CallerWire) -> Self {
        Self {
            run,
            choice: None,
            reopen: false,
            raise: None,
            correct: None,
            again: false,
            now: false,
            files: None,
            request: None,
            why: None,
            by,
            caller,
        }
    }
}

/// A flow that corrects the one of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorrectedFlow {
    /// Absolute path of its file.
    pub name: String,
    /// Its text.
    pub text: String,
    /// The texts of the flows that it names, directly or not, by their paths.
    pub parts: BTreeMap<String, String>,
    /// The version of the language in which it was registered. `None`: the newest.
    #[serde(default)]
    pub language: Option<u32>,
    /// The step from which on finished steps run again. A fork has its own.
    pub from: Option<StepId>,
    /// The outlook that the person agreed to ([`envoi_kernel::Outlook::digest`]). `None`: agrees to any
    /// outlook. A fork has none, because it is of an ended run.
    #[serde(default)]
    pub seen: Option<Digest>,
}

/// See [`Request::Apply`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplyRequest {
    /// The run that has a tree of its own.
    pub run: RunId,
    /// The action.
    pub what: Applied,
    /// Folders of which no snapshot is taken.
    pub too_wide: Vec<PathBuf>,
    /// The reason, if one is given.
    pub why: Option<String>,
    /// The requester.
    pub by: Principal,
    /// Variables and secrets of the client.
    pub caller: CallerWire,
}

/// See [`ApplyRequest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Applied {
    /// All of it, or nothing where both sides changed the same lines.
    Whole,
    /// All of it. Lines that both sides changed stay as the folder has them.
    PreferFolder,
    /// All of it. Lines that both sides changed become those of the run.
    PreferRun,
    /// All of it. If both sides changed the same lines, both versions are in the file, between markers.
    Marked,
    /// Takes the last application back.
    Undone,
}

/// See [`Request::Restore`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RestoreRequest {
    /// The run whose workspace it is.
    pub run: RunId,
    /// The snapshot.
    pub to: Digest,
    /// The part of the workspace that gets the state of the snapshot; all else stays as it is. `None`: all of it.
    #[serde(default)]
    pub part: Option<RestorePart>,
    /// The list of the folders that come back with it, if it takes back a restore that took them away.
    #[serde(default)]
    pub folders_back: Option<Digest>,
    /// Folders of which no snapshot is taken.
    pub too_wide: Vec<PathBuf>,
    /// The reason, if one is given.
    pub why: Option<String>,
    /// The requester.
    pub by: Principal,
    /// For the case that an attempt has to be waited for.
    pub caller: CallerWire,
}

/// See [`RestoreRequest::part`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RestorePart {
    /// These files, and the files below these folders, relative to the workspace.
    Paths(Vec<PathBuf>),
    /// The differences between the snapshot and this one: to take back a restore of a part.
    ChangedFrom(Digest),
}

/// See [`Request::Answer`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    /// The run that asks.
    pub run: RunId,
    /// The answer. Its files are in the store already.
    pub answer: Answer,
    /// Whether the run is to be followed until it comes to rest; else it is enough that the answer is durable.
    pub follow: bool,
    /// Variables and secrets of the client.
    pub caller: CallerWire,
}

/// Data that a run takes from the client's process; never written to disk.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallerWire {
    /// Allowed variables.
    pub env: Vec<(String, String)>,
    /// Every variable that a flow's secret may name, by its name in the environment.
    pub secrets: Vec<(String, String)>,
    /// Folder of the flow file.
    pub flow_dir: PathBuf,
    /// The attempts that wait for this request, the nearest first.
    #[serde(default)]
    pub within: Vec<CallingAttempt>,
    /// The variables that the flow's expressions name, as far as they are set.
    #[serde(default)]
    pub read: Vec<(String, String)>,
    /// Well-known variables that are set for the caller and that commands do not see.
    #[serde(default)]
    pub not_passed: Vec<String>,
    /// Why a file of `env_file` cannot be used.
    #[serde(default)]
    pub env_file_problem: Option<String>,
}

impl CallerWire {
    /// With the variables that the secrets of the flow before a correction name. Nothing else of `before` is taken:
    /// commands that start see only what the corrected flow names.
    #[must_use]
    pub fn with_secrets_of(mut self, before: Self) -> Self {
        let is_new = |(name, _): &(String, String)| !self.secrets.iter().any(|(known, _)| known == name);
        let more: Vec<_> = before.secrets.into_iter().filter(is_new).collect();
        self.secrets.extend(more);
        self
    }
}

impl core::fmt::Debug for CallerWire {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CallerWire").field("flow_dir", &self.flow_dir).finish_non_exhaustive()
    }
}

/// A response of the engine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "heard", rename_all = "snake_case")]
pub enum Response {
    /// The request was taken; records of this run follow.
    Accepted {
        /// The run.
        run: RunId,
    },
    /// Something happened, and is durable.
    Record {
        /// The record.
        record: Box<Record>,
    },
    /// A note for the client; it changes nothing.
    Noted {
        /// In words.
        text: String,
    },
    /// The run has come to rest; nothing follows.
    Rest {
        /// The state of the run.
        standing: Standing,
    },
    /// Nothing was done.
    Refused(Refused),
    /// The engine has stopped; the run goes on when one is there again.
    Stopped {
        /// The reason.
        reason: String,
    },
    /// To [`Request::Collect`]: the removed things.
    Collected {
        /// The list.
        report: Box<Collected>,
    },
    /// To [`Request::Ping`].
    Pong,
}

impl Response {
    /// Whether nothing follows.
    #[must_use]
    pub fn is_last(&self) -> bool {
        !matches!(self, Self::Accepted { .. } | Self::Record { .. } | Self::Noted { .. })
    }
}

/// The state of a run, for commands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// `waiting`, `succeeded`, `failed`, `exhausted`, `cancelled` or `set_aside`.
    pub status: String,
    /// The word of contract 3, once over.
    pub terminal_reason: Option<String>,
    /// In a sentence.
    pub reason: Option<String>,
    /// The exit code of the command.
    pub exit_code: u8,
}

impl Standing {
    /// An answer is durable, and the client does not wait for what follows from it.
    #[must_use]
    pub fn answered() -> Self {
        Self { status: "answered".to_owned(), terminal_reason: None, reason: None, exit_code: 0 }
    }

    /// The run is set aside: it has not ended, and nothing of it goes on.
    #[must_use]
    pub fn set_aside(why: &Aside) -> Self {
        Self {
            status: "set_aside".to_owned(),
            terminal_reason: None,
            reason: Some(format!("{}: {}", why.code, why.reason)),
            exit_code: FAILED,
        }
    }

    /// `None` while the run is running.
    #[must_use]
    pub fn of(status: &Status) -> Option<Self> {
        let exit_code = status.exit_code()?;
        let ended = match status {
            Status::Ended(ended) => Some(ended),
            _ => None,
        };
        Some(Self {
            status: status.word().to_owned(),
            terminal_reason: ended.map(|ended| ended.terminal_reason.word().to_owned()),
            reason: ended.map(|ended| ended.reason.clone()),
            exit_code,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_request_with_a_member_of_a_newer_version_is_refused() {
        let caller = json!({"env": [], "secrets": [], "flow_dir": "/w"});
        let run = "run_01hzy3v7q4e8t2m6n0p5r9s1k3";
        let digest = format!("sha256:{}", "0".repeat(64));
        let requests = [
            json!({"ask": "start", "run": run, "flow_name": "f", "flow_text": "", "inputs": {}, "workspace": "alone"}),
            json!({"ask": "fork", "run": run, "from": run, "step": null, "workspace": "alone", "yes_to": [], "why": null}),
            json!({"ask": "resume", "run": run, "choice": null, "reopen": false, "why": null}),
            json!({"ask": "restore", "run": run, "to": digest, "too_wide": [], "why": null}),
            json!({"ask": "apply", "run": run, "what": "whole", "too_wide": [], "why": null}),
            json!({"ask": "cancel", "run": run}),
        ];
        for mut request in requests {
            request["by"] = json!({"tenant": "local", "actor": "a"});
            request["caller"] = caller.clone();
            let read = |request: &Value| serde_json::from_str::<Request>(&request.to_string());
            assert!(read(&request).is_ok(), "{request}: {:?}", read(&request).err());
            for pointer in ["", "/caller"] {
                let mut newer = request.clone();
                newer.pointer_mut(pointer).unwrap()["newer"] = json!(true);
                let refused = read(&newer).unwrap_err().to_string();
                assert!(refused.contains("unknown field `newer`"), "{newer}: {refused}");
            }
        }
    }
}
