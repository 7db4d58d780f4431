//! One run as a person sees it: every step with its state, fed by the records of the run and by nothing else.
//!
//! Pure: time comes in with each look ([`super::frame`]), the last line of output is given from outside. What the run has
//! used, what it asks and how it stands is the kernel's own [`Run`], lived through with the same records.

use super::rounds::Rounds;
use envoi_contract::{handoff::Status as HandoffStatus, time::Timestamp};
use envoi_kernel::{
    Event, Flow, Record, Run, Status,
    event::{About, AttemptSettled, Change, Course, HandoffWritten, InterruptRaised, Outcome, Routed},
    ids::{AttemptId, InterruptId, Seq, StepId, VisitId},
};
use std::{collections::BTreeMap, sync::Arc};

/// See the module.
pub(crate) struct Board {
    run: Run,
    pub(crate) steps: Vec<StepView>,
    pub(crate) rounds: Rounds,
    /// Files that the run's steps handed over, with what was done to them last.
    pub(crate) files: BTreeMap<String, Change>,
    /// The visit that closed last, and what it said.
    pub(crate) last: Option<(VisitId, String)>,
    began: Option<Timestamp>,
    cancelling: bool,
    next: Seq,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StepView {
    pub(crate) id: StepId,
    pub(crate) state: State,
    /// The newest visit; 0 before the first.
    pub(crate) visit: u32,
    /// Its newest attempt; 0 before the first.
    pub(crate) attempt: u32,
    /// Tries that a visit may have.
    pub(crate) tries: u32,
    /// When the newest attempt began.
    pub(crate) began: Timestamp,
    /// How long the newest visit, or its failed attempt, took.
    pub(crate) took_ms: u64,
    /// The summary of the newest visit, or why its attempt failed.
    pub(crate) told: String,
    /// The last line of output of a live attempt.
    pub(crate) output: String,
    /// The open question about it.
    pub(crate) question: Option<(InterruptId, String)>,
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// The run has not come to it.
    Waiting,
    /// Its turn has come; it waits for a free slot.
    Ready,
    Running,
    /// Its last attempt failed; the next one begins then.
    Retry {
        due: Timestamp,
    },
    /// A person has to say how it goes on.
    Asked,
    /// Nobody knows how its last attempt ended.
    InDoubt,
    Done,
    Failed,
    Skipped,
}

impl State {
    /// Whether it should stay in view when not all can.
    pub(crate) fn matters(self) -> bool {
        !matches!(self, Self::Waiting | Self::Done | Self::Skipped)
    }
}

impl Board {
    pub(crate) fn new(flow: &Arc<Flow>) -> Self {
        let step = |step: &envoi_kernel::flow::Step| StepView {
            id: step.id.clone(),
            state: State::Waiting,
            visit: 0,
            attempt: 0,
            tries: step.retry.attempts,
            began: Timestamp::from_millis(0),
            took_ms: 0,
            told: String::new(),
            output: String::new(),
            question: None,
        };
        Self {
            run: Run::new(Arc::clone(flow)),
            steps: flow.steps.iter().map(step).collect(),
            rounds: Rounds::of(flow),
            files: BTreeMap::new(),
            last: None,
            began: None,
            cancelling: false,
            next: 0,
        }
    }

    pub(crate) fn flow(&self) -> &Flow {
        self.run.flow()
    }

    pub(crate) fn run(&self) -> &Run {
        &self.run
    }

    /// The place of the record that comes next; others are not taken.
    pub(crate) fn next(&self) -> Seq {
        self.next
    }

    /// The word for how the run stands.
    pub(crate) fn status(&self) -> &'static str {
        match self.run.status() {
            Status::Running if self.cancelling => "cancelling",
            status => status.word(),
        }
    }

    /// How long the run has been going, or went until it came to rest.
    pub(crate) fn elapsed_ms(&self, now: Timestamp) -> u64 {
        let until = if self.run.status() == Status::Running { now } else { self.run.last_at() };
        self.began.map_or(0, |began| since(began, until))
    }

    /// Attempts whose output can be followed.
    pub(crate) fn live(&self) -> Vec<AttemptId> {
        self.run.wants().attempts
    }

    /// Questions to a person, oldest first.
    pub(crate) fn questions(&self) -> impl Iterator<Item = &InterruptRaised> {
        self.run.interrupts()
    }

    /// `line` is what `attempt` wrote last.
    pub(crate) fn output(&mut self, attempt: &AttemptId, line: String) {
        if let Some(step) = self.step(&attempt.visit) {
            step.output = line;
        }
    }

