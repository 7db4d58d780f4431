//! Why an input is refused.

use crate::model::{
    ids::{AttemptId, CallId, InterruptId, StepId, TimerId},
    part::Missing,
};
use envoi_contract::time::Timestamp;

/// Why an input is not acceptable now. The run is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// [`Input::Start`](crate::model::input::Input::Start) for a run that has begun.
    #[error("the run has already started")]
    AlreadyStarted,
    /// Any other input before the start.
    #[error("the run has not started")]
    NotStarted,
    /// The run is over, and this input is for one that is not.
    #[error("the run is over ({status})")]
    Over {
        /// How it ended.
        status: &'static str,
    },
    /// A reopening of a run that is still going, or that has succeeded.
    #[error("only a failed, exhausted or cancelled run can be reopened; this one is {status}")]
    NotReopenable {
        /// How it stands.
        status: &'static str,
    },
    /// The run cannot go on under the corrected flow. Nothing has changed.
    #[error("the corrected flow cannot take over: {}", reasons.join("; "))]
    NotCorrectable {
        /// Why, each in a sentence.
        reasons: Vec<String>,
    },
    /// What the corrected flow means for the run is not what was agreed to. Nothing has changed.
    #[error("the run, or its flow, is not as it was when the corrected flow was agreed to")]
    ComparisonChanged,
    /// The run cannot be forked there.
    #[error("the run cannot be forked: {reason}")]
    NotForkable {
        /// Why.
        reason: String,
    },
    /// The attempt is not live: unknown, already settled, or replaced by a later one and already recorded as late.
    #[error("attempt `{attempt}` is not live")]
    NotLive {
        /// Which.
        attempt: AttemptId,
    },
    /// No such question is open.
    #[error("question `{interrupt}` is not open")]
    NotOpen {
        /// Which.
        interrupt: InterruptId,
    },
    /// The question cannot be answered that way.
    #[error("`{choice}` is no answer to this question; it takes {accepted}")]
    WrongChoice {
        /// The choice that was refused.
        choice: &'static str,
        /// What it takes.
        accepted: String,
    },
    /// Its time is over; what follows from that is applied next.
    #[error("question `{interrupt}` has expired, at {at}")]
    Expired {
        /// Which.
        interrupt: InterruptId,
        /// When.
        at: Timestamp,
    },
    /// Its time has not come.
    #[error("question `{interrupt}` has not expired")]
    NotExpired {
        /// Which.
        interrupt: InterruptId,
    },
    /// What the person saw is not what the question is about.
    #[error("what was shown is not what question `{interrupt}` is about any more")]
    Changed {
        /// Which.
        interrupt: InterruptId,
    },
    /// The starter of the run may not answer this question.
    #[error("`{actor}` started the run and may not answer this question; another person must answer it")]
    NotByStarter {
        /// Who.
        actor: String,
    },
    /// One person counts once.
    #[error("`{actor}` has approved already; {missing} more have to")]
    AlreadyVoted {
        /// Who.
        actor: String,
        /// How many others are waited for.
        missing: u32,
    },
    /// The answer has nothing in it.
    #[error("the answer is blank")]
    Blank,
    /// The answer has something that this question does not take, or lacks something.
    #[error("the answer does not fit: {reason}")]
    Misfit {
        /// What.
        reason: String,
    },
    /// A bound cannot be raised, or nothing is.
    #[error("nothing is raised: {reason}")]
    NotRaised {
        /// Why.
        reason: String,
    },
    /// A try before its time, of a run that waits for no account.
    #[error("no step of the run waits for an account")]
    NoAccountAwaited,
    /// Another round would pass a bound.
    #[error("another round would pass a bound: {bound}")]
    PastBound {
        /// Which one, such as `max_iterations 3 of step critic`.
        bound: String,
    },
    /// A model may not be called: what the run or the attempt may use is used up, or set aside for others.
    #[error("no further model call may begin: {bound}")]
    NoCallsLeft {
        /// Which bound, and how it stands.
        bound: String,
    },
    /// A call of this id has begun.
    #[error("call `{call}` has begun already")]
    CallBegun {
        /// Which.
        call: CallId,
    },
    /// No such call is under way: it never began, or is known to be over.
    #[error("call `{call}` is not under way")]
    NoCall {
        /// Which.
        call: CallId,
    },
    /// No such timer is armed.
    #[error("timer `{timer}` is not armed")]
    NoTimer {
        /// Which.
        timer: TimerId,
    },
    /// The timer's time has not come.
    #[error("timer `{timer}` is not due")]
    NotDue {
        /// Which.
        timer: TimerId,
    },
    /// [`Input::SlotFree`](crate::model::input::Input::SlotFree) without a slot.
    #[error("no slot is free")]
    NoSlot,
    /// Nothing waits for a slot.
    #[error("no visit waits for a slot")]
    NothingReady,
    /// The steps that were named make no part of the flow.
    #[error("{reason}")]
    PartInvalid {
        /// Why not.
        reason: String,
    },
    /// Steps of the part read what nothing stands for.
    #[error("steps of this part read results of steps that are left out:{}", listed(missing))]
    PartIncomplete {
        /// Each of them, in the order of the file.
        missing: Vec<Missing>,
    },
    /// Its files are being set back, and something of that is not done yet.
    #[error("the files of the run are being set back")]
    Restoring,
    /// A step changes files by itself, and the run works in a folder of the user.
    #[error("step `{step}` has `{key}`, and the run has no tree of its own")]
    NotIsolated {
        /// Which.
        step: StepId,
        /// By which key.
        key: &'static str,
    },
    /// Nothing is being set back, or something else is.
    #[error("no such restore is under way")]
    NotRestoring,
    /// Attempts of it work in the folder.
    #[error("attempts of the run are at work")]
    StillAtWork,
    /// The run is being cancelled.
    #[error("the run is being cancelled")]
    Cancelling,
    /// The flow cannot carry this on: the journal belongs to another flow or version. A bug of ours, or a damaged store.
    #[error("the run's state does not fit its flow: {reason}")]
    Inconsistent {
        /// What does not fit.
        reason: String,
    },
}

/// A line for each.
fn listed(missing: &[Missing]) -> String {
    let line = |Missing { reader, path, line, why, .. }: &Missing| {
        let why = why.as_ref().map(|why| format!("; {why}")).unwrap_or_default();
        format!("\n  line {line}: step `{reader}` reads `{path}`{why}")
    };
    missing.iter().map(line).collect()
}
