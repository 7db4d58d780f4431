//! Questions of a task: when they go to a person, and whether an answer still fits.

use super::{Accepted, Delivery, Session};
use crate::{
    files::{log, report::Outcome},
    protocol::{
        question::{Change, Question},
        task::Task,
    },
};
use std::time::Duration;

/// The text before a question that replaces the answered one.
const VOID: &str =
    "Your answer was not sent: the agent does not ask any more what was answered. It asks now:";

/// A question for a person.
pub(super) struct Prompt {
    /// Text before the agent's words.
    pub(super) preface: Option<String>,
}

impl Session<'_> {
    /// The prompt if the task's question has to be put to a person now. `before` is the question of the previous
    /// poll.
    pub(super) fn prompt(&self, task: &Task, before: Option<&Question>) -> Option<Prompt> {
        let answered = self.record.answered.as_ref().filter(|_| self.order.turn > 0);
        let Some(answered) = answered else { return Some(Prompt { preface: None }) };
        let timeouts = &self.order.timeouts;
        match answered.change_to(&task.question, before) {
            Change::Changed => Some(Prompt { preface: None }),
            Change::Unchanged => {
                let is_due = self.started.elapsed() >= Duration::from_millis(timeouts.move_ms);
                is_due.then(|| self.unchanged())
            }
            Change::Unclear => {
                let is_due = self.time_since_sent() >= Duration::from_millis(timeouts.settle_ms);
                // A single poll cannot distinguish an old question from a new one.
                (is_due && before.is_some()).then(|| self.unclear())
            }
        }
    }

    fn unchanged(&self) -> Prompt {
        let preface = format!(
            "Your answer was sent at {}, and the agent has not moved since. No other answer is sent before it does: any words \
             look again, a denial (`envoi deny`) cancels its task. It still asks:",
            self.sent_at()
        );
        Prompt { preface: Some(preface) }
    }

    fn unclear(&self) -> Prompt {
        let preface = format!(
            "Your answer was sent at {}, and the agent still sends the text below. It does not say whether it asks again or has \
             not read your answer yet. If you answer again, that answer is sent.",
            self.sent_at()
        );
        Prompt { preface: Some(preface) }
    }

    /// Records the question before a person sees it, so that a later attempt knows what was answered.
    pub(super) fn raise_question(&mut self, task: Task, preface: Option<&str>) -> Result<Outcome, Outcome> {
        self.record.question = Some(task.question.clone());
        self.save()?;
        let task = match preface {
            Some(preface) => task.with_preface(preface),
            None => task,
        };
        Ok(Outcome::Task(Box::new(task), self.endpoint.clone()))
    }

    /// Checks, before an answer is sent, that the task still has the question that a person has seen. An answer to
    /// any other question is void. A question that was answered gets no second answer.
    pub(super) fn check_question(&mut self) -> Result<Delivery, Outcome> {
        let ours = self.order.message_ids();
        let mut before: Option<Question> = None;
        loop {
            let task = self.current_task()?;
            if !task.waits() {
                log::print("the task does not ask any more what was answered; the answer is not sent");
                return self.answer_is_void(task);
            }
            let last = before.as_ref();
            match self.record.answered.as_ref().map(|answered| answered.change_to(&task.question, last)) {
                Some(Change::Unchanged) => {
                    let at = self.sent_at();
                    log::print(&format!("the agent still has the answer of {at}; another one is not sent"));
                    return self.answer_is_void(task);
                }
                // A second poll may show more.
                Some(Change::Unclear) if last.is_none() => {
                    before = Some(task.question);
                    self.stop.pause(self.compare_wait());
                    continue;
                }
                Some(Change::Unclear | Change::Changed) | None => {}
            }
            let seen = self.record.question.as_ref();
            match seen.map_or(Some(false), |seen| seen.is_same(&task.question, last, &ours)) {
                Some(true) => return Ok(Delivery::ToSend),
                Some(false) => {
                    log::print("the task does not ask any more what was answered; the answer is not sent");
                    self.record.taken = Some(self.order.turn);
                    return Err(self.raise_question(task, Some(VOID))?);
                }
                None => {
                    before = Some(task.question);
                    self.stop.pause(self.compare_wait());
                }
            }
        }
    }

    /// Discards the answer and follows the task as it is.
    fn answer_is_void(&mut self, task: Task) -> Result<Delivery, Outcome> {
        self.record.taken = Some(self.order.turn);
        self.save()?;
        Ok(Delivery::Accepted(Accepted { task: Some(Box::new(task)) }))
    }

    /// Handles an answer that the agent found invalid. If the task still waits, its question is asked again, with the
    /// agent's reason.
    pub(super) fn repeat_question(&mut self, why: &str) -> Result<Outcome, Outcome> {
        let task = self.current_task()?;
        self.record.taken = Some(self.order.turn);
        if !task.waits() {
            self.save()?;
            return self.poll(Some(Box::new(task)));
        }
        log::print(&format!("the answer was not taken: {why}"));
        self.raise_question(task, Some(&format!("The agent did not take the answer: {why}")))
    }
}
