//! What happens to a run from outside.
//!
//! Why it is refused is [`Refusal`]; what the run wants then is [`Wants`].

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

/// Something that a run has to react to.
///
/// Between machines it travels as a [`crate::wire::Message`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Input {
    /// Begin.
    Start(Box<Start>),
    /// Begin with the history of another run, up to a step.
    Fork(Box<Fork>),
    /// A slot is free for the visit that waits longest. It is the one that is given with the input.
    SlotFree,
    /// An attempt is over: how it ended and what it left.
    Settled(Box<AttemptResult>),
    /// An attempt was announced and is not running, and its end is not known.
    InDoubt {
        /// Which.
        attempt: AttemptId,
        /// What is known: `output_tail`, `ran_ms`, `files_changed`.
        evidence: Value,
    },
    /// A model is to be called on the run's account.
    ModelCall(Box<ModelCall>),
    /// A call of a model is over. Also taken when its attempt, or the run, is over meanwhile.
    ModelCalled(Box<ModelCalled>),
    /// A person decides a question.
    Answer(Box<Answer>),
    /// What a question showed is not what is there any more: it is put again.
    Changed {
        /// The question.
        interrupt: InterruptId,
        /// The artifacts that differ, as they are now.
        found: Vec<FoundFile>,
    },
    /// The time of a question is over.
    Expire {
        /// The question.
        interrupt: InterruptId,
    },
    /// The time of a timer has come.
    TimerDue {
        /// Which.
        timer: TimerId,
    },
    /// Let the run use more than its flow says; one that a bound ended goes on.
    Raise {
        /// What is added to each bound.
        more: Ledger,
        /// Who wants it.
        by: Principal,
        /// The reason, if one was given.
        why: Option<String>,
        /// The id of the request, if it may be made twice.
        request: Option<String>,
        /// What others of its family have used and been given beyond what it knows of.
        elsewhere: Share,
    },
    /// Go on under a corrected flow, which the run has to know ([`crate::Run::learn`]); one that is over is reopened.
    Correct(Box<Correct>),
    /// Try what waits for a closed account now, before its time, or asks whether to wait for it. A run that is over is reopened, and
    /// no account that its flow names is closed for it.
    TryNow {
        /// Who wants it.
        by: Principal,
        /// The reason, if one was given.
        why: Option<String>,
        /// The id of the request, if it may be made twice.
        request: Option<String>,
        /// What others of its family have used and been given beyond what it knows of, if it is reopened.
        elsewhere: Share,
    },
    /// The files of the workspace are to be set back to a snapshot; what stands there is kept already.
    RestoreFiles(Box<FilesRestoring>),
    /// They are set back.
    FilesRestored(Box<FilesRestored>),
    /// They could not be set back, and nothing of them was touched.
    FilesKept {
        /// Why not.
        reason: String,
    },
    /// End the run; live attempts are ended first.
    Cancel {
        /// Who wants it.
        by: Principal,
    },
    /// Let an ended run go on.
    Reopen {
        /// Who wants it.
        by: Principal,
        /// The reason, if one was given.
        why: Option<String>,
        /// The id of the request, if it may be made twice.
        request: Option<String>,
        /// What others of its family have used and been given beyond what it knows of.
        elsewhere: Share,
    },
}

/// A place in which one attempt may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slot {
    /// Identity of the machine's present boot.
    pub boot_id: String,
    /// How the accounts of the store stand that have refused an attempt.
    pub accounts: Arc<Standings>,
}

impl Slot {
    /// One in this boot, in a store in which no account is closed.
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
    /// The attempt whose command asks for it; it must be live. `None`: the caller is not an attempt of the run.
    pub attempt: Option<AttemptId>,
    /// Which model.
    pub model: String,
    /// Who offers it.
    pub provider: String,
}

/// See [`Input::ModelCalled`]. What is not known is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCalled {
    /// Which call.
    pub call: CallId,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Tokens that the model was given.
    pub tokens_in: Option<u64>,
    /// Tokens that the model gave.
    pub tokens_out: Option<u64>,
    /// What it cost.
    pub cost: Option<Cost>,
    /// How long it took.
    pub duration_ms: u64,
    /// When the limit of the provider's account is over that refused it, if it was one and that is stated.
    pub refused_until: Option<Timestamp>,
}

impl ModelCalled {
    /// The end of the call is not known.
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
    /// The decision.
    pub choice: Choice,
    /// In words, as they were given. A clarification needs some, unless it asks for a form.
    pub text: Option<String>,
    /// The form, checked against the question's schema.
    pub data: Option<Value>,
    /// Files, at most 20.
    pub attachments: Vec<AttachmentRef>,
    /// With [`Choice::Raise`]: what is added to the bound.
    pub raise: Option<Ledger>,
    /// What the person saw; refused if it is not what the question is about. `None`: they answer the question as it is.
    pub seen: Option<Digest>,
    /// Who decides.
    pub by: Principal,
    /// Through which channel, such as `cli`.
    pub channel: String,
    /// The id of the request, if it may be made twice.
    #[serde(default)]
    pub request: Option<String>,
}

