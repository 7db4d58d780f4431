//! The flows of a run and the items of its steps: opening, continuing, and dropping them.

use super::Control;
use crate::state::illegal_event::IllegalEvent;
use crate::state::visit::{OpenVisit, VisitState};
use crate::{
    model::{
        event::{FannedOut, FlowEntered},
        flow::Flow,
        ids::{FlowId, StepId, VisitId},
    },
    state::{
        doubt::{self, Doubt},
        files_at_entry::FilesAtEntry,
        flow_state::{FlowState, Kept},
        for_each::ForEachItems,
        graph,
    },
};
use std::sync::Arc;

impl Control {
    /// The state of the flow with this scope.
    pub(crate) fn flow_state(&self, scope: &str) -> &FlowState {
        self.subflows.get(scope).unwrap_or(&self.top)
    }

    pub(super) fn flow_state_mut(&mut self, scope: &str) -> &mut FlowState {
        self.subflows.get_mut(scope).unwrap_or(&mut self.top)
    }

    /// The flow of a scope; `flow` is the run's own.
    pub(crate) fn flow<'f>(&self, flow: &'f Flow, scope: &str) -> &'f Flow {
        self.flow_id(scope).and_then(|id| flow.flows.get(id)).map_or(flow, AsRef::as_ref)
    }

    /// The id of the flow of a scope; `None`: the run's own.
    pub(crate) fn flow_id(&self, scope: &str) -> Option<&FlowId> {
        match self.subflows.get(scope) {
            Some(flow_state) => flow_state.flow.as_ref(),
            None => self.left.get(scope),
        }
    }

    /// Every flow in progress, the run's own first.
    pub(crate) fn flow_states(&self) -> impl Iterator<Item = (&str, &FlowState)> {
        [("", &self.top)]
            .into_iter()
            .chain(self.subflows.iter().map(|(scope, flow_state)| (scope.as_str(), flow_state)))
    }

    pub(super) fn open_visit(&mut self, scope: &str, step: &StepId) {
        self.leave_hint(scope, step);
        let state = self.flow_state_mut(scope).step(step);
        state.visits = state.visits.saturating_add(1);
        let id = VisitId { scope: scope.to_owned(), step: step.clone(), visit: state.visits };
        let doubt = match state.kept.take_if(|kept| matches!(kept, Kept::Doubt(_))) {
            Some(Kept::Doubt(doubt)) => Some(doubt),
            _ => None,
        };
        // Work in doubt is repeated from the files it began with.
        let files = doubt.as_ref().map(|_| state.files.gone_back_to()).unwrap_or_default();
        self.open.insert(id, OpenVisit { files, ..OpenVisit::after(doubt) });
    }

    /// Opens a visit that takes over nothing from the previous one, except attempts in doubt.
    pub(super) fn open_anew(&mut self, scope: &str, step: &StepId) {
        self.forget_work(scope, step);
        self.open_visit(scope, step);
    }

    /// If a step with conflicting items goes back to itself, only those items are executed again.
    pub(super) fn take_items_in_conflict(&mut self, scope: &str, step: &StepId) -> Option<Kept> {
        let is_put_off =
            |kept: &mut Kept| matches!(kept, Kept::Items(fan) if !fan.trees.in_conflict.is_empty());
        self.flow_state_mut(scope).step(step).kept.take_if(is_put_off)
    }

    /// Whether a person has decided how to merge the conflicting items of this step, so that none is executed
    /// again.
    pub(super) fn is_merged_as_decided(&self, scope: &str, step: &StepId) -> bool {
        let kept = self.flow_state(scope).steps.get(step).and_then(|state| state.kept.as_ref());
        matches!(kept, Some(Kept::Items(fan)) if fan.trees.decided.is_some())
    }

    /// Opens a visit of the step that a loop goes back to. The visit keeps the record of the files that the
    /// step began with.
    pub(super) fn go_back(&mut self, scope: &str, step: &StepId, from: &StepId) {
        let items = self.take_items_in_conflict(scope, step).filter(|_| from == step);
        self.open_anew(scope, step);
        if items.is_some() {
            self.flow_state_mut(scope).step(step).kept = items;
        }
        let state = self.flow_state_mut(scope).step(step);
        let (visit, files) = (state.visits, state.files.gone_back_to());
        let id = VisitId { scope: scope.to_owned(), step: step.clone(), visit };
        if let Some(mut open) = self.open.get_mut(&id) {
            open.files = files;
        }
    }

    /// Drops the finished work of a failed visit. A person still has to decide about attempts in doubt.
    pub(super) fn forget_work(&mut self, scope: &str, step: &StepId) {
        if !matches!(self.flow_state_mut(scope).step(step).kept, Some(Kept::Doubt(_))) {
            self.forget(scope, step);
        }
    }

    /// The attempt in doubt that a person has to decide about, in the flow of this scope or in one within it.
    pub(super) fn doubt_within(&self, flow: &Flow, inside: &str) -> Option<Arc<Doubt>> {
        let within = format!("{inside}.");
        let meant = self.subflows.iter().filter(|(scope, _)| *scope == inside || scope.starts_with(&within));
        let steps = meant.flat_map(|(scope, state)| state.steps.iter().map(move |step| (scope, step)));
        let mut kept = steps.filter_map(|(scope, (id, state))| {
            let step = self.flow(flow, scope).step(id).filter(|step| doubt::is_asked_about(step))?;
            state.kept.as_ref()?.doubts().next().filter(|_| step.has_attempts() || step.for_each.is_some())
        });
        kept.next().cloned()
    }

    /// Drops everything that a failed visit kept.
    pub(super) fn forget(&mut self, scope: &str, step: &StepId) {
        if let Some(Kept::Flow(inside)) = self.flow_state_mut(scope).step(step).kept.take() {
            self.drop_flow(&inside);
        }
    }

    /// Removes the flow of this scope and those within it.
    pub(super) fn drop_flow(&mut self, inside: &str) {
        let within = format!("{inside}.");
        let is_meant = |scope: &String| scope == inside || scope.starts_with(&within);
        let meant: Vec<String> = self.subflows.keys().filter(|scope| is_meant(scope)).cloned().collect();
        for scope in meant {
            self.take_flow(&scope);
        }
    }

    /// Removes the flow of this scope. Keeps its id as long as results of its attempts may still arrive.
    pub(super) fn take_flow(&mut self, scope: &str) -> Option<FlowState> {
        let flow_state = self.subflows.remove(scope)?;
        let awaited = self.abandoned.iter().any(|attempt| attempt.visit.flow_scope() == scope);
        if let Some(flow) = flow_state.flow.as_ref().filter(|_| awaited) {
            self.left.insert(scope.to_owned(), flow.clone());
        }
        Some(flow_state)
    }

    /// Removes the flow that a hint of this step led into.
    pub(super) fn leave_hint(&mut self, scope: &str, step: &StepId) {
        let of_it = |caller: &VisitId| caller.scope == scope && caller.step == *step;
        let hinted =
            |flow_state: &FlowState| flow_state.by_hint && flow_state.caller.as_ref().is_some_and(of_it);
        let inside =
            self.subflows.iter().find(|(_, flow_state)| hinted(flow_state)).map(|(inside, _)| inside.clone());
        if let Some(inside) = inside {
            self.drop_flow(&inside);
        }
    }

    pub(super) fn fanned_out(&mut self, event: &FannedOut) -> Result<(), IllegalEvent> {
        let kept = self.flow_state_mut(&event.visit.scope).step(&event.visit.step).kept.take();
        let before = match &kept {
            Some(Kept::Items(fan)) => Some(fan.as_ref()),
            _ => None,
        };
        let fan = ForEachItems::of(event.items.clone(), event.width, before);
        let mut visit = self.visit(&event.visit)?;
        (visit.state, visit.for_each) = (VisitState::ForEach, Some(Box::new(fan)));
        if visit.doubt.is_none() {
            // A merge starts from the run's present tree, not from the files of an earlier round.
            visit.files = FilesAtEntry::default();
        }
        drop(visit);
        self.admit_items(&event.visit);
        self.merge_when_over(&event.visit);
        Ok(())
    }

    /// When all items of a visit have ended, the visit continues with an attempt that merges their results.
    pub(super) fn merge_when_over(&mut self, whole: &VisitId) {
        let open = self.open.get_mut(whole).filter(|open| open.state == VisitState::ForEach);
        if let Some(mut open) = open
            && open.for_each.as_ref().is_some_and(|fan| fan.is_to_be_merged())
        {
            open.state = VisitState::Ready;
        }
    }

    /// Opens as many items as the width allows.
    pub(super) fn admit_items(&mut self, whole: &VisitId) {
        if self.winds_down() {
            return;
        }
        while let Some((item, doubt)) =
            self.open.get_mut(whole).and_then(|mut open| open.for_each.as_mut()?.admit())
        {
            self.open.insert(whole.nth(u64::try_from(item).unwrap_or(u64::MAX)), OpenVisit::after(doubt));
        }
    }

    pub(super) fn flow_entered(&mut self, flow: &Flow, event: &FlowEntered) -> Result<(), IllegalEvent> {
        let inner =
            flow.flows.get(&event.flow).ok_or_else(|| IllegalEvent::NoFlow { flow: event.flow.clone() })?;
        let scope = event.visit.inside();
        if let Some(mut open) = self.open.get_mut(&event.visit) {
            open.state = VisitState::Inside;
        }
        let state = self.flow_state_mut(event.visit.flow_scope()).step(&event.visit.step);
        let kept = state.kept.take();
        state.held |= event.by_hint;
        if let (true, Some(Kept::Flow(old))) = (event.resumes, kept) {
            return self.take_up(inner, &event.visit, old.as_str());
        }
        let flow_state = FlowState {
            flow: Some(event.flow.clone()),
            caller: Some(event.visit.clone()),
            by_hint: event.by_hint,
            inputs: event.inputs.clone(),
            ..FlowState::default()
        };
        self.subflows.insert(scope.clone(), flow_state);
        let first = event.at.as_ref().or_else(|| inner.steps.first().map(|step| &step.id));
        if let Some(first) = first.filter(|_| !inner.graph) {
            self.open_visit(&scope, first);
        }
        Ok(())
    }

    /// Continues a stopped flow as a part of a new visit.
    pub(super) fn take_up(&mut self, inner: &Flow, visit: &VisitId, old: &str) -> Result<(), IllegalEvent> {
        let scope = visit.inside();
        let mut flow_state =
            self.take_flow(old).ok_or_else(|| IllegalEvent::NoScope { scope: old.to_owned() })?;
        (flow_state.caller, flow_state.over) = (Some(visit.clone()), false);
        let stopped =
            flow_state.failing.take().and_then(|end| end.stopped_by).or_else(|| flow_state.stopped_at.take());
        flow_state.diverted.retain(|diverted| Some(&diverted.step) != stopped.as_ref());
        if inner.graph {
            graph::take_up_failed(inner, &mut flow_state);
        }
        self.subflows.insert(scope.clone(), flow_state);
        let step = stopped.or_else(|| inner.steps.first().map(|step| step.id.clone()));
        if let Some(step) = step.filter(|_| !inner.graph) {
            self.open_visit(&scope, &step);
        }
        Ok(())
    }
}
