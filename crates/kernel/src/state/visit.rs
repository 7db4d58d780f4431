//! A visit before its hand-off.

use crate::{
    model::{
        command::Command,
        event::{AgentOutcome, AttemptSettled, AttemptStarted, InterruptAnswered, MergeCall, Outcome},
        flow::{CommandPlan, InDoubtPolicy, Step},
        ids::{AttemptId, VisitId},
        ledger::Budget,
    },
    state::{
        agent_session::AgentSession,
        doubt::{self, Doubt, VerificationResult},
        files_at_entry::FilesAtEntry,
        for_each::ForEachItems,
        throttle::Waited,
        tool_approval::ToolApproval,
    },
};
use envoi_contract::{json::Value, skill_report::SkillError};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A visit that has no hand-off yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenVisit {
    pub(crate) state: VisitState,
    /// Number of the last attempt; 0 before the first.
    pub(crate) attempts: u32,
    /// Number of failed attempts that count as tries.
    pub(crate) failures: u32,
    /// Number of attempts that were in doubt.
    #[serde(default)]
    pub(crate) doubts: u32,
    /// The last doubt, with the data for its verification; `None` once a person has decided about it.
    #[serde(default)]
    pub(crate) doubt: Option<Arc<Doubt>>,
    /// Why its last attempt failed or stayed in doubt.
    pub(crate) error: Option<SkillError>,
    /// The announcement of the last attempt.
    pub(crate) plan: Option<Arc<AttemptStarted>>,
    /// Its items, if its step is a `for_each`.
    #[serde(default, rename = "fan")]
    pub(crate) for_each: Option<Box<ForEachItems>>,
    /// Its progress with another agent.
    #[serde(default, rename = "talk")]
    pub(crate) agent_session: AgentSession,
    /// The approval of a tool call that its agent program postponed.
    #[serde(default, rename = "asked_call", skip_serializing_if = "ToolApproval::is_none")]
    pub(crate) tool_approval: ToolApproval,
    /// Its waiting for the account of its agent program.
    #[serde(default, skip_serializing_if = "Waited::is_nothing")]
    pub(crate) waited: Waited,
    /// The files that its step began with.
    #[serde(default, skip_serializing_if = "FilesAtEntry::is_nothing")]
    pub(crate) files: FilesAtEntry,
    /// Whether the flow that it ran is complete and ended with a truncated text.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(crate) text_cut: bool,
}

/// The state of a visit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum VisitState {
    /// Waits for a free slot, or for another look.
    Ready,
    /// Its items are in progress.
    #[serde(rename = "Fan")]
    ForEach,
    /// The flow that it runs is in progress.
    Inside,
    /// The flow that it ran is complete, with this data. The consequence follows in the same commit.
    Returned(Value),
    /// Its last attempt is live.
    Running,
    /// Waits for its next try.
    Backoff,
    /// Waits for a person to decide about its last attempt.
    InDoubt,
    /// Waits for a person: its step asks, or the agent that it talks to asks, or a bound has to be raised.
    #[serde(rename = "Asked")]
    AwaitsAnswer,
    /// A person has answered its step's question. The consequence follows in the same commit.
    Answered(Arc<InterruptAnswered>),
    /// The question expired. The consequence follows in the same commit.
    Expired,
    /// Its last attempt has settled and its result is known. The consequence follows in the same commit.
    /// After doubt, and when an agent asks, a visit is `Ready` again unless a question or its hand-off
    /// follows.
    Settled(Arc<AttemptSettled>),
}

impl OpenVisit {
    /// Records that its live attempt has ended or is in doubt.
    pub(crate) fn settle(&mut self, event: &AttemptSettled) {
        if let Some(call) = merging(self).filter(|_| event.ok).cloned()
            && let Some(fan) = &mut self.for_each
        {
            fan.trees.merge(&call, &event.data);
            if fan.trees.in_conflict.is_empty() {
                self.state = VisitState::ForEach;
                return;
            }
        }
        let doubt = doubt::doubt(event);
        let verification = verification(self, &event.outcome);
        if verification != Some(VerificationResult::Unknown) {
            self.error.clone_from(&event.error);
        }
        self.state = match (verification, &doubt) {
            (Some(VerificationResult::DidNotHappen | VerificationResult::Unknown), _) | (None, Some(_)) => {
                VisitState::Ready
            }
            _ if matches!(event.agent, Some(AgentOutcome::Asks { .. })) => VisitState::Ready,
            _ if event.throttled.is_some() => VisitState::Ready,
            _ => VisitState::Settled(Arc::new(event.clone())),
        };
        match doubt {
            // A verification that fails leaves the verified attempt in doubt.
            Some(doubt) if verification.is_none() => {
                self.doubts = self.doubts.saturating_add(1);
                self.doubt = Some(doubt);
            }
            None if is_unclear(event) || event.throttled.is_some() => {}
            None if !event.ok && matches!(verification, None | Some(VerificationResult::Happened)) => {
                self.failures = self.failures.saturating_add(1);
            }
            _ => {}
        }
        self.agent_session.settle(event);
        let is_program = self.plan.as_ref().is_some_and(|plan| matches!(plan.command, Command::Agent(_)));
        self.tool_approval = ToolApproval::after(event, is_program);
        if verification.is_none() {
            self.waited.settled(event);
            self.files.settle(event);
        }
    }
}