impl Answer {
    /// A decision without words, form or files.
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
    /// Checked inputs with defaults filled in.
    pub inputs: Object,
    /// Absolute path of the flow file.
    pub source: String,
    /// Absolute path of the workspace.
    pub workspace: String,
    /// Whether other runs may have live attempts there at the same time.
    pub shared: bool,
    /// Whether the files of the workspace are kept before and after each attempt.
    pub keep_files: bool,
    /// Whether no result comes from the cache of steps.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub no_cache: bool,
    /// The tree of its own in which the workspace lies, if it has one.
    pub isolated: Option<Box<Isolated>>,
    /// Absolute path of the run's own folder.
    pub run_base: String,
    /// Version of the flow language.
    pub language: u32,
    /// Who starts it.
    pub by: Principal,
    /// Steps whose questions are approved as soon as they are put.
    pub yes_to: Vec<StepId>,
    /// The `traceparent` of the caller that starts it.
    pub trace: Option<String>,
    /// The variables that the flow's expressions name, as the caller has them. What is not set is absent.
    pub env: Object,
    /// On whose behalf, as the caller states it; checked.
    pub requester: Requester,
    /// The part of the flow that it does; `None`: the whole flow.
    pub part: Option<Box<Part>>,
}

/// What an attempt left behind, as its supervisor recorded it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttemptResult {
    /// Which.
    pub attempt: AttemptId,
    /// How it ended; never [`Outcome::InDoubt`].
    pub outcome: Outcome,
    /// When the command was started.
    pub started_at: Timestamp,
    /// How long it ran.
    pub duration_ms: u64,
    /// The step's text, at most 1 MiB.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Whether the text is only a part of what the command wrote. Then no status, no route and no data is read from it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub text_cut: bool,
    /// Why the bytes that the text was made of are no text, if they are none.
    pub text_unreadable: Option<String>,
    /// The same in the store.
    pub text_blob: Option<Blob>,
    /// The end of stderr, for the error message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr_tail: String,
    /// The bytes of a fresh report.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "bytes_as_text")]
    pub report: Option<Vec<u8>>,
    /// The same in the store.
    pub report_blob: Option<Blob>,
    /// The bytes of what the command wrote at `$ENVOI_DATA`.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "bytes_as_text")]
    pub data: Option<Vec<u8>>,
    /// The same in the store.
    pub data_blob: Option<Blob>,
    /// What stood there and is no file that can be read, in words.
    pub data_unreadable: Option<String>,
    /// The session that an agent program has named, also if it left no report.
    pub session: Option<String>,
    /// Where the report stood.
    pub report_place: ReportPlace,
    /// Files that match `artifacts` and are handed over, and those that were deleted: listed only as far as
    /// [`crate::model::files::are_listed`] says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
    /// Where they are more; `files` is empty then.
    pub manifest: Option<Many>,
    /// Things a person should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Why the data of the report is not what the step's `outputs` say, if it is not.
    pub misfit: Option<String>,
    /// Why what it left cannot be handed over: it is past a bound.
    pub excess: Option<String>,
    /// Which files it was to leave and did not, if its step fails for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacking: Option<String>,
    /// The snapshot of the workspace before its command, if snapshots are kept.
    pub workspace_before: Option<Snapshot>,
    /// The one after it.
    pub workspace_after: Option<Snapshot>,
    /// The files were set back before its command, or were to be.
    pub set_back: Option<Box<FilesSetBack>>,
    /// What came of the cache of its step, if that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Box<CacheUse>>,
}

impl AttemptResult {
    /// The result of an attempt that left nothing: no text, no report and no files, after no time. An attempt that could not be
    /// started has this one.
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

/// Where a report stood, and what stood there in its place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportPlace {
    /// At the path in `ENVOI_REPORT`: whatever stands there is a report or a failure. Else behind `--output`.
    pub assigned: bool,
    /// What stood there and is no file that can be read, such as `a folder`; there is no report then.
    pub unreadable: Option<String>,
}

/// See [`Input::Correct`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Correct {
    /// The corrected flow.
    pub flow: Digest,
    /// The version of the language that it is written in.
    pub language: u32,
    /// Absolute path of its file.
    pub source: String,
    /// The step from which on finished steps run again.
    pub from: Option<StepId>,
    /// Who wants it.
    pub by: Principal,
    /// The reason, if one was given.
    pub why: Option<String>,
    /// The id of the request that it comes with, if it has one.
    pub request: Option<String>,
    /// What others of its family have used and been given beyond what it knows of.
    #[serde(default, skip_serializing_if = "Share::is_nothing")]
    pub elsewhere: Share,
    /// The [`crate::Outlook::digest`] that was agreed to. `None`: whatever it means by now is agreed to.
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
    /// Steps whose questions are approved at once. The list of the old run does not count.
    pub yes_to: Vec<StepId>,
    /// Who wants it.
    pub by: Principal,
    /// The reason, if one was given.
    pub why: Option<String>,
    /// Where it begins: the step, of the run's own flow, as it was entered last. `None`: the step that stopped the run.
    pub from: Option<StepId>,
    /// All records of the old run, as it was replayed from them. They are written by their digest alone: see
    /// [`crate::wire::Message`].
    #[serde(
        default,
        skip_deserializing,
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "by_digest_only"
    )]
    pub lived: Vec<crate::model::event::Record>,
    /// What all runs of the family have used and been given, the old one among them.
    pub family: Share,
    /// The corrected flow under which the new run goes on from there; its `from`, `elsewhere` and `seen` do not count. `None`: the one that
    /// held there.
    pub correct: Option<Box<Correct>>,
    /// The tree of its own in which the workspace lies, if it has one.
    pub isolated: Option<Box<Isolated>>,
    /// The files of the workspace are set back before anything of the new run starts.
    pub files: Option<Box<FilesRestoring>>,
}

/// The history of a fork may be larger than any message.
fn by_digest_only<S: Serializer>(_: &[crate::model::event::Record], _: S) -> Result<S::Ok, S::Error> {
    Err(S::Error::custom("the history of a fork travels by its digest"))
}
