//! Rules for steps that talk to other agents: which message of which task is sent, and the effect of answers.

use envoi_kernel::{
    Event,
    event::{About, AgentOutcome, Call, Choice, Command, Routed},
    ids::{AttemptId, InterruptId, StepId, VisitId},
};
use std::collections::BTreeMap;

/// Counts the records about agents.
#[derive(Default)]
pub(crate) struct Agents {
    /// The required next call of each visit.
    next: BTreeMap<VisitId, Next>,
    calls: BTreeMap<AttemptId, Call>,
    /// The visit whose agent has just asked.
    asking: Option<VisitId>,
    open: BTreeMap<InterruptId, (VisitId, About)>,
    denied: Option<StepId>,
}

#[derive(Default, Clone)]
struct Next {
    task: u32,
    turn: u32,
    answer: Option<InterruptId>,
    denied: bool,
    resend: bool,
}

impl Agents {
    pub(crate) fn take(&mut self, event: &Event) {
        if let Some(visit) = self.asking.take() {
            let (asked, left) = match event {
                Event::InterruptRaised(raised) => {
                    (raised.about == About::Agent && raised.visit == visit, false)
                }
                Event::Routed(routed) => (false, routed.visit == visit),
                _ => (false, false),
            };
            assert!(asked || left, "the agent of {visit} asks, and nobody is asked");
        } else if let Event::InterruptRaised(raised) = event {
            // A question is put again when what it showed has changed.
            assert!(raised.about != About::Agent || !raised.found.is_empty(), "no agent asks");
        }
        match event {
            Event::AttemptStarted(event) => {
                let next = self.next.entry(event.attempt.visit.clone()).or_default();
                let Command::A2a(call) = &event.command else { return };
                let told = (call.task, call.turn, &call.answer, call.denied, call.resend);
                let due = (next.task, next.turn, &next.answer, next.denied, next.resend);
                assert_eq!(told, due, "{}", event.attempt);
                next.resend = false;
                self.calls.insert(event.attempt.clone(), call.as_ref().clone());
            }
            Event::AttemptSettled(event) => self.settles(&event.attempt, event.agent.as_ref(), event.late),
            Event::InterruptRaised(event) => {
                self.open.insert(event.interrupt.clone(), (event.visit.clone(), event.about));
            }
            Event::InterruptAnswered(event) => {
                let Some((visit, about)) = self.open.remove(&event.interrupt) else { return };
                let next = self.next.entry(visit.clone()).or_default();
                match about {
                    About::Agent => {
                        next.turn += 1;
                        next.answer = Some(event.interrupt.clone());
                        next.denied = event.choice == Choice::Deny;
                        assert!(matches!(event.choice, Choice::Respond | Choice::Deny));
                    }
                    About::InDoubt => next.resend = event.choice == Choice::Rerun,
                    _ => {}
                }
            }
            // A denied call may still end otherwise, for example when a verification finds that the step succeeded.
            Event::Routed(event) if ends_as_denied(event) && self.is_denied(&event.visit) => {
                self.denied = Some(event.visit.step.clone());
            }
            Event::HandoffWritten(event) => drop(self.next.remove(&event.visit)),
            // The denied step is done again, so its denial ends the run no more.
            Event::RunReopened(_) => self.denied = None,
            _ => {}
        }
    }

    fn settles(&mut self, attempt: &AttemptId, said: Option<&AgentOutcome>, late: bool) {
        let Some(said) = said else { return };
        assert!(!late, "{attempt} is late, and what its agent says counts");
        let call = self.calls.get(attempt).unwrap_or_else(|| panic!("{attempt} talks to no agent"));
        let next = self.next.entry(attempt.visit.clone()).or_default();
        match said {
            AgentOutcome::Over if !call.denied => *next = Next { task: next.task + 1, ..Next::default() },
            AgentOutcome::Asks { .. } => self.asking = Some(attempt.visit.clone()),
            AgentOutcome::Over | AgentOutcome::Unclear => {}
        }
    }

    fn is_denied(&self, visit: &VisitId) -> bool {
        self.next.get(visit).is_some_and(|next| next.denied)
    }

    /// The last step that ended because its agent was denied something, since the run started or was reopened.
    pub(crate) fn denied(&self) -> Option<&StepId> {
        self.denied.as_ref()
    }
}

fn ends_as_denied(event: &Routed) -> bool {
    event.end.as_ref().is_some_and(|end| end.terminal_reason.word() == "policy_violation")
}
