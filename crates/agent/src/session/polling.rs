//! Polls the task until it is over, or until it has a question for a person.
//!
//! A question is answered once: while the task waits with a question that was answered, nothing more is sent. The
//! waits between polls are in the order's `Timeouts`.

use super::{Session, outage::Outage};
use crate::{
    files::{log, report::Outcome},
    protocol::{client::CallError, task::Task},
};

impl Session<'_> {
    /// Polls the task to the end of this attempt. `known` is the task in the agent's last reply.
    pub(super) fn poll(&mut self, known: Option<Box<Task>>) -> Result<Outcome, Outcome> {
        let Some(id) = self.record.task.clone() else {
            return Err(Outcome::MachineFailed("there is no task to follow".to_owned()));
        };
        self.stop.set_task(&id);
        let mut wait = self.first_poll();
        let mut outage = Outage::default();
        let mut known = known;
        let mut logged = None;
        let mut before = None;
        loop {
            if let Some(task) = known.take() {
                if logged != Some(task.state) {
                    log::print(&format!("task {id} is {}", task.state.word()));
                    logged = Some(task.state);
                }
                if task.waits() {
                    if let Some(prompt) = self.prompt(&task, before.as_ref()) {
                        return self.raise_question(*task, prompt.preface.as_deref());
                    }
                    if before.is_none() {
                        log::print(&format!("it still asks what was answered at {}", self.sent_at()));
                        // The next question is compared with this one, so the agent's clock has to advance.
                        wait = wait.max(self.compare_wait());
                    }
                    before = Some(task.question);
                } else if task.state.is_terminal() {
                    return Ok(Outcome::Task(task, self.endpoint.clone()));
                }
            }
            self.stop.pause(wait);
            wait = self.longer(wait);
            match self.client.get(&self.endpoint, &id) {
                Ok(task) => {
                    outage.end();
                    known = Some(Box::new(task));
                }
                Err(CallError::TaskNotFound) => return Err(Outcome::TaskLost(id)),
                Err(error) if outage.is_tolerated(&error, &self.order.timeouts) => {}
                Err(error) => return Err(out_of_reach(&error, &id)),
            }
        }
    }

    /// The current state of the task. Waits while the agent cannot be reached.
    pub(super) fn current_task(&self) -> Result<Task, Outcome> {
        let Some(id) = self.record.task.clone() else {
            return Err(Outcome::MachineFailed("the record of what was sent names no task".to_owned()));
        };
        let mut outage = Outage::default();
        let mut wait = self.first_poll();
        loop {
            match self.client.get(&self.endpoint, &id) {
                Ok(task) => return Ok(task),
                Err(CallError::TaskNotFound) => return Err(Outcome::TaskLost(id)),
                Err(error) if outage.is_tolerated(&error, &self.order.timeouts) => {}
                Err(error) => return Err(out_of_reach(&error, &id)),
            }
            self.stop.pause(wait);
            wait = self.longer(wait);
        }
    }
}

/// The agent no longer gives the state of the task.
fn out_of_reach(error: &CallError, task: &str) -> Outcome {
    Outcome::Unreachable(format!("{error}; task {task} may still go on there"))
}
