//! The part of a run's state that decisions depend on, and how each event changes it.
//!
//! Owns the visits that are open, the loops' counters, the ledger, questions and timers. It is small and cheap to clone,
//! so that a decision can try its events on a copy before anybody commits them. The audit view of the same events, the
//! pipeline envelope, is kept by [`crate::projection`]; nothing here reads it.

use crate::{
    accounts::Accounts,
    event::{
        About, AttemptSettled, AttemptStarted, Choice, Course, Event, HandoffWritten, InterruptAnswered,
        InterruptRaised, Outcome, Record, Routed, RunEnded, RunReopened, RunStarted,
    },
    flow::{Flow, Overdue},
    ids::{AttemptId, InterruptId, Principal, Seq, StepId, TimerId, VisitId},
    ledger::Ledger,
    loops,
    verify::{self, Doubt, Said},
};
use envoi_contract::{
    digest::Digest, handoff::Status as HandoffStatus, json::Value, skill_report::SkillError, time::Timestamp,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Why an event cannot follow what happened so far: the journal is not this run's, or has been tampered with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} (`{event}`) cannot follow: {reason}")]
pub struct ApplyError {
    /// Place of the event.
    pub seq: Seq,
    /// Its type.
    pub event: &'static str,
    /// What contradicts it.
    pub reason: String,
}

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Control {
    pub(crate) started: Option<Arc<RunStarted>>,
    pub(crate) started_at: Timestamp,
    pub(crate) next_seq: Seq,
    pub(crate) last_at: Timestamp,
    /// Visits that have no hand-off yet.
    #[serde(with = "pairs")]
    pub(crate) open: BTreeMap<VisitId, OpenVisit>,
    pub(crate) steps: BTreeMap<StepId, StepState>,
    /// By the step that closes the loop.
    pub(crate) loops: BTreeMap<StepId, LoopState>,
    pub(crate) ledger: Ledger,
    pub(crate) accounts: Accounts,
    /// Questions that are open, oldest first (their ids sort by time).
    pub(crate) interrupts: BTreeMap<InterruptId, Arc<InterruptRaised>>,
    /// Approvals of open questions that need more than one.
    #[serde(default)]
    pub(crate) votes: BTreeMap<InterruptId, Vec<Arc<InterruptAnswered>>>,
    /// The last answer that was given.
    #[serde(default)]
    pub(crate) last_answer: Option<InterruptId>,
    /// The newest version of every artifact, by its path; `None` when it was deleted.
    #[serde(default)]
    pub(crate) files: Arc<BTreeMap<String, Option<Digest>>>,
    /// The denials and expiries that the run is on the way of, the first one first: what a denial leads to may ask too.
    #[serde(default)]
    pub(crate) diverted: Vec<Diverted>,
    /// What has been added to the bounds.
    #[serde(default)]
    pub(crate) raised: Ledger,
    pub(crate) timers: BTreeMap<TimerId, (Timestamp, VisitId)>,
    /// Attempts given up as in doubt, whose result may still arrive.
    pub(crate) abandoned: BTreeSet<AttemptId>,
    /// The last hand-off that was not skipped.
    pub(crate) last_handoff: Option<VisitId>,
    pub(crate) cancelling: Option<Principal>,
    pub(crate) ended: Option<RunEnded>,
}

/// A visit on its way to its hand-off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenVisit {
    pub(crate) state: VisitState,
    /// Number of the last attempt; 0 before the first.
    pub(crate) attempts: u32,
    /// Attempts that failed and count as tries.
    pub(crate) failures: u32,
    /// Attempts that were in doubt.
    #[serde(default)]
    pub(crate) doubts: u32,
    /// The last of them, with what its verification needs to know; `None` once a person has decided about it.
    #[serde(default)]
    pub(crate) doubt: Option<Arc<Doubt>>,
    /// Why its last attempt failed, or stayed in doubt.
    pub(crate) error: Option<SkillError>,
    /// What the last attempt was started with.
    pub(crate) plan: Option<Arc<AttemptStarted>>,
}

