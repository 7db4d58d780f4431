//! The events of a run, as the journal stores them: one small type per event, named in the past tense.
//!
//! Owns the vocabulary and its serialised form (see [`write`](self::write)). [`crate::Run::apply`] owns the
//! effect of an event. Every value that a decision computed (results of expressions, waits, ids) is stored in
//! an event and never computed again.

mod attempt;
mod cached;
mod correction;
mod files;
mod flow;
mod model_call;
mod question;
mod read;
mod route;
mod run;
mod timer;
mod unreadable;
mod write;

pub(crate) use self::route::EXHAUSTED;
pub use self::{
    attempt::{AgentOutcome, AttemptSettled, AttemptStarted, Outcome, SessionSeen},
    cached::{CacheUse, CachedFrom},
    correction::{Correction, CorrectionDropped},
    files::{FilesKeptAsTheyWere, FilesRestored, FilesRestoring, FilesSetBack, LateFile, Reach},
    flow::{FannedOut, FlowEntered, FlowReturned, GoalsReached, GoalsSet, StepEntered, StepsGivenUp},
    model_call::{CallOutcome, ModelCallEnded, ModelCallStarted},
    question::{
        About, Choice, FoundFile, InterruptAnswered, InterruptCancelled, InterruptExpired, InterruptRaised,
    },
    route::{Course, Done, HandoffWritten, Routed, is_exhausted},
    run::{
        CancelRequested, EndStatus, Isolated, LimitsRaised, RunEnded, RunForked, RunReopened, RunStarted,
        SnapshotScope,
    },
    timer::{AccountsTried, TimerFired, TimerSet},
    unreadable::Unreadable,
};
use crate::model::ids::Seq;
pub use crate::model::{
    command::{
        Call, CallAnswer, Command, MergeCall, MergeItem, ModelCall, ProgramCall, SessionFigures, SessionFork,
    },
    files::{Blob, Change, FileChange, Snapshot},
};
use envoi_contract::time::Timestamp;
use serde::{Deserialize, Serialize};

/// A line of a run's journal. `seq` starts at 0 and has no gaps; `at` never decreases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Sequence number within the run.
    pub seq: Seq,
    /// When it was decided.
    pub at: Timestamp,
    /// The event.
    pub event: Event,
}

/// Something that happened to a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The run begins; its first visit is open.
    RunStarted(Box<RunStarted>),
    /// In a graph: the conditions of a step are met, and its next visit is open.
    StepEntered(StepEntered),
    /// In a graph: these steps will not be executed, because another branch was taken or finished first.
    StepsGivenUp(StepsGivenUp),
    /// A visit is executed once for each of these values.
    FannedOut(Box<FannedOut>),
    /// The goals of the run; its first round begins.
    GoalsSet(GoalsSet),
    /// Goals are reached.
    GoalsReached(GoalsReached),
    /// A flow begins as a part of this run.
    FlowEntered(Box<FlowEntered>),
    /// The flow that a visit ran is complete.
    FlowReturned(Box<FlowReturned>),
    /// An attempt is announced. It may start once this event is committed.
    AttemptStarted(Box<AttemptStarted>),
    /// An attempt has ended, or its end can no longer be known.
    AttemptSettled(Box<AttemptSettled>),
    /// A model call is announced. It may begin once this event is committed. It counts even if it fails.
    ModelCallStarted(Box<ModelCallStarted>),
    /// A model call has ended, or its end is not known.
    ModelCallEnded(Box<ModelCallEnded>),
    /// The course that the run takes after a visit.
    Routed(Box<Routed>),
    /// The visit is done and visible; it never runs again.
    HandoffWritten(Box<HandoffWritten>),
    /// The run needs a person.
    InterruptRaised(Box<InterruptRaised>),
    /// A person has answered.
    InterruptAnswered(Box<InterruptAnswered>),
    /// A required person has approved, and others still must; the question stays open.
    VoteCast(Box<InterruptAnswered>),
    /// The question expired.
    InterruptExpired(InterruptExpired),
    /// The question is void: the run was cancelled, or the subject has changed and the question is raised
    /// again.
    InterruptCancelled(InterruptCancelled),
    /// Something is due later.
    TimerSet(TimerSet),
    /// The timer was due; or the visit that waited for it was abandoned; or a person skipped the wait.
    TimerFired(TimerFired),
    /// A person requests that visits that wait for these accounts are tried now. Their timers fire in the
    /// same commit.
    AccountsTried(AccountsTried),
    /// A person raised bounds of the run.
    LimitsRaised(Box<LimitsRaised>),
    /// Nothing further starts. The run ends in this way when its live attempts have ended.
    RunStopping(RunEnded),
    /// Nothing further starts; live attempts are being ended.
    CancelRequested(CancelRequested),
    /// An ended run continues.
    RunReopened(Box<RunReopened>),
    /// The events before this one were copied from another run; this run continues from here.
    RunForked(Box<RunForked>),
    /// A person corrects the flow while attempts are live. Nothing starts, and the correction takes effect
    /// when they have ended.
    CorrectionRequested(Box<Correction>),
    /// Another version of the flow applies from here on. Earlier events stay valid.
    FlowCorrected(Box<Correction>),
    /// A requested correction no longer fits the state of the run.
    CorrectionDropped(CorrectionDropped),
    /// The files of the workspace are being restored to a snapshot. Nothing starts meanwhile.
    FilesRestoring(Box<FilesRestoring>),
    /// The files are restored.
    FilesRestored(Box<FilesRestored>),
    /// The restore failed before it changed any file.
    FilesKeptAsTheyWere(FilesKeptAsTheyWere),
    /// The run has ended.
    RunEnded(RunEnded),
}

impl Event {
    /// The id of the request that caused the event, if such a request takes effect only once however often it
    /// is sent.
    #[must_use]
    pub fn request(&self) -> Option<&str> {
        match self {
            Self::InterruptAnswered(answered) | Self::VoteCast(answered) => answered.request.as_deref(),
            Self::LimitsRaised(raised) => raised.request.as_deref(),
            Self::RunReopened(reopened) => reopened.request.as_deref(),
            Self::AccountsTried(tried) => tried.request.as_deref(),
            Self::CorrectionRequested(of) | Self::FlowCorrected(of) => of.request.as_deref(),
            _ => None,
        }
    }
}
