//! Reasons why an event contradicts the state of its run.
//!
//! Each of them means that the journal belongs to another run or was changed, because a decision tries its
//! events on a copy of the state before they are committed.

use crate::model::ids::{AttemptId, FlowId, InterruptId, Seq, TimerId, VisitId};
use envoi_contract::digest::Digest;

/// Why an event contradicts the state of its run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IllegalEvent {
    /// The sequence has a gap or a repetition.
    #[error("event {expected} was expected")]
    WrongSeq {
        /// The next sequence number.
        expected: Seq,
    },
    /// The time of the event is earlier than that of the last one.
    #[error("its time is before that of the event before it")]
    EarlierThanLast,
    /// The first event is not a start, or a run starts twice.
    #[error("a run starts once, with its first event")]
    NotTheStart,
    /// The run pins another flow.
    #[error("it pins flow {pinned}, this is {found}")]
    OtherFlow {
        /// The digest in the event.
        pinned: Digest,
        /// The digest of the given flow.
        found: Digest,
    },
    /// The flow has no steps; a checked flow always has some.
    #[error("the flow has no steps")]
    NoSteps,
    /// The flow has no inner flow of this id.
    #[error("there is no flow `{flow}`")]
    NoFlow {
        /// The inner flow.
        flow: FlowId,
    },
    /// An inner flow that is to continue does not exist.
    #[error("scope `{scope}` is not there")]
    NoScope {
        /// Its scope.
        scope: String,
    },
    /// Rounds without goals.
    #[error("the run has no goals")]
    NoGoals,
    /// The visit is not open.
    #[error("visit `{visit}` is not open")]
    VisitNotOpen {
        /// The visit.
        visit: VisitId,
    },
    /// The number of the attempt is not the next one, or its visit is not ready.
    #[error("attempt `{attempt}` is not the next one")]
    NotTheNextAttempt {
        /// The attempt.
        attempt: AttemptId,
    },
    /// The attempt is not running.
    #[error("attempt `{attempt}` is not live")]
    AttemptNotLive {
        /// The attempt.
        attempt: AttemptId,
    },
    /// The question is not open.
    #[error("interrupt `{interrupt}` is not open")]
    InterruptNotOpen {
        /// The question.
        interrupt: InterruptId,
    },
    /// The timer is not set.
    #[error("timer `{timer}` is not armed")]
    TimerNotArmed {
        /// The timer.
        timer: TimerId,
    },
    /// A step of a graph failed, but the event lacks the end of its flow.
    #[error("a failure does not say how the flow ends")]
    FailureWithoutEnd,
    /// The run is continued although it has not ended.
    #[error("the run is not over")]
    NotOver,
    /// The run is stopped, cancelled or ended although it has ended.
    #[error("the run is over")]
    Over,
    /// The run is stopped or cancelled although it is being cancelled.
    #[error("the run is being cancelled")]
    BeingCancelled,
    /// The run ends while an attempt runs.
    #[error("an attempt is still live")]
    AttemptStillLive,
    /// The model call has begun already.
    #[error("call `{call}` is under way")]
    CallUnderWay {
        /// The call.
        call: String,
    },
    /// The model call has not begun, or has ended.
    #[error("call `{call}` is not under way")]
    CallNotUnderWay {
        /// The call.
        call: String,
    },
    /// The model call was begun by another attempt.
    #[error("call `{call}` is of another attempt")]
    CallOfAnotherAttempt {
        /// The call.
        call: String,
    },
}