impl OpenVisit {
    /// A visit of a step with a possible attempt in doubt from an earlier visit.
    pub(crate) fn after(doubt: Option<Arc<Doubt>>) -> Self {
        let error = doubt.as_ref().map(|doubt| doubt::error(&doubt.attempt));
        Self { doubt, error, ..Self::new() }
    }

    /// Whether its final text was truncated, or is made of a truncated text: that of the flow that it ran, or
    /// of one of its items.
    pub(crate) fn is_text_cut(&self) -> bool {
        match &self.state {
            VisitState::Settled(settled) => settled.text_cut,
            VisitState::Returned(_) => self.text_cut,
            VisitState::ForEach => self.for_each.as_ref().is_some_and(|fan| fan.is_text_cut()),
            _ => false,
        }
    }

    /// The attempt that is still in doubt when the visit closes: its last attempt, or the attempt that the
    /// last one was to verify. If it has had no attempt, that of an earlier visit.
    pub(crate) fn left_in_doubt(&self, visit: &VisitId) -> Option<Arc<Doubt>> {
        let is_last =
            |doubt: &&Arc<Doubt>| self.attempts == 0 || doubt.attempt == visit.attempt(self.attempts);
        let is_verified = |doubt: &&Arc<Doubt>| {
            verified(self) == Some(&doubt.attempt) && !matches!(self.state, VisitState::Settled(_))
        };
        self.doubt.as_ref().filter(|doubt| is_last(doubt) || is_verified(doubt)).cloned()
    }

    pub(crate) fn new() -> Self {
        Self {
            state: VisitState::Ready,
            attempts: 0,
            failures: 0,
            doubts: 0,
            doubt: None,
            error: None,
            plan: None,
            for_each: None,
            agent_session: AgentSession::default(),
            tool_approval: ToolApproval::None,
            waited: Waited::default(),
            files: FilesAtEntry::default(),
            text_cut: false,
        }
    }
}

/// The merge of the live or last attempt of a visit, if it merges the files of its items.
pub(crate) fn merging(open: &OpenVisit) -> Option<&MergeCall> {
    match &open.plan.as_ref()?.command {
        Command::Merge(call) => Some(call),
        _ => None,
    }
}

/// The command with which the next attempt of a visit verifies the last one, and the attempt to verify.
pub(crate) fn next<'a>(open: &OpenVisit, step: &'a Step) -> Option<(AttemptId, &'a CommandPlan)> {
    let InDoubtPolicy::Verify(plan) = &step.on_in_doubt else { return None };
    if open.for_each.is_some() {
        return None;
    }
    // Only the attempt in doubt itself is verified: a verification that has run is not followed by another
    // one.
    let doubt = open.doubt.as_ref().filter(|doubt| doubt.attempt.attempt == open.attempts)?;
    Some((doubt.attempt.clone(), plan))
}

/// Whether the outcome of its last attempt still has to be decided, by a person or by a verification.
pub(crate) fn is_undecided(open: &OpenVisit, step: &Step) -> bool {
    let is_asked_anew = doubt::is_asked_about(step) && open.attempts == 0;
    let is_to_come = open.state == VisitState::Ready && open.doubt.is_some();
    open.state == VisitState::InDoubt || is_to_come && (is_asked_anew || next(open, step).is_some())
}

/// The budget that the next attempt of `visit` reserves.
pub(crate) fn budget_of_next(open: Option<&OpenVisit>, step: &Step) -> Budget {
    // Verifications and merges do not use the budget of the step's own work.
    let is_other = open.is_some_and(|open| next(open, step).is_some() || open.for_each.is_some());
    if is_other { Budget::default() } else { step.budget }
}

/// The attempt that the live attempt of a visit verifies.
pub(crate) fn verified(open: &OpenVisit) -> Option<&AttemptId> {
    open.plan.as_ref()?.verifies.as_ref()
}

/// The result of the live attempt of a visit if it is a verification; otherwise `None`.
pub(crate) fn verification(open: &OpenVisit, outcome: &Outcome) -> Option<VerificationResult> {
    verified(open).map(|_| VerificationResult::of(outcome))
}

/// Whether an attempt ended without knowing if the agent received its message. Such an attempt does not count
/// as a try.
pub(crate) fn is_unclear(event: &AttemptSettled) -> bool {
    event.agent == Some(AgentOutcome::Unclear)
}