    /// Takes the next record; one that has been taken already changes nothing.
    pub(crate) fn record(&mut self, record: &Record) {
        // A record that cannot follow is the engine's to complain of; here it would only hide the rest.
        if record.seq != self.next || self.run.apply(record).is_err() {
            return;
        }
        self.next = record.seq.saturating_add(1);
        self.began = self.began.or(Some(record.at));
        self.take(record);
        for visit in self.run.wants().ready {
            if let Some(step) = self.step(&visit) {
                step.state = State::Ready;
                step.attempt = if step.visit == visit.visit { step.attempt } else { 0 };
                step.visit = visit.visit;
            }
        }
    }

    fn take(&mut self, record: &Record) {
        match &record.event {
            Event::AttemptStarted(started) => {
                self.started(&started.attempt, record.at, started.iteration);
            }
            Event::AttemptSettled(settled) if !settled.late => self.settled(settled),
            Event::TimerSet(timer) => {
                if let Some(step) = self.step(&timer.visit) {
                    step.state = State::Retry { due: timer.due };
                }
            }
            Event::Routed(routed) => self.routed(routed),
            Event::HandoffWritten(written) => self.handed_over(written),
            Event::InterruptRaised(raised) => self.asked(raised),
            Event::InterruptAnswered(answered) => self.closed(&answered.interrupt),
            Event::InterruptCancelled(cancelled) => self.closed(&cancelled.interrupt),
            Event::CancelRequested(_) => self.cancelling = true,
            Event::RunForked(_) => (self.began, self.cancelling) = (Some(record.at), false),
            _ => {}
        }
    }

    fn step(&mut self, visit: &VisitId) -> Option<&mut StepView> {
        self.steps.iter_mut().find(|step| step.id == visit.step)
    }

    fn started(&mut self, attempt: &AttemptId, at: Timestamp, iteration: u64) {
        if let Some(place) = self.flow().position(&attempt.visit.step) {
            self.rounds.started(place, iteration);
        }
        let Some(step) = self.step(&attempt.visit) else { return };
        step.state = State::Running;
        step.visit = attempt.visit.visit;
        step.attempt = attempt.attempt;
        step.began = at;
        step.output.clear();
        if attempt.attempt == 1 {
            step.told.clear();
        }
    }

    fn settled(&mut self, settled: &AttemptSettled) {
        for file in &settled.files {
            self.files.insert(file.path.clone(), file.change);
        }
        let Some(step) = self.step(&settled.attempt.visit) else { return };
        step.took_ms = settled.duration_ms;
        step.output.clear();
        step.state = match settled.outcome {
            Outcome::InDoubt { .. } => State::InDoubt,
            _ if settled.ok => State::Done,
            _ => State::Failed,
        };
        if let Some(error) = &settled.error {
            step.told = format!("{}: {}", error.code, error.message);
        }
    }

    fn routed(&mut self, routed: &Routed) {
        let from = self.flow().position(&routed.visit.step);
        let (to, back) = match &routed.course {
            Course::Enter(step) => (self.flow().position(step), false),
            Course::LoopBack(step) => (self.flow().position(step), true),
            _ => return,
        };
        let (Some(from), Some(to)) = (from, to) else { return };
        if back {
            self.rounds.go_back(from, to);
            let body = self.steps.iter_mut().take(from.saturating_add(1)).skip(to);
            body.for_each(|step| step.state = State::Waiting);
        } else {
            self.rounds.enter(from, to);
        }
    }

    fn handed_over(&mut self, written: &HandoffWritten) {
        let handoff = &written.handoff;
        let told = handoff.error.as_ref().unwrap_or(&handoff.summary).clone();
        self.last = Some((written.visit.clone(), told.clone()));
        let Some(step) = self.step(&written.visit) else { return };
        step.told = told;
        // What is routed back stands there as waiting already.
        if step.state != State::Waiting || handoff.status == HandoffStatus::Skipped {
            step.state = match handoff.status {
                HandoffStatus::Succeeded => State::Done,
                HandoffStatus::Failed => State::Failed,
                HandoffStatus::Skipped => State::Skipped,
            };
        }
        step.visit = written.visit.visit;
        step.took_ms = handoff.duration_ms;
    }

    fn asked(&mut self, raised: &InterruptRaised) {
        let state = if raised.about == About::InDoubt { State::InDoubt } else { State::Asked };
        if let Some(step) = self.step(&raised.visit) {
            step.state = state;
            step.question = Some((raised.interrupt.clone(), raised.question.clone()));
        }
    }

    fn closed(&mut self, interrupt: &InterruptId) {
        let about = |step: &&mut StepView| step.question.as_ref().is_some_and(|(id, _)| id == interrupt);
        if let Some(step) = self.steps.iter_mut().find(about) {
            step.question = None;
            // What the answer leads to follows; the visit that was asked about has its hand-off, or gets one.
            step.state = if step.state == State::Asked { State::Done } else { step.state };
        }
    }
}

/// Milliseconds from one time to a later one.
pub(crate) fn since(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.as_millis().saturating_sub(from.as_millis())).unwrap_or(0)
}

#[cfg(test)]
mod tests;