/// Where a visit stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum VisitState {
    /// Waits for a free slot.
    Ready,
    /// Its last attempt is live.
    Running,
    /// Waits for its next try.
    Backoff,
    /// Waits for a person, who says what became of its last attempt.
    InDoubt,
    /// Waits for a person: its step asks, or a bound has to be raised.
    Asked,
    /// A person has answered what its step asks; what follows stands in the same commit.
    Answered(Arc<InterruptAnswered>),
    /// Nobody has answered in time; what follows stands in the same commit.
    Expired,
    /// Its last attempt is settled and known; what follows stands in the same commit. After doubt a visit is `Ready`
    /// again unless a question or its hand-off follows.
    Settled(Arc<AttemptSettled>),
}

/// What is known of a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepState {
    /// Visits opened so far.
    pub(crate) visits: u32,
    /// Its last settled visit.
    pub(crate) last: Option<Arc<StepResult>>,
}

/// The last settled visit of a step, as expressions see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepResult {
    pub(crate) status: HandoffStatus,
    pub(crate) summary: String,
    pub(crate) data: Value,
    pub(crate) artifacts: Value,
    /// The attempt that left a report.
    pub(crate) report: Option<AttemptId>,
    /// The last attempt; `None` when the visit was skipped.
    pub(crate) attempt: Option<AttemptId>,
}

/// One loop of the flow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LoopState {
    /// Times it has gone back since it was entered from outside.
    pub(crate) iteration: u64,
    /// The attempt whose text is the feedback of this round.
    pub(crate) feedback: Option<AttemptId>,
    /// The answer that sent the run back into this round.
    #[serde(default)]
    pub(crate) sent_back_by: Option<InterruptId>,
}

/// Why the run left its ordinary way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Diverted {
    /// The step that asked.
    pub(crate) step: StepId,
    /// Who denied; `None`: its time was over.
    pub(crate) by: Option<String>,
    /// Whether it counts as a denial.
    pub(crate) denied: bool,
}

impl OpenVisit {
    /// Its live attempt is over, or in doubt.
    fn settle(&mut self, event: &AttemptSettled) {
        let doubt = verify::doubt(event);
        let said = verify::said(self, &event.outcome);
        if said != Some(Said::Nothing) {
            self.error.clone_from(&event.error);
        }
        self.state = match (said, &doubt) {
            (Some(Said::DidNot | Said::Nothing), _) | (None, Some(_)) => VisitState::Ready,
            _ => VisitState::Settled(Arc::new(event.clone())),
        };
        match doubt {
            // One that verifies leaves in doubt what it was to verify.
            Some(doubt) if said.is_none() => {
                self.doubts = self.doubts.saturating_add(1);
                self.doubt = Some(doubt);
            }
            None if !event.ok && matches!(said, None | Some(Said::Happened)) => {
                self.failures = self.failures.saturating_add(1);
            }
            _ => {}
        }
    }
}

impl Control {
    /// The one way in which an event changes the state, live and in recovery.
    pub(crate) fn apply(&mut self, flow: &Flow, record: &Record) -> Result<(), ApplyError> {
        let illegal = |reason: String| ApplyError { seq: record.seq, event: record.event.name(), reason };
        if record.seq != self.next_seq {
            return Err(illegal(format!("event {} was expected", self.next_seq)));
        }
        if record.at < self.last_at {
            return Err(illegal("its time is before that of the event before it".to_owned()));
        }
        if (self.next_seq == 0) != matches!(record.event, Event::RunStarted(_)) {
            return Err(illegal("a run starts once, with its first event".to_owned()));
        }
        self.change(flow, record).map_err(illegal)?;
        self.next_seq = record.seq.saturating_add(1);
        self.last_at = record.at;
        Ok(())
    }

