//! A new run that has the history of another one up to where a step was entered, and goes on from there by itself.
//!
//! Owns the place of the cut in the old run; visits that were under way there are done anew. A fork is of an ended run:
//! only one run of a family goes on at a time, so that together they keep within their limits. The events of the old run
//! after the cut stay its own; its use there counts all the same ([`Share`]).

use crate::{
    decide::{advance::advance, conclude, draft::Draft, set_back, takeover},
    model::{
        event::{
            Correction, Course, Event, InterruptCancelled, InterruptRaised, Record, RunEnded, RunForked,
            RunStarted,
        },
        family::Share,
        flow::{Flow, Versions},
        ids::{RunId, Seq, StepId},
        input::{Correct, Fork, Refusal},
        part::Part,
    },
    state::carry_over,
};
use envoi_contract::json::Value;
use std::sync::Arc;

/// Input: fork.
pub(crate) fn fork(mut draft: Draft<'_>, fork: Fork) -> Result<Draft<'_>, Refusal> {
    let cut = Cut::of(draft.versions, &fork.lived, fork.from.as_ref())?;
    let Fork {
        run,
        run_base,
        workspace,
        shared,
        yes_to,
        by,
        why,
        lived,
        family,
        correct,
        isolated,
        files: set_back,
        ..
    } = fork;
    let kept = usize::try_from(cut.at).unwrap_or(usize::MAX).saturating_add(1);
    for mut record in lived.into_iter().take(kept) {
        if let Event::RunStarted(started) = &mut record.event {
            let own = RunStarted {
                run: run.clone(),
                run_base: run_base.clone(),
                workspace: workspace.clone(),
                shared,
                // The changes of the fork are to be shown and brought back.
                keep_files: started.keep_files || isolated.is_some(),
                snapshots: started.snapshots_of_fork(isolated.is_some()),
                isolated: isolated.clone(),
                yes_to: yes_to.clone(),
                // The trace of the old run is not the trace of this one.
                trace: None,
                ..started.as_ref().clone()
            };
            **started = own;
        }
        // The void approvals of the old run do not apply to this one.
        if let Event::FlowCorrected(correction) = &mut record.event {
            correction.yes_void.clear();
        }
        draft.adopt(record)?;
    }
    let questions: Vec<_> = draft.control.interrupts.values().cloned().collect();
    for raised in &questions {
        let interrupt = raised.interrupt.clone();
        draft.emit(Event::InterruptCancelled(InterruptCancelled { interrupt, changed: false }))?;
    }
    let Cut { from, root, step, at } = cut;
    draft.emit(Event::RunForked(Box::new(RunForked { from, root, step, at, by, why, family })))?;
    if let Some(correct) = correct {
        begin_corrected(&mut draft, *correct)?;
    }
    put_again(&mut draft, &questions)?;
    if let Some(wanted) = set_back {
        draft.emit(Event::FilesRestoring(wanted))?;
    }
    let isolated = draft.control.phase.started().is_some_and(|started| started.isolated.is_some());
    set_back::check_isolated(draft.flow, isolated)?;
    advance(draft)
}

/// From where the old run is cut the new one goes on under a corrected flow.
fn begin_corrected(draft: &mut Draft<'_>, correct: Correct) -> Result<(), Refusal> {
    let Correct { flow, language, source, by, why, request, .. } = correct;
    let new = takeover::version(draft, &flow, language)?;
    if (new.digest, new.language) == (draft.flow.digest, draft.flow.language) {
        return Ok(());
    }
    let reasons = carry_over::refusals(&draft.control, draft.flow, new, None);
    if !reasons.is_empty() {
        return Err(Refusal::NotCorrectable { reasons });
    }
    let before = draft.flow.digest;
    // The person who forks approves the steps of the corrected flow in advance.
    let yes_void = Vec::new();
    let correction =
        Correction { before, after: flow, language, source, from: None, by, why, request, yes_void };
    takeover::take_over(draft, correction, Share::default())
}

/// A question about a visit that is closed is put again: nothing else would bring its step on. Others are, when their visit
/// is done anew.
fn put_again(draft: &mut Draft<'_>, questions: &[Arc<InterruptRaised>]) -> Result<(), Refusal> {
    for raised in questions {
        let flow = draft.control.flow(draft.flow, raised.visit.flow_scope());
        if flow.step(&raised.visit.step).is_some() && !draft.control.open.contains_key(&raised.visit) {
            let InterruptRaised { about, visit, question, evidence, .. } = raised.as_ref();
            conclude::raise(draft, visit, *about, question.clone(), evidence.clone())?;
        }
    }
    Ok(())
}

/// The place at which a run is cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The run.
    pub from: RunId,
    /// The run that it goes back to by forks; itself, if it is none.
    pub root: RunId,
    /// The step that has just been entered there.
    pub step: StepId,
    /// The last event before it.
    pub at: Seq,
}

