//! The one course of an attempt: what was sent is looked for, what was not is sent, and what goes on is followed.
//!
//! | what stands in the record | what is done |
//! |---|---|
//! | nothing of this message | its intent is recorded, then it is sent |
//! | the agent has answered it | its task is followed |
//! | an answer that was never sent | its task is looked at: it is sent if that asks what was answered, else it is void |
//! | intent, and no task | the task is looked for, by context and by message: there, it is followed |
//! | intent, and the task of the messages before | a task that has moved on has taken it |
//!
//! What is looked for and not found is in doubt, and is not sent a second time unless that is harmless or wanted. Only a
//! connection that was not made and a coded refusal say that a message was not taken. How it is looked is [`crate::look`]'s, how
//! a task is followed [`crate::follow`]'s.

use crate::{
    answer,
    call::{CallError, Client, Message, Reply},
    card,
    leave::{self, End},
    order::Order,
    record::{Endpoint, Record},
    silence::Silence,
    stop::Stop,
    task::Task,
    withdraw::withdraw,
};
use envoi_contract::time::Timestamp;
use std::{
    io,
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

/// See the module.
pub(crate) fn talk(order: &Order, client: Client, stop: &Stop) -> End {
    match Talk::new(order, client, stop).and_then(|mut talk| talk.run()) {
        Ok(end) | Err(end) => end,
    }
}

/// What is known of a message that may have been sent.
pub(crate) enum Sent {
    /// The agent has it; its task stands like this, if that was asked.
    Taken(Option<Box<Task>>),
    /// It has not, or is to have it once more.
    No,
}

/// What has come of sending.
enum Told {
    /// The agent has it.
    Taken(Box<Task>),
    /// There is no more to it.
    Over(End),
    /// Nobody knows.
    Doubt(String),
    /// Nobody was there: an answer waits.
    Away(CallError),
}

/// What came first.
enum First {
    Reply(Result<Reply, CallError>),
    /// It was found at the agent, which has not replied yet.
    Found(Option<Box<Task>>),
}

pub(crate) struct Talk<'o> {
    pub(crate) order: &'o Order,
    pub(crate) client: Arc<Client>,
    pub(crate) stop: &'o Stop,
    pub(crate) record: Record,
    pub(crate) endpoint: Endpoint,
    pub(crate) begun: Instant,
    /// How often this attempt has sent.
    pub(crate) sends: u32,
}

fn machine(error: &io::Error) -> End {
    End::Machine(format!("what has been sent cannot be noted: {error}"))
}

impl<'o> Talk<'o> {
    fn new(order: &'o Order, client: Client, stop: &'o Stop) -> Result<Self, End> {
        let record = Record::load(&order.record).map_err(|error| machine(&error))?;
        let endpoint = match &record.endpoint {
            Some(endpoint) => endpoint.clone(),
            None if order.denied && record.intent.is_none() => {
                return Err(End::Withdrawn("that never began".to_owned()));
            }
            None => {
                let mut found =
                    card::find(&order.url, order.interface.as_deref(), client.is_guarded(), &client.http)
                        .map_err(end_of)?;
                if order.tenant.is_some() {
                    found.tenant.clone_from(&order.tenant);
                }
                found
            }
        };
        stop.found(&endpoint);
        if let Some(task) = &record.task {
            stop.follows(task);
        }
        Ok(Self { order, client: Arc::new(client), stop, record, endpoint, begun: Instant::now(), sends: 0 })
    }

