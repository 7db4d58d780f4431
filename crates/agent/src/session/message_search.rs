//! Finds out whether the agent has a message that may have been sent.
//!
//! Finding the message proves that it was accepted. Not finding it proves nothing, because the agent may still be
//! working on the request, so the message is then in doubt. A person or the flow decides what to do, or the message
//! is sent again because the agent handles a repeated message only once.

use super::{Accepted, Delivery, Session, outage::Outage};
use crate::{
    files::{log, report::Outcome},
    protocol::{
        client::{CallError, SentMessage},
        question::{Change, Question},
    },
};
use envoi_contract::time::Timestamp;
use std::time::{Duration, Instant};

/// The fraction of the reply timeout during which an agent may be unreachable for a search. After that, time is left
/// to ask a person before the step's limit.
const OUTAGE_PART: f32 = 0.5;

/// How many times a message is sent again without a person's decision.
const RESENDS: u32 = 3;

/// The factor by which the wait before each further sending grows.
const RESEND_FACTOR: u32 = 4;

/// How far the agent's clock may be behind ours, in milliseconds.
const SKEW_MS: i64 = 3_600_000;

/// The message was not found.
struct NotFound {
    /// No further result is expected.
    is_final: bool,
    why: String,
}

impl Session<'_> {
    /// Searches for the message until it is found, or until no further result is expected. `why` is the reason of the
    /// doubt.
    pub(super) fn search(&mut self, why: &str) -> Result<Delivery, Outcome> {
        log::print(&format!("{why}; searching the message of {} at the agent", self.sent_at()));
        let started = Instant::now();
        let mut outage = Outage::default();
        let mut before = None;
        let max_outage = Duration::from_millis(self.order.timeouts.reply_ms).mul_f32(OUTAGE_PART);
        let mut wait = self.first_poll();
        if self.order.turn > 0 {
            // Two polls of a question are compared, so the agent's clock has to advance between them.
            wait = wait.max(self.compare_wait());
        }
        loop {
            let is_first = before.is_none();
            let not_found = match self.find(&mut before) {
                Ok(Some(accepted)) => return Ok(Delivery::Accepted(accepted)),
                Ok(None) => {
                    outage.end();
                    let is_compared = !is_first || before.is_none();
                    let is_final = is_compared && self.is_search_over(started);
                    Some(NotFound { is_final, why: "nothing of it is found there".to_owned() })
                }
                Err(CallError::TaskNotFound) => {
                    return Err(Outcome::TaskLost(self.record.task.clone().unwrap_or_default()));
                }
                Err(CallError::Unsupported(why)) => Some(NotFound { is_final: true, why }),
                Err(error)
                    if outage.is_tolerated(&error, &self.order.timeouts)
                        && started.elapsed() < max_outage =>
                {
                    None
                }
                Err(error) => return Err(self.in_doubt(why, &error.to_string())),
            };
            if let Some(not_found) = not_found {
                if let Some(reason) = self.resend_reason(not_found.is_final, started) {
                    log::print(&format!("it is not found, and is sent again: {reason}"));
                    return Ok(Delivery::ToSend);
                }
                if not_found.is_final && !self.may_resend_freely() {
                    return Err(self.in_doubt(why, &not_found.why));
                }
            }
            self.stop.pause(wait);
            wait = self.longer(wait);
        }
    }

    /// True if the search has lasted as long as the message may be in flight.
    fn is_search_over(&self, started: Instant) -> bool {
        let timeouts = &self.order.timeouts;
        self.time_since_sent() >= Duration::from_millis(timeouts.in_flight_ms)
            && started.elapsed() >= Duration::from_millis(timeouts.search_ms)
    }

    /// The reason to send a message that was not found again, or `None` if it is not sent again. `is_final` means
    /// that no further result is expected.
    fn resend_reason(&self, is_final: bool, started: Instant) -> Option<&'static str> {
        if self.order.resend && self.sends == 0 {
            return Some("a person wants it");
        }
        let pause = self.first_poll().saturating_mul(RESEND_FACTOR.saturating_pow(self.record.sends));
        if self.may_resend_freely() && started.elapsed() >= pause {
            return Some("the agent handles it once, even if it arrives several times");
        }
        let flow_wants_it = self.order.resends && self.record.sends <= RESENDS;
        (is_final && flow_wants_it).then_some("the flow wants it")
    }

    /// True if the message may be sent again without a decision, because the agent handles a repeated message only
    /// once.
    fn may_resend_freely(&self) -> bool {
        self.endpoint.once && self.record.sends <= RESENDS
    }

    fn in_doubt(&self, why: &str, found: &str) -> Outcome {
        let what = if self.order.turn == 0 { "The message" } else { "The answer" };
        let times = match self.record.sends {
            0 | 1 => String::new(),
            times => format!(" ({times} times in all)"),
        };
        Outcome::InDoubt(format!(
            "{what} was sent at {}{times}, and it is not known whether the agent took it: {why}; {found}",
            self.sent_at()
        ))
    }

    /// Searches for the message once. `before` is the task's question at the previous search, and is set to the
    /// question of this search.
    pub(super) fn find(&mut self, before: &mut Option<Question>) -> Result<Option<Accepted>, CallError> {
        let Some(id) = self.record.task.clone() else { return self.find_task() };
        let task = self.client.get(&self.endpoint, &id)?;
        let message = self.order.message_id();
        let is_in_history = task.history.iter().any(|known| known.id == message);
        let has_moved =
            self.record.answered.as_ref().is_none_or(|answered| {
                answered.change_to(&task.question, before.as_ref()) == Change::Changed
            });
        if !task.waits() || is_in_history || has_moved {
            self.record_acceptance()?;
            return Ok(Some(Accepted { task: Some(Box::new(task)) }));
        }
        *before = Some(task.question);
        Ok(None)
    }

    /// Searches for the task that the first message has begun.
    fn find_task(&mut self) -> Result<Option<Accepted>, CallError> {
        let Some(task) = self.client.find_task(&self.endpoint, &self.sent_message())? else {
            return Ok(None);
        };
        log::print(&format!("task {} was begun by it", task.id));
        self.stop.set_task(&task.id);
        self.record.task = Some(task.id);
        if task.context.is_some() {
            self.record.context = task.context;
        }
        self.record_acceptance()?;
        Ok(Some(Accepted { task: None }))
    }

    /// The message that identifies the task in a search.
    pub(super) fn sent_message(&self) -> SentMessage {
        let not_before_ms = self.record.sent_at.unwrap_or_default().saturating_sub(SKEW_MS).max(0);
        SentMessage {
            id: self.order.message_id(),
            context: self.record.context.clone().unwrap_or_else(|| self.order.context()),
            not_before: Timestamp::from_millis(not_before_ms),
        }
    }

    fn record_acceptance(&mut self) -> Result<(), CallError> {
        self.record.taken = Some(self.order.turn);
        let saved = self.record.masked(&*self.client.mask).save(&self.order.record);
        saved.map_err(|error| {
            CallError::Refused(format!("the record of what was sent cannot be written: {error}"))
        })
    }
}