    fn change(&mut self, flow: &Flow, record: &Record) -> Result<(), String> {
        match &record.event {
            Event::RunStarted(event) => self.run_started(flow, event, record.at),
            Event::AttemptStarted(event) => self.attempt_started(event),
            Event::AttemptSettled(event) => self.attempt_settled(event),
            Event::Routed(event) => self.routed(flow, event),
            Event::HandoffWritten(event) => self.handoff_written(event),
            Event::InterruptRaised(event) => self.interrupt_raised(event),
            Event::InterruptAnswered(event) => self.interrupt_answered(event),
            Event::VoteCast(event) => self.vote_cast(event),
            Event::InterruptExpired(event) => self.interrupt_expired(flow, &event.interrupt),
            Event::InterruptCancelled(event) => self.close_interrupt(&event.interrupt).map(|_| ()),
            Event::TimerSet(event) => {
                self.visit(&event.visit)?.state = VisitState::Backoff;
                self.timers.insert(event.timer.clone(), (event.due, event.visit.clone()));
                Ok(())
            }
            Event::TimerFired(event) => self.timer_fired(&event.timer),
            Event::LimitsRaised(event) => {
                self.raised.add(&event.more);
                Ok(())
            }
            Event::CancelRequested(event) => {
                self.cancelling = Some(event.by.clone());
                self.timers.clear();
                Ok(())
            }
            Event::RunReopened(event) => self.run_reopened(event),
            Event::RunEnded(event) => self.run_ended(event),
        }
    }

    fn visit(&mut self, id: &VisitId) -> Result<&mut OpenVisit, String> {
        self.open.get_mut(id).ok_or_else(|| format!("visit `{id}` is not open"))
    }

    fn run_started(&mut self, flow: &Flow, event: &RunStarted, at: Timestamp) -> Result<(), String> {
        if event.flow_digest != flow.digest {
            return Err(format!("it pins flow {}, this is {}", event.flow_digest, flow.digest));
        }
        let first = flow.steps.first().ok_or("the flow has no steps")?;
        self.started = Some(Arc::new(event.clone()));
        self.started_at = at;
        self.open_visit(&first.id);
        Ok(())
    }

    fn open_visit(&mut self, step: &StepId) {
        let state = self.steps.entry(step.clone()).or_default();
        state.visits = state.visits.saturating_add(1);
        let id = VisitId { scope: String::new(), step: step.clone(), visit: state.visits };
        self.open.insert(
            id,
            OpenVisit {
                state: VisitState::Ready,
                attempts: 0,
                failures: 0,
                doubts: 0,
                doubt: None,
                error: None,
                plan: None,
            },
        );
    }

    fn attempt_started(&mut self, event: &AttemptStarted) -> Result<(), String> {
        let visit = self.visit(&event.attempt.visit)?;
        if visit.state != VisitState::Ready || event.attempt.attempt != visit.attempts.saturating_add(1) {
            return Err(format!("attempt `{}` is not the next one", event.attempt));
        }
        visit.state = VisitState::Running;
        visit.attempts = event.attempt.attempt;
        visit.plan = Some(Arc::new(event.clone()));
        self.ledger.add(&self.accounts.attempt_started(event));
        Ok(())
    }

    fn attempt_settled(&mut self, event: &AttemptSettled) -> Result<(), String> {
        if event.late {
            self.abandoned.remove(&event.attempt);
            self.ledger.add(&self.accounts.attempt_settled(event));
            return Ok(());
        }
        let visit = self.visit(&event.attempt.visit)?;
        if visit.state != VisitState::Running || event.attempt.attempt != visit.attempts {
            return Err(format!("attempt `{}` is not live", event.attempt));
        }
        visit.settle(event);
        if matches!(event.outcome, Outcome::InDoubt { .. }) {
            self.abandoned.insert(event.attempt.clone());
        }
        self.ledger.add(&self.accounts.attempt_settled(event));
        self.keep_files(event);
        Ok(())
    }

    fn keep_files(&mut self, event: &AttemptSettled) {
        if event.files.is_empty() {
            return;
        }
        let files = Arc::make_mut(&mut self.files);
        for file in &event.files {
            files.insert(file.path.clone(), file.blob.as_ref().map(|blob| blob.digest));
        }
    }

