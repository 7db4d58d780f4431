//! Cancels the task of a run that no longer needs it.
//!
//! Sends nothing that could begin a task. If a message may have been sent and the agent has not named a task, the
//! attempt searches for the task first, for as long as the agent may work on the request.

use super::Session;
use crate::{
    files::{log, report::Outcome},
    protocol::{
        client::{CallError, Client},
        endpoint::Endpoint,
    },
};
use envoi_a2a::model::TaskState;
use std::time::{Duration, Instant};

/// There is no task to cancel.
pub(super) fn never_began() -> Outcome {
    Outcome::Canceled("that never began".to_owned())
}

impl Session<'_> {
    pub(super) fn cancel(&self) -> Outcome {
        if let Some(task) = &self.record.task {
            return cancel_task(&self.client, &self.endpoint, task);
        }
        if self.record.intent.is_none() || self.record.reply.is_some() {
            return never_began();
        }
        match self.find_unnamed_task() {
            Ok(task) => cancel_task(&self.client, &self.endpoint, &task),
            Err(error) => Outcome::Unreachable(format!("a task may go on there, and is not found: {error}")),
        }
    }

    /// Searches for the task of a message without a reply, and returns its id.
    fn find_unnamed_task(&self) -> Result<String, CallError> {
        let message = self.sent_message();
        let started = Instant::now();
        loop {
            let error = match self.client.find_task(&self.endpoint, &message) {
                Ok(Some(task)) => return Ok(task.id),
                Ok(None) => CallError::Unknown("no task of the message".to_owned()),
                Err(error @ (CallError::NotSent(_) | CallError::Unknown(_))) => error,
                Err(error) => return Err(error),
            };
            if started.elapsed() >= Duration::from_millis(self.order.timeouts.in_flight_ms) {
                return Err(error);
            }
            self.stop.pause(Duration::from_millis(self.order.timeouts.max_poll_ms));
        }
    }
}

/// Cancels a task at the agent. A task may have ended before, and an agent may answer before the task has ended.
pub(super) fn cancel_task(client: &Client, endpoint: &Endpoint, task: &str) -> Outcome {
    match client.cancel(endpoint, task) {
        Ok(answer) => canceled(task, answer.state),
        Err(CallError::TaskNotFound) => canceled(task, TaskState::Canceled),
        // The agent refuses to cancel a task that has ended.
        Err(error) => match client.get(endpoint, task) {
            Ok(known) if known.state.is_terminal() => canceled(task, known.state),
            _ => Outcome::Unreachable(format!("task {task} cannot be cancelled: {error}")),
        },
    }
}

fn canceled(task: &str, state: TaskState) -> Outcome {
    if state != TaskState::Canceled {
        return Outcome::NotCanceled(task.to_owned(), state);
    }
    log::print(&format!("task {task} is cancelled"));
    Outcome::Canceled(task.to_owned())
}
