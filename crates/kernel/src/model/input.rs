//! Inputs of a run: everything that reaches it from outside.
//!
//! [`Refusal`] is the reason for refusing an input; [`Wants`] is the outcome that the run requires of the
//! engine.

use crate::model::{
    bytes_as_text,
    event::{
        CacheUse, CallOutcome, Choice, FilesRestored, FilesRestoring, FilesSetBack, FoundFile, Isolated,
        Outcome,
    },
    family::Share,
    files::{Blob, FileChange, Many, Snapshot},
    ids::{AttemptId, CallId, InterruptId, Principal, RunId, StepId, TimerId},
    ledger::{Cost, Ledger},
    part::Part,
    requester::Requester,
    throttle::Standings,
};
use envoi_contract::{
    digest::Digest,
    json::{Object, Value},
    time::Timestamp,
    user_envelope::AttachmentRef,
};
use serde::{Deserialize, Serialize, Serializer, ser::Error as _};
use std::sync::Arc;

pub use crate::model::{refusal::Refusal, wants::Wants};

/// An input that a run has to react to.
///
/// Between machines it is sent as a [`crate::wire::Message`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Input {
    /// Starts the run.
    Start(Box<Start>),
    /// Starts the run with the history of another run, up to a step.
    Fork(Box<Fork>),
    /// A slot is free, for the visit that has waited longest. The slot is passed with the input.
    SlotFree,
    /// An attempt has ended, with its result.
    Settled(Box<AttemptResult>),
    /// An announced attempt is not running, and its end is not known.
    InDoubt {
        /// The attempt.
        attempt: AttemptId,
        /// The known facts: `output_tail`, `ran_ms`, `files_changed`.
        evidence: Value,
    },
    /// A model is to be called, charged to the run.
    ModelCall(Box<ModelCall>),
    /// A model call has ended. Accepted even if its attempt or the run has ended meanwhile.
    ModelCalled(Box<ModelCalled>),
    /// A person answers a question.
    Answer(Box<Answer>),
    /// The subject of a question has changed; the question is raised again.
    Changed {
        /// The question.
        interrupt: InterruptId,
        /// The artifacts that differ, in their present state.
        found: Vec<FoundFile>,
    },
    /// A question has expired.
    Expire {
        /// The question.
        interrupt: InterruptId,
    },
    /// A timer is due.
    TimerDue {
        /// The timer.
        timer: TimerId,
    },
    /// Raises bounds of the run. A run that ended at a bound continues.
    Raise {
        /// The amount added to each bound.
        more: Ledger,
        /// The requester.
        by: Principal,
        /// The reason, if one was given.
        why: Option<String>,
        /// The id of the request, if it may be sent twice.
        request: Option<String>,
        /// Usage and raised bounds of the family that the run does not know yet.
        elsewhere: Share,
    },
    /// Continues under a corrected flow, which must be known to the run ([`crate::Run::learn`]). An ended run
    /// is reopened.
    Correct(Box<Correct>),
    /// Tries visits now that wait for a closed account, or whose question is whether to wait. An ended run is
    /// reopened, with all accounts of its flow counted as open.
    TryNow {
        /// The requester.
        by: Principal,
        /// The reason, if one was given.
        why: Option<String>,
        /// The id of the request, if it may be sent twice.
        request: Option<String>,
        /// Usage and raised bounds of the family that the run does not know yet, if it is reopened.
        elsewhere: Share,
    },
    /// Restores the files of the workspace to a snapshot. The present files are stored already.
    RestoreFiles(Box<FilesRestoring>),
    /// The files were restored.
    FilesRestored(Box<FilesRestored>),
    /// The restore failed before it changed any file.
    FilesKept {
        /// The reason.
        reason: String,
    },
    /// Cancels the run; live attempts are ended first.
    Cancel {
        /// The requester.
        by: Principal,
    },
    /// Continues an ended run.
    Reopen {
        /// The requester.
        by: Principal,
        /// The reason, if one was given.
        why: Option<String>,
        /// The id of the request, if it may be sent twice.
        request: Option<String>,
        /// Usage and raised bounds of the family that the run does not know yet.
        elsewhere: Share,
    },
}

/// Permission to run one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slot {
    /// Identity of the machine's present boot.
    pub boot_id: String,
    /// The state of the store's accounts that have refused an attempt.
    pub accounts: Arc<Standings>,
}

impl Slot {
    /// A slot in this boot, with all accounts open.
    #[must_use]
    pub fn new(boot_id: impl Into<String>) -> Self {
        Self { boot_id: boot_id.into(), accounts: Arc::default() }
    }
}