    fn routed(&mut self, flow: &Flow, event: &Routed) -> Result<(), String> {
        match &event.course {
            Course::Enter(step) => {
                // Who leaves the way of a denial by its `next` is on an ordinary way again.
                if self.diverted.last().is_some_and(|diverted| diverted.step != event.visit.step) {
                    self.diverted.clear();
                }
                loops::enter(flow, &mut self.loops, &event.visit.step, step);
                self.open_visit(step);
            }
            Course::LoopBack(step) => {
                let feedback = self.last_attempt(&event.visit);
                loops::go_back(flow, &mut self.loops, &event.visit.step, step, feedback);
                if let Some(state) = self.loops.get_mut(&event.visit.step) {
                    state.sent_back_by.clone_from(&event.answer);
                }
                // A step on the way of a denial may repeat itself; only going back to the question undoes the denial.
                self.diverted.retain(|diverted| flow.position(step) > flow.position(&diverted.step));
                self.ledger.iterations = self.ledger.iterations.saturating_add(1);
                self.open_visit(step);
            }
            Course::Complete | Course::Hold | Course::Stop => {}
        }
        Ok(())
    }

    /// The attempt that a visit ended with, whether its hand-off stands already or not.
    fn last_attempt(&self, visit: &VisitId) -> Option<AttemptId> {
        match self.open.get(visit) {
            Some(open) if open.attempts > 0 => Some(visit.attempt(open.attempts)),
            Some(_) => None,
            None => self.steps.get(&visit.step)?.last.as_ref()?.attempt.clone(),
        }
    }

    fn handoff_written(&mut self, event: &HandoffWritten) -> Result<(), String> {
        let open =
            self.open.remove(&event.visit).ok_or_else(|| format!("visit `{}` is not open", event.visit))?;
        let result = step_result(&event.visit, &open, event);
        self.steps.entry(event.visit.step.clone()).or_default().last = Some(Arc::new(result));
        if event.handoff.status != HandoffStatus::Skipped {
            self.last_handoff = Some(event.visit.clone());
        }
        Ok(())
    }

    fn interrupt_raised(&mut self, event: &InterruptRaised) -> Result<(), String> {
        let waits = match event.about {
            About::InDoubt => Some(VisitState::InDoubt),
            About::Ask => Some(VisitState::Asked),
            // Of a loop-back, whose visit is closed, or of a visit that was about to start.
            About::Limit => self.open.contains_key(&event.visit).then_some(VisitState::Asked),
            About::Exhausted | About::Blocked | About::Review => None,
        };
        if let Some(state) = waits {
            self.visit(&event.visit)?.state = state;
        }
        self.interrupts.insert(event.interrupt.clone(), Arc::new(event.clone()));
        Ok(())
    }

    fn close_interrupt(&mut self, id: &InterruptId) -> Result<Arc<InterruptRaised>, String> {
        self.votes.remove(id);
        self.interrupts.remove(id).ok_or_else(|| format!("interrupt `{id}` is not open"))
    }

    fn interrupt_answered(&mut self, event: &InterruptAnswered) -> Result<(), String> {
        let raised = self.close_interrupt(&event.interrupt)?;
        self.last_answer = Some(event.interrupt.clone());
        match raised.about {
            About::InDoubt => {
                let visit = self.visit(&raised.visit)?;
                (visit.state, visit.doubt) = (VisitState::Ready, None);
            }
            About::Ask => {
                self.visit(&raised.visit)?.state = VisitState::Answered(Arc::new(event.clone()));
                if event.choice == Choice::Deny {
                    let by = Some(event.by.actor.clone());
                    self.diverted.push(Diverted { step: raised.visit.step.clone(), by, denied: true });
                }
            }
            About::Limit => {
                if let Some(more) = &event.raise {
                    self.raised.add(more);
                }
                if let Some(visit) = self.open.get_mut(&raised.visit) {
                    visit.state = VisitState::Ready;
                }
            }
            About::Exhausted | About::Blocked | About::Review => {}
        }
        Ok(())
    }

