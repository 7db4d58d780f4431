//! The progress of a visit with another agent.

use crate::model::{
    command::Call,
    event::{AgentOutcome, AttemptSettled, Choice, InterruptAnswered},
    ids::InterruptId,
};
use serde::{Deserialize, Serialize};

/// The progress of a visit with another agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentSession {
    /// Number of tasks that ended without success.
    task: u32,
    /// Number of answers given to the current task.
    turn: u32,
    /// The last of these answers.
    answer: Option<InterruptId>,
    /// The person who denied the agent's request.
    pub(crate) denied_by: Option<String>,
    /// Whether a person decided to send the next message again, although it may have been sent already.
    pub(crate) resend: bool,
}

impl AgentSession {
    /// Records the answer of a person to the agent's question.
    pub(crate) fn answered(&mut self, event: &InterruptAnswered) {
        self.turn = self.turn.saturating_add(1);
        self.answer = Some(event.interrupt.clone());
        self.denied_by = (event.choice == Choice::Deny).then(|| event.by.actor.clone());
    }

    /// Records the end of an attempt. If the agent's task has ended too, the next try begins a new task.
    pub(crate) fn settle(&mut self, event: &AttemptSettled) {
        if event.agent == Some(AgentOutcome::Over) && self.denied_by.is_none() {
            *self = Self { task: self.task.saturating_add(1), ..Self::default() };
        }
    }

    /// Whether the task of this call has not ended, as far as is known.
    pub(crate) fn is_about(&self, call: &Call) -> bool {
        self.task == call.task
    }

    /// The answer that the next attempt sends.
    pub(crate) fn answer(&self) -> Option<&InterruptId> {
        self.answer.as_ref()
    }

    /// The parts of the next attempt's call that are known here.
    pub(crate) fn call(&self) -> Call {
        Call {
            url: String::new(),
            message: String::new(),
            data: None,
            tenant: None,
            interface: None,
            token: None,
            task: self.task,
            turn: self.turn,
            answer: self.answer.clone(),
            denied: self.denied_by.is_some(),
            resend: self.resend,
        }
    }
}