/// See [`Input::ModelCall`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCall {
    /// A new id.
    pub call: CallId,
    /// The attempt whose command requests it; it must be live. `None`: the caller is not an attempt of the
    /// run.
    pub attempt: Option<AttemptId>,
    /// The model.
    pub model: String,
    /// The provider.
    pub provider: String,
}

/// See [`Input::ModelCalled`]. `None` means not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCalled {
    /// The call.
    pub call: CallId,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Input tokens.
    pub tokens_in: Option<u64>,
    /// Output tokens.
    pub tokens_out: Option<u64>,
    /// The cost.
    pub cost: Option<Cost>,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// When the limit of the provider's account ends, if the provider refused the call and states a time.
    pub refused_until: Option<Timestamp>,
}

impl ModelCalled {
    /// A call whose end is not known.
    #[must_use]
    pub fn lost(call: CallId) -> Self {
        let outcome = CallOutcome::BrokenOff;
        Self {
            call,
            outcome,
            tokens_in: None,
            tokens_out: None,
            cost: None,
            duration_ms: 0,
            refused_until: None,
        }
    }
}

/// See [`Input::Answer`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The question.
    pub interrupt: InterruptId,
    /// The choice.
    pub choice: Choice,
    /// The answer in words, as given. A clarification requires some, unless it asks for a form.
    pub text: Option<String>,
    /// The completed form, checked against the question's schema.
    pub data: Option<Value>,
    /// Files that come with it; at most 20.
    pub attachments: Vec<AttachmentRef>,
    /// With [`Choice::Raise`]: the amount added to the bound.
    pub raise: Option<Ledger>,
    /// Digest of the subject that the person saw; the answer is refused if the subject has changed. `None`:
    /// the present subject is accepted.
    pub seen: Option<Digest>,
    /// The person who answers.
    pub by: Principal,
    /// The channel, such as `cli`.
    pub channel: String,
    /// The id of the request, if it may be sent twice.
    #[serde(default)]
    pub request: Option<String>,
}

impl Answer {
    /// An answer without words, form or files.
    #[must_use]
    pub fn new(interrupt: InterruptId, choice: Choice, by: Principal) -> Self {
        Self {
            interrupt,
            choice,
            text: None,
            data: None,
            attachments: Vec::new(),
            raise: None,
            seen: None,
            by,
            channel: String::new(),
            request: None,
        }
    }
}

/// See [`Input::Start`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// A new id.
    pub run: RunId,
    /// Checked inputs, with defaults filled in.
    pub inputs: Object,
    /// Absolute path of the flow file.
    pub source: String,
    /// Absolute path of the workspace.
    pub workspace: String,
    /// Whether other runs may have live attempts there at the same time.
    pub shared: bool,
    /// Whether the files of the workspace are kept before and after each attempt.
    pub keep_files: bool,
    /// Whether the cache of steps is not used.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub no_cache: bool,
    /// The tree of its own that contains the workspace, if it has one.
    pub isolated: Option<Box<Isolated>>,
    /// Absolute path of the run's own folder.
    pub run_base: String,
    /// Version of the flow language.
    pub language: u32,
    /// The requester.
    pub by: Principal,
    /// Steps whose questions are approved as soon as they are raised.
    pub yes_to: Vec<StepId>,
    /// The `traceparent` of the caller that starts it.
    pub trace: Option<String>,
    /// The caller's values of the variables that the flow's expressions name. Unset variables are absent.
    pub env: Object,
    /// The requester, as the caller states it; already checked.
    pub requester: Requester,
    /// The part of the flow that the run executes; `None`: the whole flow.
    pub part: Option<Box<Part>>,
}

/// The result of an attempt, as its supervisor recorded it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttemptResult {
    /// The attempt.
    pub attempt: AttemptId,
    /// How it ended; never [`Outcome::InDoubt`].
    pub outcome: Outcome,
    /// When the command was started.
    pub started_at: Timestamp,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
    /// The step's text, at most 1 MiB.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Whether the text was truncated. If so, no status, route or data is read from it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub text_cut: bool,
    /// Why the bytes of the text are not valid text, if they are not.
    pub text_unreadable: Option<String>,
    /// The text in the store.
    pub text_blob: Option<Blob>,
    /// The end of stderr, for the error message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr_tail: String,
    /// The bytes of a report that this attempt wrote.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "bytes_as_text")]
    pub report: Option<Vec<u8>>,
    /// The report in the store.
    pub report_blob: Option<Blob>,
    /// The bytes that the command wrote to `$ENVOI_DATA`.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "bytes_as_text")]
    pub data: Option<Vec<u8>>,
    /// The data in the store.
    pub data_blob: Option<Blob>,
    /// The object at that path, in words, if it is not a readable file.
    pub data_unreadable: Option<String>,
    /// The session that an agent program has named, even if it left no report.
    pub session: Option<String>,
    /// The place of the report.
    pub report_place: ReportPlace,
    /// Files that match `artifacts` and are handed over, and files that were deleted. Listed only up to the
    /// limits of [`crate::model::files::are_listed`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
    /// The manifest, if there are more files; `files` is then empty.
    pub manifest: Option<Many>,
    /// Warnings for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Why the data of the report do not match the step's `outputs`, if they do not.
    pub misfit: Option<String>,
    /// The limit that its result exceeds, so that it cannot be handed over.
    pub excess: Option<String>,
    /// The files that it failed to write, if its step fails because of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacking: Option<String>,
    /// The snapshot of the workspace before its command, if snapshots are kept.
    pub workspace_before: Option<Snapshot>,
    /// The snapshot of the workspace after its command, if snapshots are kept.
    pub workspace_after: Option<Snapshot>,
    /// The restore of the workspace before its command, if one was requested.
    pub set_back: Option<Box<FilesSetBack>>,
    /// The outcome of the cache, if its step has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Box<CacheUse>>,
}

