//! How a corrected flow changes the state of a run.

use super::Control;
use crate::{
    model::{
        event::Correction,
        flow::Flow,
        ids::{StepId, VisitId},
    },
    state::{
        corrected_inputs::corrected_inputs, flow_state::FlowState, graph, illegal_event::IllegalEvent, loops,
        visit::VisitState,
    },
};
use std::{collections::BTreeSet, sync::Arc};

impl Control {
    /// From here on the run is one of the flow `new`. What stands stays; what was about to be done is done as `new` says.
    pub(super) fn flow_corrected(
        &mut self,
        old: &Flow,
        new: &Flow,
        event: &Correction,
    ) -> Result<(), IllegalEvent> {
        if new.digest != event.after || new.language != event.language || old.digest != event.before {
            return Err(IllegalEvent::OtherFlow { pinned: event.after, found: new.digest });
        }
        if self.has_live() {
            return Err(IllegalEvent::AttemptStillLive);
        }
        self.correction = None;
        let inputs = corrected_inputs(old, new, &self.top.inputs);
        let started = self.phase.started_mut().ok_or(IllegalEvent::NotTheStart)?;
        (started.flow_digest, started.language) = (event.after, event.language);
        started.source.clone_from(&event.source);
        started.yes_to.retain(|step| !event.yes_void.contains(step));
        self.top.inputs = inputs;
        self.drop_orphans(new);
        self.correct_subflows(old, new);
        if self.phase.ended().is_some() && old.graph {
            // Of the old flow: what hung on a failed step that is gone is to be done all the same.
            graph::take_up_failed(old, &mut self.top);
        }
        forget_gone(new, &mut self.top);
        self.take_back_gone(new);
        self.take_in(old, new);
        // A question that was withdrawn before is put anew by its step.
        let in_question: BTreeSet<VisitId> =
            self.interrupts.values().map(|raised| raised.visit.clone()).collect();
        self.open.change_all(|id, open| {
            if open.state == VisitState::AwaitsAnswer && !in_question.contains(id) {
                open.state = VisitState::Ready;
            }
        });
        if let Some(from) = &event.from {
            self.begin_again(new, from);
        }
        Ok(())
    }

    /// The new flow of a scope; `None` if the new flows lack it.
    pub(crate) fn counterpart<'f>(&self, new: &'f Flow, scope: &str) -> Option<&'f Flow> {
        match self.flow_id(scope) {
            Some(id) => new.flows.get(id).map(AsRef::as_ref),
            None => Some(new),
        }
    }

    /// Whether a flow that is not under way is of no use any more: its step is gone, and would have taken it up.
    pub(crate) fn is_orphaned(&self, new: &Flow, scope: &str, state: &FlowState) -> bool {
        let Some(caller) = state.caller.as_ref().filter(|_| state.over && !scope.is_empty()) else {
            return false;
        };
        let flow = self.counterpart(new, caller.flow_scope());
        flow.and_then(|flow| flow.step(&caller.step)).is_none()
    }

    fn drop_orphans(&mut self, new: &Flow) {
        let is_orphaned = |(scope, state): &(&str, &FlowState)| self.is_orphaned(new, scope, state);
        let orphans: Vec<String> =
            self.flow_states().filter(is_orphaned).map(|(scope, _)| scope.to_owned()).collect();
        orphans.iter().for_each(|scope| self.drop_flow(scope));
    }

    fn correct_subflows(&mut self, old: &Flow, new: &Flow) {
        for state in self.subflows.values_mut() {
            let Some(id) = state.flow.clone() else { continue };
            if let (Some(before), Some(after)) = (old.flows.get(&id), new.flows.get(&id)) {
                state.inputs = corrected_inputs(before, after, &state.inputs);
                forget_gone(after, state);
            }
        }
    }

    /// Visits that have not begun, of steps that are gone, give their numbers back.
    fn take_back_gone(&mut self, new: &Flow) {
        let is_gone = |id: &&VisitId| {
            let flow = self.counterpart(new, id.flow_scope());
            flow.and_then(|flow| flow.step(&id.step)).is_none()
        };
        let gone: Vec<VisitId> = self.open.keys().filter(is_gone).cloned().collect();
        for id in gone {
            let attempts = self.open.remove(&id).map_or(0, |open| open.attempts);
            if attempts == 0 && id.item().is_none() {
                let state = self.flow_state_mut(id.flow_scope()).step(&id.step);
                state.visits = state.visits.saturating_sub(1);
            }
        }
    }

    /// In a graph, steps that were left out of the part and are in it now are to be done.
    fn take_in(&mut self, old: &Flow, new: &Flow) {
        let Some(part) = self.part().filter(|_| new.graph).cloned() else { return };
        self.top.reset(&part.selection.taken_in(old, new));
    }

    /// The step, and what follows it, are to be done again; a run that is over does so when it is reopened.
    fn begin_again(&mut self, new: &Flow, from: &StepId) {
        let again: Vec<_> = match new.graph {
            true => graph::descendants(new, from).into_iter().cloned().collect(),
            false => {
                let place = new.position(from).unwrap_or_default();
                new.steps.iter().skip(place).map(|step| step.id.clone()).collect()
            }
        };
        for step in &again {
            self.forget_work("", step);
            self.leave_hint("", step);
        }
        self.top.reset(&again.iter().collect());
        // In a graph, what does not hang on the step goes on as it was.
        let goes_on = |closing: &StepId| new.graph && !again.contains(closing);
        self.top.loops.retain(|closing, _| goes_on(closing) || loops::encloses(new, closing, from));
        self.top.diverted.clear();
        (self.top.failing, self.top.stopped_at) = (None, None);
        if !new.graph && self.phase.ended().is_none() {
            self.open_anew("", from);
        }
    }

    /// A correction is wanted, and waits until nothing is live.
    pub(super) fn correction_requested(&mut self, event: &Correction) {
        self.correction = Some(Arc::new(event.clone()));
    }
}

/// Loops that the flow has no more have no count, and no person is to decide where a step leads that is gone.
fn forget_gone(flow: &Flow, state: &mut FlowState) {
    state.loops.retain(|closing, _| flow.step(closing).is_some());
    for (id, step) in &mut state.steps {
        step.held &= flow.step(id).is_some();
    }
}