    fn run(&mut self) -> Result<End, End> {
        if self.order.denied {
            return Ok(withdraw(self.order, (&self.client, &self.endpoint), &self.record, self.stop));
        }
        let turn = self.order.turn;
        if self.record.taken.is_some_and(|taken| taken >= turn) {
            if let Some(reply) = &self.record.reply {
                return Ok(End::Answered(reply.clone()));
            }
            if self.record.task.is_none() {
                return Err(End::Machine("the id of the task holds a secret, and was not kept".to_owned()));
            }
            return self.follow(None);
        }
        if turn > 0 && self.record.task.is_none() {
            return Err(End::Machine("the task that asked is not known any more".to_owned()));
        }
        let mut sent = match self.record.intent == Some(turn) {
            true => self.look("an attempt before this one has not said what became of it")?,
            false if turn > 0 => self.look_what_it_asks()?,
            false => Sent::No,
        };
        let (mut silence, mut wait) = (Silence::default(), self.shortest());
        loop {
            if let Sent::Taken(task) = sent {
                return self.follow(task);
            }
            sent = match self.send()? {
                Told::Taken(task) => Sent::Taken(Some(task)),
                Told::Over(end) => return Ok(end),
                Told::Doubt(why) => self.look(&why)?,
                Told::Away(error) if silence.is_borne(&error, &self.order.waits) => {
                    self.stop.pause(wait);
                    wait = self.longer(wait);
                    self.look_what_it_asks()?
                }
                Told::Away(error) => return Err(end_of(error)),
            };
        }
    }

    pub(crate) fn save(&self) -> Result<(), End> {
        self.record.masked(&*self.client.mask).save(&self.order.record).map_err(|error| machine(&error))
    }

    fn message(&self) -> Result<Message, End> {
        let first = self.order.turn == 0;
        let context = self.record.context.clone().unwrap_or_else(|| self.order.context());
        let mut message = Message {
            id: self.order.message_id(),
            context,
            task: self.record.task.clone(),
            text: first.then(|| self.order.message.clone()),
            data: self.order.data.clone().filter(|_| first),
            envelope: false,
            question: self
                .record
                .question
                .as_ref()
                .and_then(|question| question.named.clone())
                .filter(|_| !first),
        };
        match &self.order.answer {
            Some(path) if !first => answer::fill(self.order, path, self.endpoint.envelope, &mut message)
                .map_err(|error| End::Machine(format!("the answer cannot be read: {error}")))?,
            _ => {}
        }
        Ok(message)
    }

    fn send(&mut self) -> Result<Told, End> {
        let message = Arc::new(self.message()?);
        let turn = self.order.turn;
        self.intend(&message)?;
        leave::say(&format!("message {} to {}", message.id, self.endpoint.url));
        let stop = self.stop;
        let task = |(first, _): &(First, Result<(), End>)| match first {
            First::Reply(Ok(Reply::Task(task))) => Some(task.id.clone()),
            First::Reply(_) | First::Found(_) => None,
        };
        let (first, saved) = stop.sending(
            || {
                let first = self.on_its_way(&message);
                if let First::Reply(reply) = &first {
                    note(&mut self.record, turn, reply);
                }
                let saved = self.save();
                (first, saved)
            },
            task,
        );
        let reply = match first {
            First::Found(task) => return saved.and_then(|()| self.follow(task)).map(Told::Over),
            First::Reply(reply) => reply,
        };
        if let Ok(Reply::Message(reply)) = reply {
            return Ok(Told::Over(End::Answered(reply)));
        }
        saved?;
        match reply {
            Ok(Reply::Task(task)) => Ok(Told::Taken(task)),
            Ok(Reply::Message(reply)) => Ok(Told::Over(End::Answered(reply))),
            Err(CallError::NoTask) => Err(End::Lost(message.task.clone().unwrap_or_default())),
            // The task that asked is over by now, whatever ended it.
            Err(CallError::Unsupported(_)) if turn > 0 => self.follow(None).map(Told::Over),
            // What is refused now says nothing of what was sent before.
            Err(error) if self.record.intent.is_some() => Ok(Told::Doubt(error.to_string())),
            Err(CallError::Wrong(why)) if turn > 0 => self.ask_again(&why).map(Told::Over),
            Err(error @ CallError::NotSent(_)) if turn > 0 => Ok(Told::Away(error)),
            Err(error) => Err(end_of(error)),
        }
    }