impl AttemptResult {
    /// The result of an attempt without text, report or files, and with a duration of 0. Used for an attempt
    /// that could not be started.
    #[must_use]
    pub const fn empty(attempt: AttemptId, outcome: Outcome, started_at: Timestamp) -> Self {
        Self {
            attempt,
            outcome,
            started_at,
            duration_ms: 0,
            text: String::new(),
            text_cut: false,
            text_unreadable: None,
            text_blob: None,
            stderr_tail: String::new(),
            report: None,
            report_blob: None,
            data: None,
            data_blob: None,
            data_unreadable: None,
            session: None,
            report_place: ReportPlace { assigned: false, unreadable: None },
            files: Vec::new(),
            manifest: None,
            warnings: Vec::new(),
            misfit: None,
            excess: None,
            lacking: None,
            workspace_before: None,
            workspace_after: None,
            set_back: None,
            cache: None,
        }
    }
}

/// The place of a report, and the object found there instead of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportPlace {
    /// True: at the path in `ENVOI_REPORT`; everything at that path is a report or a failure. False: at the
    /// path that follows `--output`.
    pub assigned: bool,
    /// The object at that path if it is not a readable file, such as `a folder`; there is no report then.
    pub unreadable: Option<String>,
}

/// See [`Input::Correct`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Correct {
    /// The corrected flow.
    pub flow: Digest,
    /// The version of the flow language of the corrected flow.
    pub language: u32,
    /// Absolute path of its file.
    pub source: String,
    /// The step from which finished steps run again.
    pub from: Option<StepId>,
    /// The requester.
    pub by: Principal,
    /// The reason, if one was given.
    pub why: Option<String>,
    /// The id of the request, if it has one.
    pub request: Option<String>,
    /// Usage and raised bounds of the family that the run does not know yet.
    #[serde(default, skip_serializing_if = "Share::is_nothing")]
    pub elsewhere: Share,
    /// The [`crate::Outlook::digest`] that the person agreed to. `None`: agrees to any outlook.
    pub seen: Option<Digest>,
}

/// See [`crate::model::input::Input::Fork`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fork {
    /// A new id.
    pub run: RunId,
    /// Absolute path of the new run's own folder.
    pub run_base: String,
    /// Absolute path of its workspace.
    pub workspace: String,
    /// Whether other runs may have live attempts there at the same time.
    pub shared: bool,
    /// Steps whose questions are approved at once. The old run's list does not apply.
    pub yes_to: Vec<StepId>,
    /// The requester.
    pub by: Principal,
    /// The reason, if one was given.
    pub why: Option<String>,
    /// The step of the run's own flow at which the new run begins, at its latest entry. `None`: the step that
    /// stopped the run.
    pub from: Option<StepId>,
    /// All records of the old run. They are written only by digest: see [`crate::wire::Message`].
    #[serde(
        default,
        skip_deserializing,
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "by_digest_only"
    )]
    pub lived: Vec<crate::model::event::Record>,
    /// Usage and raised bounds of all runs of the family, including the old one.
    pub family: Share,
    /// The corrected flow under which the new run continues; its `from`, `elsewhere` and `seen` are ignored.
    /// `None`: the flow that applied at that point.
    pub correct: Option<Box<Correct>>,
    /// The tree of its own that contains the workspace, if it has one.
    pub isolated: Option<Box<Isolated>>,
    /// The restore of the workspace before anything of the new run starts.
    pub files: Option<Box<FilesRestoring>>,
}

/// The history of a fork may be larger than any message.
fn by_digest_only<S: Serializer>(_: &[crate::model::event::Record], _: S) -> Result<S::Ok, S::Error> {
    Err(S::Error::custom("the history of a fork travels by its digest"))
}
