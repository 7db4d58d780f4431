//! The part of a run's state that decisions depend on, and how each event changes it.
//!
//! Owns the visits that are open, the loops' counters, the ledger, questions and timers. It is small and cheap to clone,
//! so that a decision can try its events on a copy before they are committed. The audit view of the same events, the
//! pipeline envelope, is kept by [`crate::state::projection`]; nothing here reads it.

use crate::state::illegal_event::IllegalEvent;
use crate::state::{
    limits::Bound,
    open_visits::{Changing, InTurn, OpenVisits},
    visit::{OpenVisit, VisitState},
};
mod corrected;
mod ends;
mod flows;
mod questions;
pub(crate) mod stored;

use crate::{
    model::{
        event::{
            About, AttemptSettled, AttemptStarted, Correction, Course, Done, Event, FilesRestoring,
            HandoffWritten, InterruptAnswered, InterruptRaised, ModelCallStarted, Outcome, Record, Routed,
            RunForked, RunStarted,
        },
        family::Share,
        files::HandedOver,
        flow::Flow,
        ids::{AttemptId, FlowId, InterruptId, Seq, StepId, TimerId, VisitId},
        ledger::Ledger,
        part::Part,
    },
    state::{
        accounts::Accounts,
        flow_state::{FlowState, Kept, Standing},
        goals::Goals,
        graph, loops,
        phase::Phase,
        program_session::ProgramSessions,
        step_result::StepResult,
        throttle::WaitingTime,
    },
};
use envoi_contract::{
    digest::Digest,
    handoff::{Handoff, Status as HandoffStatus},
    json::Value,
    time::Timestamp,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// An event contradicts the state of its run. The journal does not belong to this run, or it was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} (`{event}`) cannot follow: {reason}")]
pub struct ApplyError {
    /// Sequence number of the event.
    pub seq: Seq,
    /// Its type.
    pub event: &'static str,
    /// The contradiction.
    pub reason: IllegalEvent,
}

/// The part of a run's state that decisions depend on. Snapshots store it as [`stored::StoredControl`].
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Control {
    pub(crate) phase: Phase,
    pub(crate) started_at: Timestamp,
    pub(crate) next_seq: Seq,
    pub(crate) last_at: Timestamp,
    /// Visits without a hand-off.
    pub(crate) open: OpenVisits,
    /// The run's own flow.
    pub(crate) top: FlowState,
    /// Flows that steps run, by their scope.
    pub(crate) subflows: BTreeMap<String, FlowState>,
    /// Finished flows, by scope, as long as results of their attempts may still arrive.
    pub(crate) left: BTreeMap<String, FlowId>,
    pub(crate) ledger: Ledger,
    pub(crate) accounts: Accounts,
    /// The goals of the run, once its first round has begun.
    pub(crate) goals: Option<Goals>,
    /// Questions that are open, oldest first (their ids sort by time).
    pub(crate) interrupts: BTreeMap<InterruptId, Arc<InterruptRaised>>,
    /// Approvals of open questions that need several.
    pub(crate) votes: BTreeMap<InterruptId, Vec<Arc<InterruptAnswered>>>,
    /// The last answer that was given.
    pub(crate) last_answer: Option<InterruptId>,
    /// The newest version of every artifact, by path; `None` if it was deleted.
    pub(crate) files: Arc<BTreeMap<String, Option<Digest>>>,
    /// Lists of artifacts that are not among `files`, in the order in which they were handed over.
    pub(crate) manifests: Arc<Vec<HandedOver>>,
    /// The amounts added to the bounds.
    pub(crate) raised: Ledger,
    pub(crate) timers: BTreeMap<TimerId, (Timestamp, VisitId)>,
    /// Attempts that were abandoned in doubt and may still report a result.
    pub(crate) abandoned: BTreeSet<AttemptId>,
    /// Abandoned attempts that are being ended and have not reported their end.
    pub(crate) ending: BTreeMap<AttemptId, Arc<AttemptStarted>>,
    /// The last hand-off that was not skipped.
    pub(crate) last_handoff: Option<VisitId>,
    /// How it was forked, if it was.
    pub(crate) forked: Option<Arc<RunForked>>,
    /// The part of `ledger` and `raised` that belongs to the rest of its family.
    pub(crate) inherited: Share,
    /// Sessions of agent programs.
    pub(crate) sessions: ProgramSessions,
    /// How long it has waited for accounts.
    pub(crate) waiting: WaitingTime,
    /// A requested correction of its flow. It takes effect when nothing is live.
    pub(crate) correction: Option<Arc<Correction>>,
    /// The restore of the workspace's files that is in progress.
    pub(crate) restoring: Option<Arc<FilesRestoring>>,
}

impl Control {
    /// Applies an event to the state. Live operation and recovery both use this function.
    ///
    /// `flow` is the flow before the event, `next` the one after it. They differ only if the event corrects
    /// the flow.
    pub(crate) fn apply(&mut self, flow: &Flow, next: &Flow, record: &Record) -> Result<(), ApplyError> {
        let illegal =
            |reason: IllegalEvent| ApplyError { seq: record.seq, event: record.event.name(), reason };
        if record.seq != self.next_seq {
            return Err(illegal(IllegalEvent::WrongSeq { expected: self.next_seq }));
        }
        if record.at < self.last_at {
            return Err(illegal(IllegalEvent::EarlierThanLast));
        }
        if (self.next_seq == 0) != matches!(record.event, Event::RunStarted(_)) {
            return Err(illegal(IllegalEvent::NotTheStart));
        }
        self.change(flow, next, record).map_err(illegal)?;
        self.note_waiting(record);
        self.next_seq = record.seq.saturating_add(1);
        self.last_at = record.at;
        Ok(())
    }

    fn change(&mut self, flow: &Flow, next: &Flow, record: &Record) -> Result<(), IllegalEvent> {
        match &record.event {
            Event::RunStarted(event) => self.run_started(next, event, record.at),
            Event::StepEntered(event) => {
                self.open_visit(&event.scope, &event.step);
                Ok(())
            }
            Event::StepsGivenUp(event) => {
                let flow_state = self.flow_state_mut(&event.scope);
                flow_state.passed_by.extend(event.steps.iter().cloned());
                // Questions about where these steps lead are void now.
                event.steps.iter().for_each(|step| flow_state.step(step).held = false);
                Ok(())
            }
            Event::FannedOut(event) => self.fanned_out(event),
            Event::GoalsSet(event) => {
                self.goals = Some(Goals::of(event.goals.clone()));
                self.ledger.rounds = self.ledger.rounds.saturating_add(1);
                Ok(())
            }
            Event::GoalsReached(event) => {
                let goals = self.goals.as_mut().ok_or(IllegalEvent::NoGoals)?;
                goals.reached.extend(event.goals.iter().cloned());
                Ok(())
            }
            Event::FlowEntered(event) => self.flow_entered(flow, event),
            Event::FlowReturned(event) => {
                let inside = event.visit.inside();
                let text_cut = self.flow_state(&inside).last_result().is_some_and(|result| result.text_cut);
                self.drop_flow(&inside);
                if let Some(mut open) = self.open.get_mut(&event.visit) {
                    open.text_cut = text_cut;
                    open.state = VisitState::Returned(event.data.clone());
                }
                Ok(())
            }
            Event::RunStopping(event) => {
                self.phase.stop(event.clone())?;
                self.timers.clear();
                Ok(())
            }
            Event::AttemptStarted(event) => self.attempt_started(event),
            Event::AttemptSettled(event) => self.attempt_settled(event),
            Event::ModelCallStarted(event) => self.model_call_started(event),
            Event::ModelCallEnded(event) => {
                self.ledger.add(&self.accounts.call_ended(event)?);
                Ok(())
            }
            Event::Routed(event) => self.routed(flow, event),
            Event::HandoffWritten(event) => self.handoff_written(flow, event),
            Event::InterruptRaised(event) => self.interrupt_raised(event),
            Event::InterruptAnswered(event) => self.interrupt_answered(event),
            Event::VoteCast(event) => self.vote_cast(event),
            Event::InterruptExpired(event) => self.interrupt_expired(flow, &event.interrupt),
            Event::InterruptCancelled(event) => self.close_interrupt(&event.interrupt).map(|_| ()),
            Event::TimerSet(event) => {
                let mut visit = self.visit(&event.visit)?;
                visit.state = VisitState::Backoff;
                visit.waited.timer_set(event, record.at);
                drop(visit);
                self.timers.insert(event.timer.clone(), (event.due, event.visit.clone()));
                Ok(())
            }
            Event::TimerFired(event) => self.timer_fired(&event.timer),
            // No change here: the timers of the waiting visits fire in the same commit.
            Event::AccountsTried(_) => Ok(()),
            Event::LimitsRaised(event) => {
                self.raised.add(&event.more);
                self.go_on_after(&event.more);
                Ok(())
            }
            Event::CancelRequested(event) => {
                self.phase.cancel(event.by.clone())?;
                self.timers.clear();
                Ok(())
            }
            Event::RunReopened(event) => self.run_reopened(flow, event),
            Event::RunForked(event) => self.run_forked(flow, event),
            Event::CorrectionRequested(event) => {
                self.correction_requested(event);
                Ok(())
            }
            Event::FlowCorrected(event) => self.flow_corrected(flow, next, event),
            Event::CorrectionDropped(_) => {
                self.correction = None;
                Ok(())
            }
            Event::FilesRestoring(event) => {
                self.restoring = Some(Arc::new(event.as_ref().clone()));
                Ok(())
            }
            Event::FilesRestored(_) | Event::FilesKeptAsTheyWere(_) => {
                self.restoring = None;
                Ok(())
            }
            Event::RunEnded(event) => self.run_ended(flow, event),
        }
    }

    /// Records whether any visit waits for an account after this event.
    fn note_waiting(&mut self, record: &Record) {
        let begins = matches!(&record.event, Event::TimerSet(set) if set.account.is_some());
        if begins || self.waiting.is_under_way() {
            let waits = |visit: &VisitId| self.open.get(visit).is_some_and(|open| open.waited.wait.is_some());
            let is_waiting = self.timers.values().any(|(_, visit)| waits(visit));
            self.waiting.note(is_waiting, record.at);
        }
    }

    fn visit<'o>(&'o mut self, id: &'o VisitId) -> Result<Changing<'o>, IllegalEvent> {
        self.open.get_mut(id).ok_or_else(|| IllegalEvent::VisitNotOpen { visit: id.clone() })
    }

    fn run_started(&mut self, flow: &Flow, event: &RunStarted, at: Timestamp) -> Result<(), IllegalEvent> {
        if event.flow_digest != flow.digest {
            return Err(IllegalEvent::OtherFlow { pinned: event.flow_digest, found: flow.digest });
        }
        let first = flow.steps.first().ok_or(IllegalEvent::NoSteps)?;
        self.phase.start(Arc::new(event.clone()))?;
        self.started_at = at;
        self.top.inputs = event.inputs.clone();
        if !flow.graph {
            self.open_visit("", &first.id);
        }
        Ok(())
    }

    /// Lets a run continue that one of the raised bounds was about to end.
    fn go_on_after(&mut self, more: &Ledger) {
        if !self.phase.go_on_if(|end| {
            Bound::that_ended(end.terminal_reason).is_some_and(|bound| bound.is_raised_by(more))
        }) {
            return;
        }
        self.open.change_all(|_, open| {
            if open.state == VisitState::Backoff {
                open.state = VisitState::Ready;
            }
        });
        let fans: Vec<VisitId> =
            self.open.iter().filter(|(_, open)| open.for_each.is_some()).map(|(id, _)| id.clone()).collect();
        fans.iter().for_each(|fan| self.admit_items(fan));
    }

    fn attempt_started(&mut self, event: &AttemptStarted) -> Result<(), IllegalEvent> {
        let mut visit = self.visit(&event.attempt.visit)?;
        if visit.state != VisitState::Ready || event.attempt.attempt != visit.attempts.saturating_add(1) {
            return Err(IllegalEvent::NotTheNextAttempt { attempt: event.attempt.clone() });
        }
        visit.state = VisitState::Running;
        visit.attempts = event.attempt.attempt;
        visit.agent_session.resend = false;
        visit.waited.started(event);
        visit.plan = Some(Arc::new(event.clone()));
        drop(visit);
        self.sessions.started(event);
        self.ledger.add(&self.accounts.attempt_started(event));
        Ok(())
    }

    fn attempt_settled(&mut self, event: &AttemptSettled) -> Result<(), IllegalEvent> {
        if event.late {
            self.abandoned.remove(&event.attempt);
            self.ending.remove(&event.attempt);
            let scope = event.attempt.visit.flow_scope();
            if !self.abandoned.iter().any(|attempt| attempt.visit.flow_scope() == scope) {
                self.left.remove(scope);
            }
            self.accounts.attempt_settled(event, &mut self.ledger);
            return Ok(());
        }
        if event.taken.is_some() {
            return self.result_taken(event);
        }
        let mut visit = self.visit(&event.attempt.visit)?;
        if visit.state != VisitState::Running || event.attempt.attempt != visit.attempts {
            return Err(IllegalEvent::AttemptNotLive { attempt: event.attempt.clone() });
        }
        visit.settle(event);
        let started = visit.plan.clone();
        drop(visit);
        if let Some(started) = started {
            self.sessions.settled(&started, event);
        }
        if matches!(event.outcome, Outcome::InDoubt { .. }) {
            self.abandoned.insert(event.attempt.clone());
        }
        self.accounts.attempt_settled(event, &mut self.ledger);
        if event.throttled.is_some() {
            self.ledger.agent_hops = self.ledger.agent_hops.saturating_sub(1);
        }
        self.keep_files(event);
        Ok(())
    }

    /// Records the hand-over of another run in place of an attempt.
    fn result_taken(&mut self, event: &AttemptSettled) -> Result<(), IllegalEvent> {
        let mut visit = self.visit(&event.attempt.visit)?;
        if visit.state != VisitState::Ready || (visit.attempts, event.attempt.attempt) != (0, 1) {
            return Err(IllegalEvent::NotTheNextAttempt { attempt: event.attempt.clone() });
        }
        visit.attempts = event.attempt.attempt;
        visit.state = VisitState::Settled(Arc::new(event.clone()));
        drop(visit);
        self.keep_files(event);
        Ok(())
    }

    fn model_call_started(&mut self, event: &ModelCallStarted) -> Result<(), IllegalEvent> {
        if let Some(attempt) = event.attempt.as_ref().filter(|attempt| !self.is_live(attempt)) {
            return Err(IllegalEvent::AttemptNotLive { attempt: attempt.clone() });
        }
        self.ledger.add(&self.accounts.call_started(event)?);
        Ok(())
    }

    fn keep_files(&mut self, event: &AttemptSettled) {
        if let Some(manifest) = &event.manifest {
            let handed = HandedOver {
                scope: event.attempt.visit.scope.clone(),
                step: event.attempt.visit.step.clone(),
                list: manifest.list.clone(),
            };
            Arc::make_mut(&mut self.manifests).push(handed);
        }
        if event.files.is_empty() {
            return;
        }
        let files = Arc::make_mut(&mut self.files);
        for file in &event.files {
            files.insert(file.path.clone(), file.blob.as_ref().map(|blob| blob.digest));
        }
    }

    fn routed(&mut self, flow: &Flow, event: &Routed) -> Result<(), IllegalEvent> {
        let scope = event.visit.flow_scope().to_owned();
        let step = &event.visit.step;
        let of = self.flow(flow, &scope);
        let feedback = self.last_attempt(&event.visit);
        if self.subflows.get(&event.visit.inside()).is_some_and(|inner| inner.by_hint) {
            self.drop_flow(&event.visit.inside());
        }
        let is_as_decided = self.is_merged_as_decided(&scope, step);
        let flow_state = self.flow_state_mut(&scope);
        if event.course != Course::Gathered {
            flow_state.step(step).held = event.course == Course::Hold;
            flow_state.stopped_at = (event.course == Course::Hold).then(|| step.clone());
        }
        if let (false, Some(end)) = (of.graph, &event.end) {
            flow_state.failing.get_or_insert_with(|| end.as_ref().clone());
        }
        match &event.course {
            Course::Enter(next) => {
                // When a step leaves the path of a denial by its `next`, the flow is on its ordinary path
                // again.
                let on_its_way = flow_state.diverted.last().is_none_or(|diverted| diverted.step == *step);
                if !on_its_way && flow_state.failing.is_none() {
                    flow_state.diverted.clear();
                }
                loops::enter(of, &mut flow_state.loops, step, next);
                self.open_anew(&scope, next);
            }
            Course::LoopBack(target) => {
                // A merge according to a person's decision does not count as a round of a loop.
                let is_a_round = !(is_as_decided && step == target);
                if is_a_round {
                    loops::go_back(of, &mut flow_state.loops, step, target, feedback);
                    if let Some(state) = flow_state.loops.get_mut(step) {
                        state.sent_back_by.clone_from(&event.answer);
                    }
                }
                // A step on the path of a denial may repeat itself. Only going back to the question undoes
                // the denial.
                let stays = |at: &StepId| !graph::is_back(of, at, target);
                flow_state.diverted.retain(|diverted| stays(&diverted.step));
                let failed = flow_state.failing.as_ref().and_then(|end| end.stopped_by.as_ref());
                if failed.is_some_and(|failed| !stays(failed)) {
                    flow_state.failing = None;
                }
                if of.graph {
                    let again = graph::descendants(of, target);
                    flow_state.reset(&again);
                    let items = self.take_items_in_conflict(&scope, target).filter(|_| step == target);
                    for step in again {
                        self.forget(&scope, step);
                        self.leave_hint(&scope, step);
                    }
                    if items.is_some() {
                        self.flow_state_mut(&scope).step(target).kept = items;
                    }
                }
                if is_a_round {
                    self.ledger.iterations = self.ledger.iterations.saturating_add(1);
                }
                // In a graph, a step whose needs are not done yet is entered later, when they are.
                if !of.graph || graph::may_enter(of, self.flow_state(&scope), target) {
                    self.go_back(&scope, target, step);
                }
            }
            Course::Round(first) => {
                loops::start_round(of, &mut flow_state.loops, step, first);
                flow_state.diverted.clear();
                self.ledger.rounds = self.ledger.rounds.saturating_add(1);
                self.goals.as_mut().ok_or(IllegalEvent::NoGoals)?.next_round();
                self.open_anew(&scope, first);
            }
            Course::Done(done) => {
                let standing = match (done, &event.end) {
                    (Done::Passed, _) => Standing::Passed,
                    (Done::Skipped, _) => Standing::Skipped,
                    (Done::Taken, _) => Standing::Taken,
                    (Done::Failed, Some(end)) => Standing::Failed(end.clone()),
                    (Done::Failed, None) => return Err(IllegalEvent::FailureWithoutEnd),
                };
                flow_state.step(step).standing = Some(standing);
            }
            Course::Complete | Course::Hold | Course::Stop | Course::Gathered => {}
        }
        Ok(())
    }

    /// Whether this step of a scope is not in the part of the flow that the run executes.
    pub(crate) fn leaves_out(&self, flow: &Flow, scope: &str, step: &StepId) -> bool {
        self.part().is_some_and(|part| scope.is_empty() && !part.selection.includes(flow, step))
    }

    /// The part of the flow that the run executes, if it is not the whole flow.
    pub(crate) fn part(&self) -> Option<&Part> {
        self.phase.started()?.part.as_deref()
    }

    /// The last attempt of a visit, whether or not its hand-off was written already.
    fn last_attempt(&self, visit: &VisitId) -> Option<AttemptId> {
        match self.open.get(visit) {
            Some(open) if open.attempts > 0 => Some(visit.attempt(open.attempts)),
            Some(_) => None,
            None => {
                self.flow_state(visit.flow_scope()).steps.get(&visit.step)?.last.as_ref()?.attempt.clone()
            }
        }
    }

    fn handoff_written(&mut self, flow: &Flow, event: &HandoffWritten) -> Result<(), IllegalEvent> {
        let id = &event.visit;
        let open = self.open.remove(id).ok_or_else(|| IllegalEvent::VisitNotOpen { visit: id.clone() })?;
        let skipped = event.handoff.status == HandoffStatus::Skipped;
        let left_out = skipped && self.leaves_out(flow, id.flow_scope(), &id.step);
        let result =
            Arc::new(StepResult { left_out, text_cut: open.is_text_cut(), ..step_result(id, &open, event) });
        if let (VisitState::Running, Some(plan)) = (&open.state, &open.plan) {
            self.abandoned.insert(plan.attempt.clone());
            self.ending.insert(plan.attempt.clone(), Arc::clone(plan));
        }
        self.timers.retain(|_, (_, visit)| visit != id);
        let status = event.handoff.status;
        event.handoff.error.iter().for_each(|error| self.waiting.failed(id, error));
        let in_doubt = open.left_in_doubt(id).filter(|_| status == HandoffStatus::Failed);
        match self.subflows.get_mut(&id.inside()) {
            Some(flow_state) if status == HandoffStatus::Failed => flow_state.over = true,
            _ => self.drop_flow(&id.inside()),
        }
        // Items run in parallel, so an item's hand-off is not the input of another item.
        if status != HandoffStatus::Skipped && id.item().is_none() {
            self.last_handoff = Some(id.clone());
            self.flow_state_mut(id.flow_scope()).hand_over(id);
        }
        if let Some(item) = id.item() {
            let whole = id.whole();
            let isolated = self.flow(flow, id.flow_scope()).step(&id.step).is_some_and(|step| step.isolate);
            // The flow of an item starts from the beginning with the item. So an attempt in doubt within that
            // flow becomes a doubt of the item.
            let within = || self.doubt_within(flow, &id.inside());
            let in_doubt = in_doubt.or_else(|| within().filter(|_| status == HandoffStatus::Failed));
            if let Some(mut all) = self.open.get_mut(&whole)
                && let Some(fan) = &mut all.for_each
            {
                let item = usize::try_from(item).unwrap_or(usize::MAX);
                fan.settle(item, telling(result, &event.handoff), in_doubt);
                if isolated && status == HandoffStatus::Succeeded {
                    fan.trees.settle(item, &open.files);
                }
            }
            self.drop_flow(&id.inside());
            // An item is skipped only together with all the others, when the step is abandoned.
            if status != HandoffStatus::Skipped {
                self.admit_items(&whole);
                self.merge_when_over(&whole);
            }
            return Ok(());
        }
        let kept = match (status, open.for_each) {
            (HandoffStatus::Failed, None) if in_doubt.is_some() => in_doubt.map(Kept::Doubt),
            (HandoffStatus::Failed, Some(fan)) => Some(Kept::Items(fan)),
            (HandoffStatus::Failed, None) if self.subflows.contains_key(&id.inside()) => {
                Some(Kept::Flow(id.inside()))
            }
            _ => None,
        };
        let flow_state = self.flow_state_mut(id.flow_scope());
        if status == HandoffStatus::Failed {
            flow_state.stopped_at = Some(id.step.clone());
        }
        let state = flow_state.step(&id.step);
        (state.last, state.kept, state.files) = (Some(result), kept, open.files);
        Ok(())
    }

    fn timer_fired(&mut self, timer: &TimerId) -> Result<(), IllegalEvent> {
        let (_, visit) =
            self.timers.remove(timer).ok_or_else(|| IllegalEvent::TimerNotArmed { timer: timer.clone() })?;
        let mut visit = self.visit(&visit)?;
        visit.state = VisitState::Ready;
        visit.waited.timer_fired();
        Ok(())
    }

    /// The visit in the flow of `scope` that is this visit or contains it, at any depth.
    pub(crate) fn holder(&self, visit: &VisitId, scope: &str) -> Option<VisitId> {
        let mut visit = visit.whole();
        while visit.scope != scope {
            visit = self.subflows.get(&visit.scope)?.caller.as_ref()?.whole();
        }
        Some(visit)
    }

    /// Whether nothing further starts, because the run is being cancelled or stopped.
    pub(crate) fn winds_down(&self) -> bool {
        matches!(self.phase, Phase::Cancelling { .. } | Phase::Stopping { .. })
    }

    /// Visits that wait for a free slot or for another look, in their order. Some of them may have to wait
    /// for reservations of live attempts; [`crate::state::bounds::ready`] excludes these.
    pub(crate) fn movable(&self) -> impl Iterator<Item = &VisitId> {
        let none_moves = self.none_moves();
        self.open.ready().take_while(move |_| !none_moves)
    }

    /// The next of these visits after `last`, or the first.
    pub(crate) fn movable_after(&self, last: Option<&InTurn>) -> Option<&InTurn> {
        if self.none_moves() { None } else { self.open.ready_after(last) }
    }

    /// Whether something blocks every visit. Abandoned attempts do, because they may still write into the
    /// workspace.
    fn none_moves(&self) -> bool {
        self.winds_down()
            || self.waits_for_a_bound()
            || !self.ending.is_empty()
            || self.correction.is_some()
            || self.restoring.is_some()
    }

    /// Whether nothing starts before a person has decided about a used-up bound.
    fn waits_for_a_bound(&self) -> bool {
        self.interrupts.values().any(|raised| raised.about == About::Limit)
    }

    /// Whether this attempt must be running.
    pub(crate) fn is_live(&self, attempt: &AttemptId) -> bool {
        let open = self.open.get(&attempt.visit);
        open.is_some_and(|open| open.state == VisitState::Running && open.attempts == attempt.attempt)
    }

    /// Whether an attempt is running, or is being ended.
    pub(crate) fn has_live(&self) -> bool {
        self.live().next().is_some() || !self.ending.is_empty()
    }

    /// Attempts that must be running.
    pub(crate) fn live(&self) -> impl Iterator<Item = (&VisitId, &OpenVisit)> {
        self.open.iter().filter(|(_, visit)| visit.state == VisitState::Running)
    }
}

/// The result of an item for its step's summary. A failed item without a text gets its error as text.
fn telling(result: Arc<StepResult>, handoff: &Handoff) -> Arc<StepResult> {
    match &handoff.error {
        Some(error) if result.summary.trim().is_empty() => {
            Arc::new(StepResult { summary: error.clone(), ..result.as_ref().clone() })
        }
        _ => result,
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
        text: event.text.clone(),
        text_cut: false,
        data: match &open.state {
            VisitState::Settled(settled) => settled.data.clone(),
            VisitState::Returned(data) => data.clone(),
            VisitState::ForEach => open.for_each.as_ref().map(|fan| fan.data()).unwrap_or_default(),
            VisitState::Answered(answered) => answered.data.clone(),
            _ => Value::Null,
        },
        artifacts: handoff.artifacts_value(),
        report: settled.filter(|settled| settled.report.is_some()).map(|settled| settled.attempt.clone()),
        report_blob: settled.and_then(|settled| settled.report.clone()),
        left_out: false,
        attempt,
    }
}