impl Cut {
    /// The place at which the history of the original run is cut: the last entry of `from`, or the step that stopped
    /// it.
    ///
    /// # Errors
    /// [`Refusal::NotForkable`]: it is not over, nothing stopped it, or there is no such step, or the run never came
    /// to it.
    pub fn of(versions: &Versions, lived: &[Record], from: Option<&StepId>) -> Result<Self, Refusal> {
        let refuse = |reason: String| Err(Refusal::NotForkable { reason });
        let Some(Event::RunStarted(started)) = lived.first().map(|record| &record.event) else {
            return refuse("it has not started".to_owned());
        };
        let Some(ended) = ended(lived) else { return refuse("it is not over".to_owned()) };
        let Some(step) = from.or(ended.stopped_by.as_ref()) else {
            return refuse("no step stopped it; say at which one the fork begins".to_owned());
        };
        if versions.all().all(|flow| flow.step(step).is_none()) {
            return refuse(format!("its flow has no step `{step}`"));
        }
        let left_out = |part: &Part| !versions.all().any(|flow| part.selection.includes(flow, step));
        if started.part.as_deref().is_some_and(left_out) {
            return refuse(format!("step `{step}` is left out of the part that it ran"));
        }
        // The start is of the first version, and whether it is a graph no correction changes.
        let first = versions.first();
        let opened = lived.iter().rposition(|record| opens(first, &record.event) == Some(step));
        let Some(opened) = opened else { return refuse(format!("it never came to step `{step}`")) };
        let after = lived.iter().skip(opened.saturating_add(1)).take_while(|record| closes(&record.event));
        let Some(last) = after.last().or_else(|| lived.get(opened)) else {
            return refuse("it has not started".to_owned());
        };
        let root = lived.iter().find_map(|record| match &record.event {
            Event::RunForked(forked) => Some(forked.root.clone()),
            _ => None,
        });
        // A step that the corrected flow alone has was entered just before that flow took over.
        let is_new = held(versions, lived, last.seq).step(step).is_none();
        let takes_over = |record: &&Record| matches!(record.event, Event::FlowCorrected(_));
        let corrected = lived.iter().find(|record| record.seq > last.seq && is_new).filter(takes_over);
        let from = started.run.clone();
        let at = corrected.unwrap_or(last).seq;
        Ok(Self { root: root.unwrap_or_else(|| from.clone()), from, step: step.clone(), at })
    }
}

impl Cut {
    /// The flow under which a fork goes on: the one that held where the run is cut. A later correction is not part of it.
    #[must_use]
    pub fn flow<'v>(&self, versions: &'v Versions, lived: &[Record]) -> &'v Arc<Flow> {
        held(versions, lived, self.at)
    }
}

/// The flow that held after this event.
fn held<'v>(versions: &'v Versions, lived: &[Record], at: Seq) -> &'v Arc<Flow> {
    let until = lived.iter().take_while(|record| record.seq <= at);
    until.filter_map(|record| versions.named_by(&record.event)).last().unwrap_or(versions.first())
}

/// How the original run has ended, if it is over.
fn ended(lived: &[Record]) -> Option<&RunEnded> {
    lived.iter().rev().find_map(|record| match &record.event {
        Event::RunEnded(ended) => Some(Some(ended)),
        Event::RunReopened(_) | Event::RunForked(_) => Some(None),
        _ => None,
    })?
}

/// The step of the run's own flow that the event opens a visit of.
fn opens<'e>(flow: &'e Flow, event: &'e Event) -> Option<&'e StepId> {
    match event {
        Event::RunStarted(_) if !flow.graph => flow.steps.first().map(|step| &step.id),
        Event::RunReopened(reopened) if !flow.graph && reopened.decides.is_none() => Some(&reopened.step),
        Event::StepEntered(entered) if entered.scope.is_empty() => Some(&entered.step),
        Event::Routed(routed) if routed.visit.scope.is_empty() => match &routed.course {
            Course::Enter(step) | Course::LoopBack(step) | Course::Round(step) => Some(step),
            Course::Done(_) | Course::Gathered | Course::Complete | Course::Hold | Course::Stop => None,
        },
        _ => None,
    }
}

/// Whether an event after the opening of a visit, in the same commit, only closes others: the hand-off of the visit
/// that led there, and the steps that a join or a branch gives up.
fn closes(event: &Event) -> bool {
    match event {
        Event::HandoffWritten(_) | Event::StepsGivenUp(_) | Event::TimerFired(_) => true,
        Event::InterruptCancelled(cancelled) => !cancelled.changed,
        Event::Routed(routed) => routed.audit == Value::from(crate::decide::abandon::AUDIT),
        _ => false,
    }
}
