//! Applies a corrected flow to the state of a run.

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
    /// Switches the run to the flow `new`. Finished work stays; the rest is executed as `new` says.
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
            // Computed with the old flow: steps that depended on a failed, removed step must be executed now.
            graph::take_up_failed(old, &mut self.top);
        }
        forget_gone(new, &mut self.top);
        self.take_back_gone(new);
        self.take_in(old, new);
        // A step raises a question again that was withdrawn because of the correction.
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

    /// The new flow of a scope; `None` if the new flows do not have it.
    pub(crate) fn counterpart<'f>(&self, new: &'f Flow, scope: &str) -> Option<&'f Flow> {
        match self.flow_id(scope) {
            Some(id) => new.flows.get(id).map(AsRef::as_ref),
            None => Some(new),
        }
    }

    /// Whether an inactive flow is no longer needed, because the step that would have resumed it was removed.
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

    /// Takes back the numbers of visits that have not begun and whose steps were removed.
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

    /// In a graph: makes steps pending that were not in the part and are in it now.
    fn take_in(&mut self, old: &Flow, new: &Flow) {
        let Some(part) = self.part().filter(|_| new.graph).cloned() else { return };
        self.top.reset(&part.selection.taken_in(old, new));
    }

    /// Makes the step and those after it pending again. A run that has ended does so when it is reopened.
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
        // In a graph, steps that do not depend on the step are not affected.
        let goes_on = |closing: &StepId| new.graph && !again.contains(closing);
        self.top.loops.retain(|closing, _| goes_on(closing) || loops::encloses(new, closing, from));
        self.top.diverted.clear();
        (self.top.failing, self.top.stopped_at) = (None, None);
        if !new.graph && self.phase.ended().is_none() {
            self.open_anew("", from);
        }
    }

    /// Records a requested correction, which waits until nothing is live.
    pub(super) fn correction_requested(&mut self, event: &Correction) {
        self.correction = Some(Arc::new(event.clone()));
    }
}

/// Removes the counts of removed loops, and pending questions about where a removed step leads.
fn forget_gone(flow: &Flow, state: &mut FlowState) {
    state.loops.retain(|closing, _| flow.step(closing).is_some());
    for (id, step) in &mut state.steps {
        step.held &= flow.step(id).is_some();
    }
}
