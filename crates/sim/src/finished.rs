//! Which steps of a run's own flow are finished, kept from the events alone: nothing that is finished begins again unasked.
//!
//! A step is due by the way that a visit leads, by a loop, by a graph whose step has failed, by a person who says from where
//! the run runs again, and by the end of a run at that step.

use envoi_contract::handoff::Status;
use envoi_kernel::{
    Event, Flow,
    event::{Course, Done},
    ids::{StepId, VisitId},
};
use std::collections::{BTreeMap, BTreeSet};

/// See the module.
#[derive(Default)]
pub(crate) struct Finished {
    /// Whether the last visit of a step has succeeded, and has led on.
    done: BTreeMap<StepId, bool>,
    /// The course of the last visit of each step.
    courses: BTreeMap<StepId, (VisitId, Course)>,
    /// The step at which the run stopped, while it has ended.
    stopped_at: Option<StepId>,
    last: Option<StepId>,
}

impl Finished {
    /// Takes an event; `old` is the flow that holds before it, `new` the one that holds after it. The step that begins again although
    /// it is finished, if there is one.
    pub(crate) fn enter(&mut self, old: &Flow, new: &Flow, event: &Event) -> Option<StepId> {
        match event {
            Event::Routed(routed) if is_whole(&routed.visit) => {
                self.led(new, &routed.visit, &routed.course);
                self.courses.insert(routed.visit.step.clone(), (routed.visit.clone(), routed.course.clone()));
            }
            Event::HandoffWritten(written) if is_whole(&written.visit) => {
                let step = &written.visit.step;
                self.done.insert(step.clone(), written.handoff.status == Status::Succeeded);
                self.last = Some(step.clone());
                if let Some((visit, course)) =
                    self.courses.get(step).cloned().filter(|(visit, _)| *visit == written.visit)
                {
                    self.led(new, &visit, &course);
                }
            }
            Event::StepEntered(entered) if entered.scope.is_empty() => return self.begins(&entered.step),
            Event::AttemptStarted(started) => return self.begins(&top_step(&started.attempt.visit)),
            Event::RunEnded(ended) => self.stopped_at = ended.stopped_by.clone().or(self.last.clone()),
            Event::FlowCorrected(correction) => {
                if old.graph && self.stopped_at.is_some() {
                    self.repeat_failed(old);
                }
                if let Some(from) = &correction.from {
                    self.repeat(new, from);
                    self.stopped_at = self.stopped_at.take().map(|_| from.clone());
                }
            }
            Event::RunReopened(reopened) => {
                let stopped_at = self.stopped_at.take();
                if new.graph {
                    self.repeat_failed(new);
                } else {
                    if stopped_at.as_ref() != Some(&reopened.step)
                        && let Some(step) = self.begins(&reopened.step)
                    {
                        return Some(step);
                    }
                    self.done.remove(&reopened.step);
                }
                if reopened.decides.is_some() {
                    self.done.insert(reopened.step.clone(), true);
                }
            }
            _ => {}
        }
        None
    }

    fn begins(&self, step: &StepId) -> Option<StepId> {
        self.done.get(step).is_some_and(|done| *done).then(|| step.clone())
    }

    fn led(&mut self, flow: &Flow, visit: &VisitId, course: &Course) {
        match course {
            Course::Enter(next) => {
                self.done.remove(next);
            }
            Course::LoopBack(to) | Course::Round(to) => self.repeat(flow, to),
            Course::Hold | Course::Stop | Course::Done(Done::Failed) => {
                self.done.insert(visit.step.clone(), false);
            }
            Course::Done(_) | Course::Complete | Course::Gathered => {}
        }
    }

    /// Steps that follow a step are repeated with it.
    fn repeat(&mut self, flow: &Flow, step: &StepId) {
        let mut again: BTreeSet<&StepId> = [step].into();
        // The needs of a step of a graph are listed before it, or are found the next time round.
        while let Some(next) = flow.steps.iter().find(|other| {
            let follows = match flow.graph {
                true => other.needs.iter().any(|need| again.contains(need)),
                false => flow.position(&other.id) >= flow.position(step),
            };
            follows && !again.contains(&other.id)
        }) {
            again.insert(&next.id);
        }
        self.done.retain(|done, _| !again.contains(done));
    }

    fn repeat_failed(&mut self, flow: &Flow) {
        let failed: Vec<StepId> =
            self.done.iter().filter(|(_, done)| !**done).map(|(step, _)| step.clone()).collect();
        failed.iter().for_each(|step| self.repeat(flow, step));
    }
}

/// Whether this is a visit of the run's own flow, and no item.
fn is_whole(visit: &VisitId) -> bool {
    visit.scope.is_empty() && visit.item().is_none()
}

/// The step of the run's own flow that holds this visit.
pub(crate) fn top_step(visit: &VisitId) -> StepId {
    let outermost = visit.scope.split('.').find(|segment| segment.parse::<u64>().is_err());
    let named = outermost.filter(|segment| !segment.is_empty()).and_then(|step| StepId::new(step).ok());
    named.unwrap_or_else(|| visit.step.clone())
}
