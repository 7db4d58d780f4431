//! Applies questions and answers to the state of a run.

use super::Control;
use crate::state::illegal_event::IllegalEvent;
use crate::state::tool_approval::ToolApproval;
use crate::state::visit::VisitState;
use crate::{
    model::{
        event::{About, Choice, InterruptAnswered, InterruptRaised},
        flow::{Flow, Overdue},
        ids::InterruptId,
    },
    state::{
        conflict,
        flow_state::{Diverted, Kept},
    },
};
use std::sync::Arc;

impl Control {
    pub(super) fn interrupt_raised(&mut self, event: &InterruptRaised) -> Result<(), IllegalEvent> {
        let waits = match event.about {
            About::InDoubt => Some(VisitState::InDoubt),
            About::Ask | About::Agent | About::Throttled => Some(VisitState::AwaitsAnswer),
            // The question is about a loop-back, whose visit is closed, or about a visit that was about to
            // start.
            About::Limit => self.open.contains_key(&event.visit).then_some(VisitState::AwaitsAnswer),
            About::Exhausted | About::Blocked | About::Review | About::Stuck | About::Conflict => None,
        };
        if let Some(state) = waits {
            self.visit(&event.visit)?.state = state;
        }
        self.interrupts.insert(event.interrupt.clone(), Arc::new(event.clone()));
        Ok(())
    }

    pub(super) fn close_interrupt(&mut self, id: &InterruptId) -> Result<Arc<InterruptRaised>, IllegalEvent> {
        self.votes.remove(id);
        self.interrupts.remove(id).ok_or_else(|| IllegalEvent::InterruptNotOpen { interrupt: id.clone() })
    }

    pub(super) fn interrupt_answered(&mut self, event: &InterruptAnswered) -> Result<(), IllegalEvent> {
        let raised = self.close_interrupt(&event.interrupt)?;
        self.last_answer = Some(event.interrupt.clone());
        match raised.about {
            About::InDoubt => {
                let mut visit = self.visit(&raised.visit)?;
                (visit.state, visit.doubt) = (VisitState::Ready, None);
                visit.agent_session.resend = event.choice == Choice::Rerun;
            }
            About::Throttled => {
                let mut visit = self.visit(&raised.visit)?;
                visit.state = VisitState::Ready;
                (visit.waited.since, visit.waited.patient) = (None, event.choice == Choice::Rerun);
                drop(visit);
                event.raise.iter().for_each(|more| self.raised.add(more));
            }
            About::Agent => {
                let mut visit = self.visit(&raised.visit)?;
                visit.state = VisitState::Ready;
                match visit.tool_approval {
                    ToolApproval::None => visit.agent_session.answered(event),
                    ToolApproval::Waits | ToolApproval::Decided(_) => {
                        visit.tool_approval = ToolApproval::answered(&raised, event);
                    }
                }
            }
            About::Ask => {
                self.visit(&raised.visit)?.state = VisitState::Answered(Arc::new(event.clone()));
                if event.choice == Choice::Deny {
                    let by = Some(event.by.actor.clone());
                    let diverted = Diverted { step: raised.visit.step.clone(), by, denied: true };
                    self.flow_state_mut(raised.visit.flow_scope()).diverted.push(diverted);
                }
            }
            About::Limit => {
                if let Some(more) = &event.raise {
                    self.raised.add(more);
                }
                if let Some(mut visit) = self.open.get_mut(&raised.visit) {
                    visit.state = VisitState::Ready;
                }
            }
            About::Conflict => {
                let step = self.flow_state_mut(raised.visit.flow_scope()).step(&raised.visit.step);
                if let Some(Kept::Items(fan)) = &mut step.kept {
                    fan.trees.decided = conflict::decision(&raised.evidence, event);
                }
            }
            About::Exhausted | About::Blocked | About::Review | About::Stuck => {}
        }
        Ok(())
    }

    pub(super) fn vote_cast(&mut self, event: &InterruptAnswered) -> Result<(), IllegalEvent> {
        if !self.interrupts.contains_key(&event.interrupt) {
            return Err(IllegalEvent::InterruptNotOpen { interrupt: event.interrupt.clone() });
        }
        self.votes.entry(event.interrupt.clone()).or_default().push(Arc::new(event.clone()));
        Ok(())
    }

    pub(super) fn interrupt_expired(&mut self, flow: &Flow, id: &InterruptId) -> Result<(), IllegalEvent> {
        let raised = self.close_interrupt(id)?;
        let step = &raised.visit.step;
        let scope = raised.visit.flow_scope();
        if raised.about == About::Agent {
            let denies = self.flow(flow, scope).step(step).is_some_and(|step| step.denies_when_expired());
            let mut visit = self.visit(&raised.visit)?;
            visit.state = if denies { VisitState::Ready } else { VisitState::Expired };
            visit.tool_approval = if denies { ToolApproval::expired(&raised) } else { ToolApproval::None };
            return Ok(());
        }
        let plan = self.flow(flow, scope).step(step).and_then(|step| step.asks());
        let denied = plan.is_some_and(|plan| plan.on_expire == Overdue::Deny);
        self.visit(&raised.visit)?.state = VisitState::Expired;
        self.flow_state_mut(scope).diverted.push(Diverted { step: step.clone(), by: None, denied });
        Ok(())
    }
}
