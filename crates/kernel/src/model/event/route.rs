//! Events that close a visit: its course and its hand-off.

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

/// The rule of the decision table (CONTRACTS §1.4) that applies when a loop has used its last round.
pub(crate) const EXHAUSTED: &str = "4";

/// Whether a loop has used its last round without a success value: its signal is still `loop`, and it does
/// not go back. For an event see [`Routed::goes_on_without_success`].
#[must_use]
pub fn is_exhausted(signal: &Signal, audit: &Value) -> bool {
    signal.decision == Decision::Loop && audit.get("row").and_then(Value::as_str) == Some(EXHAUSTED)
}

/// See [`Event::Routed`](super::Event::Routed).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Routed {
    /// The visit that was routed.
    pub visit: VisitId,
    /// The signal. The kernel follows it within the bounds.
    pub signal: Signal,
    /// The course that the kernel takes.
    pub course: Course,
    /// The reason: the rule that applied and those that did not, or the answer. Null if the hand-off of the
    /// visit follows in the same commit: its `routing_audit` then holds the reason. The reason is the longest
    /// part of both events, so it is stored once.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub audit: Value,
    /// The answer that decided it, if a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<InterruptId>,
    /// How its flow ends because of this, unless a later step handles the failure. Other steps may still run
    /// before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Box<RunEnded>>,
}

/// How a step of a graph ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    /// It passed; dependent steps may start.
    Passed,
    /// It was not executed; dependent steps may start.
    Skipped,
    /// It failed.
    Failed,
    /// It was not executed; the hand-off of another run replaces its own, and dependent steps may start.
    Taken,
}

/// The next action of the kernel after a visit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// Enters this step.
    Enter(StepId),
    /// Goes back to this step; counts as an iteration of the loop that the routed step closes.
    LoopBack(StepId),
    /// Begins the next round at this step, because goals are open.
    Round(StepId),
    /// In a graph: the step has ended, and its dependent steps are examined.
    Done(Done),
    /// An item has ended. The step goes on when all of its items have ended.
    Gathered,
    /// The flow is complete.
    Complete,
    /// Waits. Either a person is needed, and an interrupt follows; or a hint leads into another flow, which
    /// is entered.
    Hold,
    /// The flow ends. In the run's own flow, `run_ended` follows.
    Stop,
}

impl Routed {
    /// Whether the run goes on although its loop has used its last round without a success value. The
    /// hand-off that follows names the rule.
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
    /// The hand-off, exactly as its file will contain it.
    pub handoff: Handoff,
    /// The whole text of the visit. Present only if the summary is a part of it, expressions of the flow read
    /// it, and it is short enough to be a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