    /// Notes what is about to be sent, with the question that it answers.
    fn intend(&mut self, message: &Message) -> Result<(), End> {
        let again = self.record.intent == Some(self.order.turn);
        self.record.endpoint = Some(self.endpoint.clone());
        self.record.context.get_or_insert_with(|| message.context.clone());
        self.record.intent = Some(self.order.turn);
        self.record.sends = if again { self.record.sends.max(1).saturating_add(1) } else { 1 };
        self.record.sent_at = Some(now());
        if self.order.turn > 0 && !again {
            self.record.answered.clone_from(&self.record.question);
        }
        self.sends = self.sends.saturating_add(1);
        self.save()
    }

    /// Sends beside what else is done: an agent may reply late, or never.
    fn on_its_way(&mut self, message: &Arc<Message>) -> First {
        let (tell, reply) = mpsc::channel();
        let (client, endpoint, message) =
            (Arc::clone(&self.client), self.endpoint.clone(), Arc::clone(message));
        let patience = Duration::from_millis(self.order.waits.reply_ms);
        // Nobody may be there to hear it any more.
        let send = move || drop(tell.send(client.send(&endpoint, &message, patience)));
        match thread::Builder::new().name("send".to_owned()).spawn(send) {
            Ok(_) => self.reply_or_task(&reply),
            Err(error) => First::Reply(Err(CallError::NotSent(format!("nothing can be sent: {error}")))),
        }
    }

    /// The reply; or the task, if that is found while the request is still open.
    fn reply_or_task(&mut self, reply: &mpsc::Receiver<Result<Reply, CallError>>) -> First {
        let (mut wait, mut before) = (Duration::from_millis(self.order.waits.request_ms), None);
        loop {
            match reply.recv_timeout(wait) {
                Ok(reply) => return First::Reply(reply),
                Err(RecvTimeoutError::Disconnected) => {
                    return First::Reply(Err(CallError::Unknown(
                        "the request has ended by itself".to_owned(),
                    )));
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let Ok(Some(task)) = self.found(&mut before) {
                        leave::say("the agent has not replied yet; its task is there");
                        return First::Found(task);
                    }
                }
            }
            wait = Duration::from_millis(self.order.waits.longest_ms);
        }
    }

    /// How long ago the message was sent last, by whatever attempt.
    pub(crate) fn sent_for(&self) -> Duration {
        let past = now().saturating_sub(self.record.sent_at.unwrap_or(i64::MIN));
        Duration::from_millis(u64::try_from(past).unwrap_or(0))
    }

    /// When that was, for whoever reads.
    pub(crate) fn sent_at(&self) -> String {
        self.record
            .sent_at
            .map_or_else(|| "some time".to_owned(), |at| Timestamp::from_millis(at).to_string())
    }

    pub(crate) fn shortest(&self) -> Duration {
        Duration::from_millis(self.order.waits.shortest_ms)
    }

    pub(crate) fn longer(&self, wait: Duration) -> Duration {
        wait.saturating_mul(3)
            .checked_div(2)
            .unwrap_or(wait)
            .min(Duration::from_millis(self.order.waits.longest_ms))
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// What a reply says, for the attempts to come.
fn note(record: &mut Record, turn: u32, sent: &Result<Reply, CallError>) {
    match sent {
        Ok(Reply::Task(task)) => {
            record.task = Some(task.id.clone());
            record.taken = Some(turn);
            if let Some(context) = &task.context {
                record.context = Some(context.clone());
            }
        }
        Ok(Reply::Message(reply)) => (record.reply, record.taken) = (Some(reply.clone()), Some(turn)),
        Err(CallError::Unknown(_)) => {}
        // It was sent before, and what became of that is not known by this.
        Err(_) if record.sends > 1 => {}
        // It was not taken, and may be sent.
        Err(_) => (record.intent, record.answered, record.sends) = (None, None, 0),
    }
}

fn end_of(error: CallError) -> End {
    match error {
        CallError::NotSent(message) | CallError::Unknown(message) => End::Unreached(message),
        error => End::Refused(error.to_string()),
    }
}