    fn vote_cast(&mut self, event: &InterruptAnswered) -> Result<(), String> {
        if !self.interrupts.contains_key(&event.interrupt) {
            return Err(format!("interrupt `{}` is not open", event.interrupt));
        }
        self.votes.entry(event.interrupt.clone()).or_default().push(Arc::new(event.clone()));
        Ok(())
    }

    fn interrupt_expired(&mut self, flow: &Flow, id: &InterruptId) -> Result<(), String> {
        let raised = self.close_interrupt(id)?;
        let step = &raised.visit.step;
        let plan = flow.step(step).and_then(|step| step.asks());
        let denied = plan.is_some_and(|plan| plan.on_expire == Overdue::Deny);
        self.visit(&raised.visit)?.state = VisitState::Expired;
        self.diverted.push(Diverted { step: step.clone(), by: None, denied });
        Ok(())
    }

    fn timer_fired(&mut self, timer: &TimerId) -> Result<(), String> {
        let (_, visit) = self.timers.remove(timer).ok_or_else(|| format!("timer `{timer}` is not armed"))?;
        self.visit(&visit)?.state = VisitState::Ready;
        Ok(())
    }

    fn run_reopened(&mut self, event: &RunReopened) -> Result<(), String> {
        self.ended.take().ok_or("the run is not over")?;
        self.cancelling = None;
        // A step on the way of a denial that failed and is done again ends the run as denied all the same.
        self.diverted.retain(|diverted| diverted.step != event.step);
        self.open_visit(&event.step);
        Ok(())
    }

    fn run_ended(&mut self, event: &RunEnded) -> Result<(), String> {
        if self.open.values().any(|visit| visit.state == VisitState::Running) {
            return Err("an attempt is still live".to_owned());
        }
        self.take_back_unstarted_visits();
        self.timers.clear();
        self.interrupts.clear();
        self.votes.clear();
        self.ended = Some(event.clone());
        Ok(())
    }

    /// A visit that never had an attempt gives its number back, so that numbers of visits have no gaps.
    fn take_back_unstarted_visits(&mut self) {
        for (id, visit) in core::mem::take(&mut self.open) {
            if visit.attempts > 0 {
                continue;
            }
            if let Some(state) = self.steps.get_mut(&id.step) {
                state.visits = state.visits.saturating_sub(1);
            }
        }
    }

    /// Attempts that are to be running.
    pub(crate) fn live(&self) -> impl Iterator<Item = (&VisitId, &OpenVisit)> {
        self.open.iter().filter(|(_, visit)| visit.state == VisitState::Running)
    }
}

fn step_result(id: &VisitId, open: &OpenVisit, event: &HandoffWritten) -> StepResult {
    let handoff = &event.handoff;
    let attempt = (open.attempts > 0).then(|| id.attempt(open.attempts));
    let settled = match &open.state {
        VisitState::Settled(settled) => Some(settled),
        _ => None,
    };
    StepResult {
        status: handoff.status,
        summary: handoff.summary.clone(),
        data: match &open.state {
            VisitState::Settled(settled) => settled.data.clone(),
            VisitState::Answered(answered) => answered.data.clone(),
            _ => Value::Null,
        },
        artifacts: handoff.to_value().get("artifacts").cloned().unwrap_or_default(),
        report: settled.filter(|settled| settled.report.is_some()).map(|settled| settled.attempt.clone()),
        attempt,
    }
}

/// Maps with structured keys as a list of pairs: JSON has only text for member names.
mod pairs {
    use super::{BTreeMap, OpenVisit, VisitId};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        map: &BTreeMap<VisitId, OpenVisit>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<VisitId, OpenVisit>, D::Error> {
        Ok(Vec::<(VisitId, OpenVisit)>::deserialize(deserializer)?.into_iter().collect())
    }
}
