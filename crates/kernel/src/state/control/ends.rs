//! Ends of a run, and its continuation after an end.

use super::Control;
use crate::state::illegal_event::IllegalEvent;
use crate::state::throttle::WaitingTime;
use crate::state::visit::VisitState;
use crate::{
    model::{
        event::{EndStatus, RunEnded, RunForked, RunReopened},
        flow::Flow,
        ids::VisitId,
    },
    state::{
        accounts::Accounts, agent_session::AgentSession, files_at_entry::FilesAtEntry, flow_state::Kept,
        graph,
    },
};
use std::{collections::BTreeSet, sync::Arc};

impl Control {
    pub(super) fn run_reopened(&mut self, flow: &Flow, event: &RunReopened) -> Result<(), IllegalEvent> {
        self.phase.reopen()?;
        self.ledger.add(&event.elsewhere.used);
        self.raised.add(&event.elsewhere.raised);
        self.inherited.add(&event.elsewhere);
        self.top.failing = None;
        self.waiting.reopened();
        // Executing a failed step on the path of a denial again does not undo the denial: the run still ends
        // as denied.
        self.top.diverted.retain(|diverted| diverted.step != event.step);
        if flow.graph {
            graph::take_up_failed(flow, &mut self.top);
        }
        match &event.decides {
            // The next event holds the course of this visit.
            Some(visit) => self.top.step(&visit.step).held = true,
            None if flow.graph => {}
            None => self.open_visit("", &event.step),
        }
        Ok(())
    }

    /// Work that was in progress in the original run is not in progress in the fork: it is executed again.
    /// Numbers of attempts and tries continue; items and flows keep their results.
    ///
    /// An item in a tree of its own gets a new tree, made from the files of the fork. So what it began with before is not what its
    /// changes are compared with.
    pub(super) fn run_forked(&mut self, flow: &Flow, event: &RunForked) -> Result<(), IllegalEvent> {
        self.phase.fork()?;
        let works_apart = |id: &VisitId| {
            let of = self.flow(flow, id.flow_scope());
            id.item().is_some() && of.step(&id.step).is_some_and(|step| step.isolate)
        };
        let apart: BTreeSet<VisitId> = self.open.keys().filter(|id| works_apart(id)).cloned().collect();
        self.open.change_all(|id, visit| {
            if apart.contains(id) {
                visit.files = FilesAtEntry::default();
            }
            if !matches!(visit.state, VisitState::ForEach | VisitState::Inside) {
                (visit.state, visit.plan, visit.doubt) = (VisitState::Ready, None, None);
                visit.agent_session = AgentSession::default();
            }
        });
        self.accounts = Accounts::default();
        self.sessions.fork();
        self.timers.clear();
        self.waiting = WaitingTime::default();
        self.abandoned.clear();
        self.ending.clear();
        self.ledger = event.family.used.clone();
        self.raised = event.family.raised.clone();
        self.inherited = event.family.clone();
        self.forked = Some(Arc::new(event.clone()));
        // The original run's files are not those of this run.
        self.restoring = None;
        Ok(())
    }

    pub(super) fn run_ended(&mut self, flow: &Flow, event: &RunEnded) -> Result<(), IllegalEvent> {
        if self.open.values().any(|visit| visit.state == VisitState::Running) || !self.ending.is_empty() {
            return Err(IllegalEvent::AttemptStillLive);
        }
        self.take_back_unstarted_visits();
        let hinted = self.subflows.iter().filter(|(_, flow_state)| flow_state.by_hint);
        let hinted =
            hinted.filter_map(|(inside, flow_state)| Some((inside.clone(), flow_state.caller.clone()?)));
        for (inside, caller) in hinted.collect::<Vec<_>>() {
            // The step that led there starts from the beginning. So an attempt in doubt within that flow
            // becomes a doubt of the step.
            let doubt = self.doubt_within(flow, &inside);
            self.drop_flow(&inside);
            let is_there = caller.scope.is_empty() || self.subflows.contains_key(&caller.scope);
            if let Some(doubt) = doubt.filter(|_| is_there) {
                self.flow_state_mut(&caller.scope).step(&caller.step).kept = Some(Kept::Doubt(doubt));
            }
        }
        self.timers.clear();
        self.interrupts.clear();
        self.votes.clear();
        if matches!(event.status, EndStatus::Succeeded | EndStatus::Cancelled) {
            // The run has ended, so there is nothing left to correct, or a person has cancelled it.
            self.correction = None;
        }
        self.phase.end(event.clone())
    }

    /// Takes back the numbers of visits that never had an attempt, so that visit numbers have no gaps.
    pub(super) fn take_back_unstarted_visits(&mut self) {
        for (id, visit) in self.open.take() {
            // The flow of an item is removed together with the item.
            if !id.flow_scope().is_empty() && !self.subflows.contains_key(id.flow_scope()) {
                continue;
            }
            let flow_state = self.flow_state_mut(id.flow_scope());
            flow_state.stopped_at = Some(id.step.clone());
            if visit.attempts > 0 || id.item().is_some() {
                continue;
            }
            let state = flow_state.step(&id.step);

            state.visits = state.visits.saturating_sub(1);
        }
    }
}
