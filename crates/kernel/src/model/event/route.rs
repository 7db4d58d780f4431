//! Events that close a visit: where it leads, and its hand-off.

use crate::model::{
    event::run::RunEnded,
    ids::{InterruptId, StepId, VisitId},
};
use envoi_contract::{
    handoff::Handoff,
    json::Value,
    routing::{Decision, Signal},
};
use serde::{Deserialize, Serialize};

/// The row of the decision table (CONTRACTS §1.4) that fires when a loop has had its last round.
pub(crate) const EXHAUSTED: &str = "4";

/// Whether a loop has had its last round without a value of success: its signal is still `loop`, and it does not go back. Of an event
/// see [`Routed::goes_on_without_success`].
#[must_use]
pub fn is_exhausted(signal: &Signal, audit: &Value) -> bool {
    signal.decision == Decision::Loop && audit.get("row").and_then(Value::as_str) == Some(EXHAUSTED)
}

/// See [`Event::Routed`](super::Event::Routed).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Routed {
    /// The visit that leads on.
    pub visit: VisitId,
    /// The signal; obeyed within bounds.
    pub signal: Signal,
    /// What the kernel does with it.
    pub course: Course,
    /// Why: the row that fired and those that did not, or the answer. Null where the hand-off of the visit follows in the same commit: that has
    /// it as `routing_audit`, and it is the longest part of both.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub audit: Value,
    /// The answer that decided it, if a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<InterruptId>,
    /// How its flow ends because of this, unless a later step handles the failure. Other steps may still run before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Box<RunEnded>>,
}

/// How a step of a graph ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    /// What needs it may go on.
    Passed,
    /// It was not done, and what needs it may go on.
    Skipped,
    /// It failed.
    Failed,
    /// It was not done: the hand-off of another run stands for its own, and what needs it may go on.
    Taken,
}

/// What the kernel does after a visit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// Enters this step.
    Enter(StepId),
    /// Goes back to this step; counts as an iteration of the loop that the routed step closes.
    LoopBack(StepId),
    /// Begins the next round at this step: goals are open.
    Round(StepId),
    /// In a graph: the step is over, and what needs it is looked at.
    Done(Done),
    /// An item is over; the step goes on when all of its items are.
    Gathered,
    /// The flow is complete.
    Complete,
    /// Waits: for a person, and the interrupt follows; or for the flow that a hint leads into, which is entered.
    Hold,
    /// The flow ends; at the top `run_ended` follows.
    Stop,
}

impl Routed {
    /// Whether it leads on although its loop has had its last round without a value of success. The rule that decided so stands in the
    /// hand-off that follows.
    #[must_use]
    pub fn goes_on_without_success(&self) -> bool {
        let leads_on = match self.course {
            Course::Enter(_) | Course::Complete => true,
            Course::Done(done) => done != Done::Failed,
            Course::LoopBack(_) | Course::Round(_) | Course::Gathered | Course::Hold | Course::Stop => false,
        };
        leads_on && self.signal.decision == Decision::Loop
    }
}

/// See [`Event::HandoffWritten`](super::Event::HandoffWritten).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HandoffWritten {
    /// The visit that it closes.
    pub visit: VisitId,
    /// The hand-off, as it will stand in its file.
    pub handoff: Handoff,
    /// The whole text of the visit, where the summary is a part of it, expressions of the flow read it, and it is short enough to be a
    /// value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
