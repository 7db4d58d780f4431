//! Sends the message of an attempt. The intent is recorded before, the reply after.

use super::{Accepted, Session, answer, now_ms, outcome_of};
use crate::{
    files::{log, record::Record, report::Outcome},
    protocol::{
        client::{CallError, Reply},
        message::Message,
        task::Task,
    },
};
use std::{
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

/// The result of sending.
pub(super) enum SendResult {
    /// The agent has accepted the message.
    Accepted(Box<Task>),
    /// The attempt is over.
    Finished(Outcome),
    /// It is unknown whether the agent has accepted it.
    InDoubt(String),
    /// There was no connection, so the answer can be sent later.
    NotSent(CallError),
}

/// The event that came first.
enum FirstNews {
    Reply(Result<Reply, CallError>),
    /// The message was found at the agent before a reply came.
    Found(Accepted),
}

/// The result of sending, and whether the record of it is on disk.
struct Sent {
    news: FirstNews,
    saved: Result<(), Outcome>,
}

impl Session<'_> {
    pub(super) fn send(&mut self) -> Result<SendResult, Outcome> {
        let message = Arc::new(self.message()?);
        let turn = self.order.turn;
        self.record_intent(&message)?;
        log::print(&format!("message {} to {}", message.id, self.endpoint.url));
        let stop = self.stop;
        let sent = stop.sending(|| self.send_and_record(&message), Sent::task);
        let reply = match sent.news {
            FirstNews::Found(accepted) => {
                sent.saved?;
                return self.poll(accepted.task).map(SendResult::Finished);
            }
            FirstNews::Reply(reply) => reply,
        };
        // A reply without a task is complete, even if it was not recorded.
        if let Ok(Reply::Message(reply)) = reply {
            return Ok(SendResult::Finished(Outcome::Message(reply)));
        }
        sent.saved?;
        match reply {
            Ok(Reply::Task(task)) => Ok(SendResult::Accepted(task)),
            Ok(Reply::Message(reply)) => Ok(SendResult::Finished(Outcome::Message(reply))),
            Err(CallError::TaskNotFound) => Err(Outcome::TaskLost(message.task.clone().unwrap_or_default())),
            // The task with the question has already ended, for whatever reason.
            Err(CallError::Unsupported(_)) if turn > 0 => self.poll(None).map(SendResult::Finished),
            // The record keeps the intent if the message may have been accepted. A refusal of this sending proves
            // nothing about an earlier one.
            Err(error) if self.record.intent.is_some() => Ok(SendResult::InDoubt(error.to_string())),
            Err(CallError::InvalidParams(why)) if turn > 0 => {
                self.repeat_question(&why).map(SendResult::Finished)
            }
            Err(error @ CallError::NotSent(_)) if turn > 0 => Ok(SendResult::NotSent(error)),
            Err(error) => Err(outcome_of(error)),
        }
    }

    fn message(&self) -> Result<Message, Outcome> {
        let order = self.order;
        let mut message = Message {
            id: order.message_id(),
            context: self.record.context.clone().unwrap_or_else(|| order.context()),
            task: self.record.task.clone(),
            text: None,
            data: None,
            envelope: false,
            question: None,
        };
        if order.turn == 0 {
            message.text = Some(order.message.clone());
            message.data.clone_from(&order.data);
            return Ok(message);
        }
        message.question = self.record.question.as_ref().and_then(|question| question.named.clone());
        if let Some(path) = &order.answer {
            answer::fill(order, path, self.endpoint.envelope, &mut message)
                .map_err(|error| Outcome::MachineFailed(format!("the answer cannot be read: {error}")))?;
        }
        Ok(message)
    }

    /// Records that the message is about to be sent, and the question that it answers.
    fn record_intent(&mut self, message: &Message) -> Result<(), Outcome> {
        let again = self.record.intent == Some(self.order.turn);
        self.record.endpoint = Some(self.endpoint.clone());
        self.record.context.get_or_insert_with(|| message.context.clone());
        self.record.intent = Some(self.order.turn);
        // A record of an older build has no count, so there was at least one sending.
        self.record.sends = if again { self.record.sends.max(1).saturating_add(1) } else { 1 };
        self.record.sent_at = Some(now_ms());
        if self.order.turn > 0 && !again {
            self.record.answered.clone_from(&self.record.question);
        }
        self.sends = self.sends.saturating_add(1);
        self.save()
    }

    fn send_and_record(&mut self, message: &Arc<Message>) -> Sent {
        let news = self.send_in_background(message);
        if let FirstNews::Reply(reply) = &news {
            record_reply(&mut self.record, self.order.turn, reply);
        }
        Sent { news, saved: self.save() }
    }

    /// Sends on its own thread, because an agent may reply late or never.
    fn send_in_background(&mut self, message: &Arc<Message>) -> FirstNews {
        let (sender, replies) = mpsc::channel();
        let client = Arc::clone(&self.client);
        let endpoint = self.endpoint.clone();
        let message = Arc::clone(message);
        let timeout = Duration::from_millis(self.order.timeouts.reply_ms);
        let send = move || {
            let reply = client.send(&endpoint, &message, timeout);
            // If the task was found first, the attempt no longer waits for the reply.
            let _not_needed = sender.send(reply);
        };
        match thread::Builder::new().name("send".to_owned()).spawn(send) {
            Ok(_) => self.wait_for_news(&replies),
            Err(error) => FirstNews::Reply(Err(CallError::NotSent(format!("nothing can be sent: {error}")))),
        }
    }

    /// Returns the reply, or the task if it is found while the request is still open.
    fn wait_for_news(&mut self, replies: &mpsc::Receiver<Result<Reply, CallError>>) -> FirstNews {
        let mut wait = Duration::from_millis(self.order.timeouts.request_ms);
        let mut before = None;
        loop {
            match replies.recv_timeout(wait) {
                Ok(reply) => return FirstNews::Reply(reply),
                Err(RecvTimeoutError::Disconnected) => {
                    let error = CallError::Unknown("the request has ended by itself".to_owned());
                    return FirstNews::Reply(Err(error));
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let Ok(Some(accepted)) = self.find(&mut before) {
                        log::print("the agent has not replied yet, but its task is found");
                        return FirstNews::Found(accepted);
                    }
                }
            }
            wait = Duration::from_millis(self.order.timeouts.max_poll_ms);
        }
    }
}

impl Sent {
    /// The task that the reply names.
    fn task(&self) -> Option<String> {
        match &self.news {
            FirstNews::Reply(Ok(Reply::Task(task))) => Some(task.id.clone()),
            FirstNews::Reply(_) | FirstNews::Found(_) => None,
        }
    }
}

/// Records what a reply means for later attempts.
fn record_reply(record: &mut Record, turn: u32, reply: &Result<Reply, CallError>) {
    match reply {
        Ok(Reply::Task(task)) => {
            record.task = Some(task.id.clone());
            record.taken = Some(turn);
            if let Some(context) = &task.context {
                record.context = Some(context.clone());
            }
        }
        Ok(Reply::Message(reply)) => {
            record.reply = Some(reply.clone());
            record.taken = Some(turn);
        }
        Err(CallError::Unknown(_)) => {}
        Err(_) => {
            let was_sent_before = record.sends > 1;
            // This sending was refused. If it was the only one, the message may be sent again.
            if !was_sent_before {
                record.intent = None;
                record.answered = None;
                record.sends = 0;
            }
        }
    }
}
