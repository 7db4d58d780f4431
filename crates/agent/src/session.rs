//! The course of an attempt: it searches for a message that may have been sent, sends one that was not sent, and
//! follows the task.
//!
//! | the record has | the attempt |
//! |---|---|
//! | nothing of this message | records the intent, then sends it |
//! | the agent's acceptance of it | follows its task |
//! | an answer that was never sent | polls the task: sends the answer if the question is the same, else it is void |
//! | an intent, and no task | searches for the task by context and by message; if it is found, follows it |
//! | an intent, and the task of earlier messages | polls the task: if it has moved on, it has accepted the message |
//!
//! A message that is not found is in doubt. It is not sent again, unless the flow or a person wants that, or the
//! agent handles a repeated message only once. Only a failed connection and a refusal with a code prove that a
//! message was not accepted.

mod answer;
mod cancel;
mod message_search;
mod outage;
mod polling;
mod questions;
mod sending;
pub(crate) mod stop;

use crate::{
    files::{record::Record, report::Outcome},
    input::order::Order,
    protocol::{
        card,
        client::{CallError, Client},
        endpoint::Endpoint,
        task::Task,
    },
};
use envoi_contract::time::Timestamp;
use outage::Outage;
use sending::SendResult;
use std::{
    io,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};
use stop::Stop;

/// The state of this attempt's message.
enum Delivery {
    /// The agent has accepted it.
    Accepted(Accepted),
    /// The agent does not have it, or it has to be sent once more.
    ToSend,
}

/// A message that the agent has accepted.
struct Accepted {
    /// Its task, if the agent's last reply contained it.
    task: Option<Box<Task>>,
}

/// An attempt that communicates with one agent.
pub(crate) struct Session<'o> {
    order: &'o Order,
    client: Arc<Client>,
    stop: &'o Stop,
    record: Record,
    endpoint: Endpoint,
    started: Instant,
    /// How many times this attempt has sent its message.
    sends: u32,
}

impl<'o> Session<'o> {
    /// Runs the attempt to its end.
    pub(crate) fn run(order: &'o Order, client: Client, stop: &'o Stop) -> Outcome {
        match Self::open(order, client, stop).and_then(|mut session| session.proceed()) {
            Ok(outcome) | Err(outcome) => outcome,
        }
    }

    /// Reads the record and finds the agent.
    fn open(order: &'o Order, client: Client, stop: &'o Stop) -> Result<Self, Outcome> {
        let record = Record::load(&order.record).map_err(|error| record_failed(&error))?;
        let endpoint = match &record.endpoint {
            Some(endpoint) => endpoint.clone(),
            None if order.denied && record.intent.is_none() => return Err(cancel::never_began()),
            None => {
                let interface = order.interface.as_deref();
                let mut found =
                    card::find(&order.url, interface, client.has_token(), &client.http, &*client.mask)
                        .map_err(outcome_of)?;
                if order.tenant.is_some() {
                    found.tenant.clone_from(&order.tenant);
                }
                found
            }
        };
        stop.set_endpoint(&endpoint);
        if let Some(task) = &record.task {
            stop.set_task(task);
        }
        let started = Instant::now();
        Ok(Self { order, client: Arc::new(client), stop, record, endpoint, started, sends: 0 })
    }

    fn proceed(&mut self) -> Result<Outcome, Outcome> {
        if self.order.denied {
            return Ok(self.cancel());
        }
        let turn = self.order.turn;
        if self.record.taken.is_some_and(|taken| taken >= turn) {
            return self.follow_accepted();
        }
        if turn > 0 && self.record.task.is_none() {
            return Err(Outcome::MachineFailed("the agent no longer knows the task that asked".to_owned()));
        }
        let mut delivery = if self.record.intent == Some(turn) {
            self.search("an earlier attempt has left no reply to it")?
        } else if turn > 0 {
            self.check_question()?
        } else {
            Delivery::ToSend
        };
        let mut outage = Outage::default();
        let mut wait = self.first_poll();
        loop {
            if let Delivery::Accepted(accepted) = delivery {
                return self.poll(accepted.task);
            }
            delivery = match self.send()? {
                SendResult::Accepted(task) => Delivery::Accepted(Accepted { task: Some(task) }),
                SendResult::Finished(outcome) => return Ok(outcome),
                SendResult::InDoubt(why) => self.search(&why)?,
                SendResult::NotSent(error) if outage.is_tolerated(&error, &self.order.timeouts) => {
                    self.stop.pause(wait);
                    wait = self.longer(wait);
                    // The question may have been answered by another person meanwhile.
                    self.check_question()?
                }
                SendResult::NotSent(error) => return Err(outcome_of(error)),
            };
        }
    }

    /// Follows the task of a message whose reply an earlier attempt received.
    fn follow_accepted(&mut self) -> Result<Outcome, Outcome> {
        if let Some(reply) = &self.record.reply {
            return Ok(Outcome::Message(reply.clone()));
        }
        if self.record.task.is_none() {
            let message = "the id of the task holds a secret, and was not kept";
            return Err(Outcome::MachineFailed(message.to_owned()));
        }
        self.poll(None)
    }

    fn save(&self) -> Result<(), Outcome> {
        let record = self.record.masked(&*self.client.mask);
        record.save(&self.order.record).map_err(|error| record_failed(&error))
    }

    /// The time since any attempt last sent the message.
    fn time_since_sent(&self) -> Duration {
        let past = now_ms().saturating_sub(self.record.sent_at.unwrap_or(i64::MIN));
        Duration::from_millis(u64::try_from(past).unwrap_or(0))
    }

    /// The time at which the message was last sent, as text.
    fn sent_at(&self) -> String {
        match self.record.sent_at {
            Some(at) => Timestamp::from_millis(at).to_string(),
            None => "an unknown time".to_owned(),
        }
    }

    fn first_poll(&self) -> Duration {
        Duration::from_millis(self.order.timeouts.first_poll_ms)
    }

    /// The next wait: 1.5 times this one, up to the maximum.
    fn longer(&self, wait: Duration) -> Duration {
        let longer = wait.saturating_mul(3).checked_div(2).unwrap_or(wait);
        longer.min(Duration::from_millis(self.order.timeouts.max_poll_ms))
    }

    /// The wait between two polls whose questions are compared.
    fn compare_wait(&self) -> Duration {
        Duration::from_millis(self.order.timeouts.compare_ms)
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn record_failed(error: &io::Error) -> Outcome {
    Outcome::MachineFailed(format!("the record of what was sent cannot be read or written: {error}"))
}

fn outcome_of(error: CallError) -> Outcome {
    match error {
        CallError::NotSent(message) | CallError::Unknown(message) => Outcome::Unreachable(message),
        error => Outcome::Refused(error.to_string()),
    }
}
