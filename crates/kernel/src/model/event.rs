//! What happened to a run: one small type an event, in the past tense, as it stands in the journal.
//!
//! Owns the vocabulary and its serialised form (how the journal has it: [`write`](self::write)). Says nothing of what an event changes: that is
//! [`crate::Run::apply`]. Everything that a decision computed (results of expressions, waits, ids) is stored here and
//! never computed again.

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

/// One line of a run's journal. `seq` starts at 0 and has no gaps; `at` never goes back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Place in the run.
    pub seq: Seq,
    /// When it was decided.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The run exists; its first visit is open.
    RunStarted(Box<RunStarted>),
    /// In a graph: what a step waits for is there; its next visit is open.
    StepEntered(StepEntered),
    /// In a graph: these steps are not to be done, because another branch was taken or was first.
    StepsGivenUp(StepsGivenUp),
    /// A visit is done once for each of these values.
    FannedOut(Box<FannedOut>),
    /// What the run is for; its first round begins.
    GoalsSet(GoalsSet),
    /// Goals are reached.
    GoalsReached(GoalsReached),
    /// A flow begins as a part of this run.
    FlowEntered(Box<FlowEntered>),
    /// The flow that a visit ran is complete.
    FlowReturned(Box<FlowReturned>),
    /// An attempt is announced. It may start once this is committed.
    AttemptStarted(Box<AttemptStarted>),
    /// An attempt is over, or its end can no longer be known.
    AttemptSettled(Box<AttemptSettled>),
    /// A model call is announced. It may begin once this is committed, and it counts whatever its outcome.
    ModelCallStarted(Box<ModelCallStarted>),
    /// A model call is over, or its end is not known.
    ModelCallEnded(Box<ModelCallEnded>),
    /// Where a visit leads.
    Routed(Box<Routed>),
    /// The visit is done and visible; it never runs again.
    HandoffWritten(Box<HandoffWritten>),
    /// The run needs a person.
    InterruptRaised(Box<InterruptRaised>),
    /// A person decided.
    InterruptAnswered(Box<InterruptAnswered>),
    /// One of several people who have to approve did; the question stays open.
    VoteCast(Box<InterruptAnswered>),
    /// The question expired.
    InterruptExpired(InterruptExpired),
    /// The question is void: the run was cancelled, or what it was about has changed and it is put again.
    InterruptCancelled(InterruptCancelled),
    /// Something is due later.
    TimerSet(TimerSet),
    /// It was due, or the visit that waited for it was given up, or a person does not wait for it.
    TimerFired(TimerFired),
    /// A person has what waits for these accounts tried now, before its time; its timers fire in the same commit.
    AccountsTried(AccountsTried),
    /// The run may use more than its flow says.
    LimitsRaised(Box<LimitsRaised>),
    /// Nothing further starts; the run ends like this when its live attempts are over.
    RunStopping(RunEnded),
    /// Nothing further starts; live attempts are being ended.
    CancelRequested(CancelRequested),
    /// An ended run goes on.
    RunReopened(Box<RunReopened>),
    /// What stands before it was lived by another run; this one goes on from here.
    RunForked(Box<RunForked>),
    /// A person corrects the flow while attempts are live: nothing starts, and it takes effect when they are over.
    CorrectionRequested(Box<Correction>),
    /// From here on another version of the flow holds. What stands before it stays.
    FlowCorrected(Box<Correction>),
    /// A correction that was requested does not fit what the run has come to since.
    CorrectionDropped(CorrectionDropped),
    /// The files of the workspace are being set back to a snapshot; nothing starts meanwhile.
    FilesRestoring(Box<FilesRestoring>),
    /// They are set back.
    FilesRestored(Box<FilesRestored>),
    /// They could not be set back, and nothing of them was touched.
    FilesKeptAsTheyWere(FilesKeptAsTheyWere),
    /// The run is over.
    RunEnded(RunEnded),
}

impl Event {
    /// The id of the request that it came of, if it is of those that a request causes once, however often it is sent.
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
