//! How far a visit has come with another agent.

use crate::model::{
    command::Call,
    event::{AgentOutcome, AttemptSettled, Choice, InterruptAnswered},
    ids::InterruptId,
};
use serde::{Deserialize, Serialize};

/// How far a visit has come with the agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentSession {
    /// Tasks that are over without success.
    task: u32,
    /// Answers that were given to the one that is not.
    turn: u32,
    /// The last of them.
    answer: Option<InterruptId>,
    /// The person who denied what the agent wanted.
    pub(crate) denied_by: Option<String>,
    /// A person decided to send the next message again, although it is not known whether it was sent.
    pub(crate) resend: bool,
}

impl AgentSession {
    /// A person has answered the agent's question.
    pub(crate) fn answered(&mut self, event: &InterruptAnswered) {
        self.turn = self.turn.saturating_add(1);
        self.answer = Some(event.interrupt.clone());
        self.denied_by = (event.choice == Choice::Deny).then(|| event.by.actor.clone());
    }

    /// An attempt is over; if the agent's task is, another try begins another one.
    pub(crate) fn settle(&mut self, event: &AttemptSettled) {
        if event.agent == Some(AgentOutcome::Over) && self.denied_by.is_none() {
            *self = Self { task: self.task.saturating_add(1), ..Self::default() };
        }
    }

    /// Whether the task that this call is about is not over, as far as it is known.
    pub(crate) fn is_about(&self, call: &Call) -> bool {
        self.task == call.task
    }

    /// The answer that the next attempt passes on.
    pub(crate) fn answer(&self) -> Option<&InterruptId> {
        self.answer.as_ref()
    }

    /// The part of the next attempt's call that it knows.
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
