//! The displayed state of one run: every step with its state, built only from the run's records.
//!
//! Pure: each picture gets the time as an argument ([`super::frame`]), and the last line of output is set
//! from outside. Usage, questions and status come from the kernel's own [`Run`], which gets the same records.

use super::level::{Level, Parts};
pub(crate) use super::level::{State, StepView};
use crate::{
    store::standing::waiting_for,
    text::{duration::since, words::item},
    view::questions,
};
use envoi_api::{
    cause,
    headline::{Sources, headline},
    words::items,
};
use envoi_contract::{handoff::Status as HandoffStatus, time::Timestamp};
use envoi_kernel::{
    Event, Flow, Record, Run, Status,
    event::{
        About, AttemptSettled, Change, Choice, Course, Done, FlowEntered, HandoffWritten, InterruptRaised,
        Outcome, Routed, StepsGivenUp,
    },
    files::list_name,
    flow::Versions,
    ids::{AttemptId, InterruptId, Seq, StepId, VisitId},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The displayed state of one run.
pub(crate) struct RunModel {
    run: Run,
    /// The steps of the run's own flow, with all their parts.
    pub(crate) level: Level,
    /// Files that the run's steps handed over, each with its last change.
    pub(crate) files: BTreeMap<String, Change>,
    /// Lists with too many files to be named, each with its number of files.
    pub(crate) lists: BTreeMap<String, u64>,
    /// The visit that closed last, and its summary.
    pub(crate) last: Option<(VisitId, String)>,
    began: Option<Timestamp>,
    cancelling: bool,
    stopping: bool,
    next: Seq,
}

impl RunModel {
    pub(crate) fn new(flow: impl Into<Versions>) -> Self {
        let run = Run::new(flow);
        Self {
            level: Level::of(run.flow(), ""),
            run,
            files: BTreeMap::new(),
            lists: BTreeMap::new(),
            last: None,
            began: None,
            cancelling: false,
            stopping: false,
            next: 0,
        }
    }

    /// Adds a flow that a later correction of the run can name.
    pub(crate) fn learn(&mut self, flow: Arc<Flow>) {
        self.run.learn(flow);
    }

    pub(crate) fn flow(&self) -> &Flow {
        self.run.flow()
    }

    pub(crate) fn run(&self) -> &Run {
        &self.run
    }

    /// The sequence number of the next record. Other records are ignored.
    pub(crate) fn next(&self) -> Seq {
        self.next
    }

    /// The word for the status of the run.
    pub(crate) fn status(&self) -> &'static str {
        match self.run.status() {
            Status::Running if self.cancelling => "cancelling",
            Status::Running if self.stopping => "stopping",
            status => status.word(),
        }
    }

    /// How long the run has been running, or ran until it was at rest.
    pub(crate) fn elapsed_ms(&self, now: Timestamp) -> u64 {
        let until = if self.run.status() == Status::Running { now } else { self.run.last_at() };
        self.began.map_or(0, |began| since(began, until))
    }

    /// Attempts whose output can be followed.
    pub(crate) fn live(&self) -> Vec<AttemptId> {
        self.run.wants().attempts
    }

    /// Questions to a person, oldest first.
    pub(crate) fn questions(&self) -> Vec<&InterruptRaised> {
        questions::open(&self.run)
    }

    /// Sets the last line of `attempt`, and its usage so far.
    pub(crate) fn output(&mut self, attempt: &AttemptId, line: String, used: String) {
        if let Some(step) = self.level.find(&attempt.visit) {
            (step.output, step.used) = (line, used);
        }
    }

    /// Takes the next record. A record that was already taken changes nothing.
    pub(crate) fn record(&mut self, record: &Record) {
        // The engine reports a record that does not apply. Here an error would only hide the rest.
        if record.seq != self.next || self.run.apply(record).is_err() {
            return;
        }
        self.next = record.seq.saturating_add(1);
        self.began = self.began.or(Some(record.at));
        self.take(record);
        let wants = self.run.wants();
        for visit in &wants.ready {
            if let Some(step) = self.level.find(visit) {
                step.state = State::Ready;
                step.attempt = if step.visit == visit.visit { step.attempt } else { 0 };
                step.visit = visit.visit;
            }
        }
        self.level.ending(&wants.ending);
    }

    fn take(&mut self, record: &Record) {
        match &record.event {
            Event::StepsGivenUp(given) => self.given_up(given),
            Event::FannedOut(fanned) => {
                if let Some(step) = self.level.find(&fanned.visit) {
                    // A step that only works in a separate tree has no item values.
                    let values = fanned.items.iter().map(item).collect();
                    let parts = Parts::Items { values, begun: BTreeMap::new() };
                    step.begin(&fanned.visit, record.at, parts);
                }
            }
            Event::FlowEntered(entered) => self.flow_entered(entered, record.at),
            // A later event closes the visit, unless its hand-off already exists.
            Event::FlowReturned(returned) => {
                if let Some(step) = self.level.find(&returned.visit) {
                    step.state = State::Done;
                }
            }
            Event::AttemptStarted(started) => {
                self.started(&started.attempt, record.at, started.iteration);
            }
            Event::AttemptSettled(settled) if !settled.late => self.settled(settled),
            Event::TimerSet(timer) => {
                if let Some(step) = self.level.find(&timer.visit) {
                    step.state = State::Retry { due: timer.due };
                    if let Some(wait) = &timer.account {
                        step.remark = waiting_for(&wait.account, wait.resets_at, timer.due);
                    }
                }
            }
            Event::Routed(routed) => self.routed(routed),
            Event::HandoffWritten(written) => self.handed_over(written, record.at),
            Event::InterruptRaised(raised) => self.question_raised(raised),
            Event::InterruptAnswered(answered) => {
                let passes = answered.choice == Choice::Proceed;
                self.closed(&answered.interrupt, passes);
            }
            Event::InterruptCancelled(cancelled) => self.closed(&cancelled.interrupt, false),
            Event::CancelRequested(_) => self.cancelling = true,
            Event::RunStopping(_) => self.stopping = true,
            Event::FlowCorrected(_) => self.level.correct(&self.run),
            Event::RunForked(_) => (self.began, self.cancelling) = (Some(record.at), false),
            _ => {}
        }
    }

    /// Steps that are abandoned. Steps that were under way also get a hand-off.
    fn given_up(&mut self, given: &StepsGivenUp) {
        let Some(level) = self.level.within(&given.scope) else { return };
        let steps = level.steps.iter_mut().filter(|step| given.steps.contains(&step.id));
        steps.filter(|step| step.state == State::Waiting).for_each(|step| step.state = State::Skipped);
    }

    fn flow_entered(&mut self, entered: &FlowEntered, at: Timestamp) {
        let Some(flow) = self.run.flow().flows.get(&entered.flow).cloned() else { return };
        let scope = entered.visit.inside();
        let Some(step) = self.level.find(&entered.visit) else { return };
        let before = core::mem::take(&mut step.parts);
        let mut level = Level::of(&flow, &scope);
        // Finished steps of the previous visit are not executed again.
        if let (true, Parts::Flow(before)) = (entered.resumes, before) {
            let kept = before.steps.into_iter().map(|step| (step.id.clone(), step));
            let mut kept: BTreeMap<StepId, StepView> =
                kept.filter(|(_, step)| step.state == State::Done).collect();
            for step in &mut level.steps {
                if let Some(before) = kept.remove(&step.id) {
                    *step = StepView { scope: scope.clone(), ..before };
                }
            }
        }
        step.begin(&entered.visit, at, Parts::Flow(Box::new(level)));
    }

    fn started(&mut self, attempt: &AttemptId, at: Timestamp, iteration: u64) {
        if let Some(level) = self.level.within(attempt.visit.flow_scope())
            && let Some(place) = level.flow.position(&attempt.visit.step)
        {
            level.rounds.started(place, iteration);
        }
        let Some(step) = self.level.find(&attempt.visit) else { return };
        step.state = State::Running;
        step.is_exhausted = false;
        step.visit = attempt.visit.visit;
        step.attempt = attempt.attempt;
        step.began = at;
        step.output.clear();
        step.used.clear();
        if attempt.attempt == 1 {
            step.remark.clear();
            step.sources = Sources::default();
        }
    }

    fn settled(&mut self, settled: &AttemptSettled) {
        for file in settled.files.iter().filter(|file| file.change != Change::Unchanged) {
            self.files.insert(file.path.clone(), file.change);
        }
        if let Some(manifest) = &settled.manifest {
            let visit = &settled.attempt.visit;
            let list = list_name(&visit.scope, &visit.step);
            self.lists.insert(list, manifest.total);
        }
        let Some(step) = self.level.find(&settled.attempt.visit) else { return };
        step.took_ms = settled.duration_ms;
        step.sources = Sources::of(settled);
        step.output.clear();
        step.used.clear();
        step.state = match settled.outcome {
            Outcome::InDoubt { .. } => State::InDoubt,
            _ if settled.ok => State::Done,
            _ => State::Failed,
        };
        if let Some(failed) = cause::of_attempt(settled) {
            step.remark = failed;
        }
    }

    fn routed(&mut self, routed: &Routed) {
        self.failed_by_hint(routed);
        if let Some(step) = self.level.find(&routed.visit) {
            step.is_exhausted = routed.goes_on_without_success();
        }
        let Some(level) = self.level.within(routed.visit.flow_scope()) else { return };
        let from = level.flow.position(&routed.visit.step);
        let (to, back) = match &routed.course {
            Course::Enter(step) => (level.flow.position(step), false),
            Course::LoopBack(step) | Course::Round(step) => (level.flow.position(step), true),
            _ => return,
        };
        let (Some(from), Some(to)) = (from, to) else { return };
        if back {
            let repeated: BTreeSet<usize> = level.flow.structure().repeated(from, to).iter().collect();
            match routed.course {
                Course::Round(_) => level.rounds.begin(&repeated),
                _ => level.rounds.go_back(from, to),
            }
            let body = level.steps.iter_mut().enumerate().filter(|(at, _)| repeated.contains(at));
            body.for_each(|(_, step)| step.reset());
        } else {
            level.rounds.enter(from, to);
        }
    }

    /// A visit whose hand-off already exists, and whose text led into a flow that failed, gets no other
    /// hand-off.
    fn failed_by_hint(&mut self, routed: &Routed) {
        let is_failure = matches!(routed.course, Course::Stop | Course::Done(Done::Failed));
        let step = self.level.find(&routed.visit).filter(|step| is_failure && step.state == State::Running);
        if let Some(step) = step {
            step.state = State::Failed;
        }
    }

    fn handed_over(&mut self, written: &HandoffWritten, at: Timestamp) {
        let handoff = &written.handoff;
        let remark = match handoff.status {
            HandoffStatus::Skipped => handoff.routing_signal.reason.clone(),
            _ if handoff.routing_audit.get("taken_from").is_some() => handoff.routing_signal.reason.clone(),
            _ => handoff.error.as_ref().unwrap_or(&handoff.summary).clone(),
        };
        if written.visit.scope.is_empty() {
            self.last = Some((written.visit.clone(), remark.clone()));
        }
        let Some(step) = self.level.find(&written.visit) else { return };
        step.remark = match (&handoff.status, &step.parts) {
            (HandoffStatus::Succeeded, Parts::Items { values, .. }) => items(values),
            (HandoffStatus::Succeeded, _) => headline(&remark, &step.sources),
            (HandoffStatus::Failed, _) => cause::of_handoff(&remark, Some(&step.remark)),
            (HandoffStatus::Skipped, _) => remark,
        };
        // A step that was routed back is already shown as waiting.
        if step.state != State::Waiting || handoff.status == HandoffStatus::Skipped {
            step.state = match handoff.status {
                HandoffStatus::Succeeded => State::Done,
                HandoffStatus::Failed => State::Failed,
                HandoffStatus::Skipped => State::Skipped,
            };
        }
        step.visit = written.visit.visit;
        step.took_ms = match step.parts {
            Parts::None => handoff.duration_ms,
            // It had no attempt of its own.
            Parts::Items { .. } | Parts::Flow(_) => since(step.began, at),
        };
    }

    fn question_raised(&mut self, raised: &InterruptRaised) {
        let state = if raised.about == About::InDoubt { State::InDoubt } else { State::AwaitsAnswer };
        if let Some(step) = self.level.find(&raised.visit) {
            step.state = state;
            step.question = Some((raised.interrupt.clone(), raised.question.clone()));
        }
    }

    fn closed(&mut self, interrupt: &InterruptId, passes: bool) {
        self.level.each(&mut |step| {
            if step.question.as_ref().is_some_and(|(id, _)| id == interrupt) {
                step.question = None;
                step.passed_by_a_person = passes;
                // The routing after the answer is a later event. The visit of the question has its hand-off,
                // or gets one.
                step.state = if step.state == State::AwaitsAnswer { State::Done } else { step.state };
            }
        });
    }
}

#[cfg(test)]
mod tests;
