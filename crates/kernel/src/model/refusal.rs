//! Reasons for refusing an input.

use crate::model::{
    ids::{AttemptId, CallId, InterruptId, StepId, TimerId},
    part::Missing,
};
use envoi_contract::time::Timestamp;

/// Why an input is not acceptable now. The run is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// [`Input::Start`](crate::model::input::Input::Start) for a run that has begun.
    #[error("the run has already started")]
    AlreadyStarted,
    /// Any other input before the start.
    #[error("the run has not started")]
    NotStarted,
    /// The run has ended, and this input requires one that has not.
    #[error("the run is over ({status})")]
    Over {
        /// How it ended.
        status: &'static str,
    },
    /// A request to reopen a run that has not ended or has succeeded.
    #[error("only a failed, exhausted or cancelled run can be reopened; this one is {status}")]
    NotReopenable {
        /// Its status.
        status: &'static str,
    },
    /// The run cannot continue under the corrected flow. Nothing has changed.
    #[error("the corrected flow cannot take over: {}", reasons.join("; "))]
    NotCorrectable {
        /// The reasons, one sentence each.
        reasons: Vec<String>,
    },
    /// The effect of the corrected flow on the run differs from what the person agreed to. Nothing has
    /// changed.
    #[error("the run, or its flow, is not as it was when the corrected flow was agreed to")]
    ComparisonChanged,
    /// The run cannot be forked at this step.
    #[error("the run cannot be forked: {reason}")]
    NotForkable {
        /// The reason.
        reason: String,
    },
    /// The attempt is not live: unknown, already settled, or replaced by a later one and already recorded as late.
    #[error("attempt `{attempt}` is not live")]
    NotLive {
        /// The attempt.
        attempt: AttemptId,
    },
    /// This question is not open.
    #[error("question `{interrupt}` is not open")]
    NotOpen {
        /// The question.
        interrupt: InterruptId,
    },
    /// The question cannot be answered that way.
    #[error("`{choice}` is no answer to this question; it takes {accepted}")]
    WrongChoice {
        /// The choice that was refused.
        choice: &'static str,
        /// The accepted choices.
        accepted: String,
    },
    /// The question has expired; the expiry is applied next.
    #[error("question `{interrupt}` has expired, at {at}")]
    Expired {
        /// The question.
        interrupt: InterruptId,
        /// The time.
        at: Timestamp,
    },
    /// The question has not expired yet.
    #[error("question `{interrupt}` has not expired")]
    NotExpired {
        /// The question.
        interrupt: InterruptId,
    },
    /// The subject of the question differs from what the person saw.
    #[error("what was shown is not what question `{interrupt}` is about any more")]
    Changed {
        /// The question.
        interrupt: InterruptId,
    },
    /// The starter of the run may not answer this question.
    #[error("`{actor}` started the run and may not answer this question; another person must answer it")]
    NotByStarter {
        /// The starter.
        actor: String,
    },
    /// This person has voted already; each person counts once.
    #[error("`{actor}` has approved already; {missing} more have to")]
    AlreadyVoted {
        /// The person.
        actor: String,
        /// How many other people are still needed.
        missing: u32,
    },
    /// The answer is empty.
    #[error("the answer is blank")]
    Blank,
    /// The answer has a member that this question does not take, or lacks one.
    #[error("the answer does not fit: {reason}")]
    Misfit {
        /// The mismatch.
        reason: String,
    },
    /// The bound cannot be raised, or the amount is 0.
    #[error("nothing is raised: {reason}")]
    NotRaised {
        /// The reason.
        reason: String,
    },
    /// A request to try accounts now, but the run waits for none.
    #[error("no step of the run waits for an account")]
    NoAccountAwaited,
    /// Another round would exceed a bound.
    #[error("another round would pass a bound: {bound}")]
    PastBound {
        /// The bound, such as `max_iterations 3 of step critic`.
        bound: String,
    },
    /// No model may be called: the bound of the run or the budget of the attempt is used up, or reserved for
    /// others.
    #[error("no further model call may begin: {bound}")]
    NoCallsLeft {
        /// The bound, and its state.
        bound: String,
    },
    /// A call with this id has begun already.
    #[error("call `{call}` has begun already")]
    CallBegun {
        /// The call.
        call: CallId,
    },
    /// This call is not in progress: it never began, or it has ended.
    #[error("call `{call}` is not under way")]
    NoCall {
        /// The call.
        call: CallId,
    },
    /// This timer is not set.
    #[error("timer `{timer}` is not armed")]
    NoTimer {
        /// The timer.
        timer: TimerId,
    },
    /// The timer is not due yet.
    #[error("timer `{timer}` is not due")]
    NotDue {
        /// The timer.
        timer: TimerId,
    },
    /// [`Input::SlotFree`](crate::model::input::Input::SlotFree) without a slot.
    #[error("no slot is free")]
    NoSlot,
    /// No visit waits for a slot.
    #[error("no visit waits for a slot")]
    NothingReady,
    /// The named steps are not a valid part of the flow.
    #[error("{reason}")]
    PartInvalid {
        /// The reason.
        reason: String,
    },
    /// Steps of the part read results that have no substitute.
    #[error("steps of this part read results of steps that are left out:{}", listed(missing))]
    PartIncomplete {
        /// The missing results, in the order of the file.
        missing: Vec<Missing>,
    },
    /// A restore of its files is not finished.
    #[error("the files of the run are being set back")]
    Restoring,
    /// A step changes files by itself, but the run works in a folder of the user.
    #[error("step `{step}` has `{key}`, and the run has no tree of its own")]
    NotIsolated {
        /// The step.
        step: StepId,
        /// The key in the flow that makes it change files.
        key: &'static str,
    },
    /// No restore is in progress, or a different one.
    #[error("no such restore is under way")]
    NotRestoring,
    /// Attempts of the run are working in the folder.
    #[error("attempts of the run are at work")]
    StillAtWork,
    /// The run is being cancelled.
    #[error("the run is being cancelled")]
    Cancelling,
    /// The journal does not fit the flow: it belongs to another flow or version. A defect of this program, or
    /// a damaged store.
    #[error("the run's state does not fit its flow: {reason}")]
    Inconsistent {
        /// The mismatch.
        reason: String,
    },
}

/// A line per missing result.
fn listed(missing: &[Missing]) -> String {
    let line = |Missing { reader, path, line, why, .. }: &Missing| {
        let why = why.as_ref().map_or_else(String::new, |why| format!("; {why}"));
        format!("\n  line {line}: step `{reader}` reads `{path}`{why}")
    };
    missing.iter().map(line).collect()
}
