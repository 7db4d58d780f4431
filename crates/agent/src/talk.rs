//! The one course of an attempt: what was sent is looked for, what was not is sent, and what goes on is followed.
//!
//! | what stands in the record | what is done |
//! |---|---|
//! | nothing of this message | its intent is recorded, then it is sent |
//! | the agent has answered it | its task is followed |
//! | an answer that was never sent | its task is looked at: it is sent if that asks what was answered, else it is void |
//! | intent, and no task | the task is looked for by its context: there, it is followed; not there, it is sent |
//! | intent, and the task of the messages before | a task that has moved on has taken it; one that has not is sent it |
//!
//! Where the agent cannot say, nothing is sent a second time unless a person wants that.

use crate::{
    answer,
    call::{CallError, Client, Message, Reply},
    card,
    leave::{self, End},
    order::Order,
    record::{Endpoint, Record},
    stop::Stop,
    task::{State, Task},
    withdraw::withdraw,
};
use std::{
    io,
    time::{Duration, Instant},
};

/// See the module.
pub(crate) fn talk(order: &Order, client: Client, stop: &Stop) -> End {
    match Talk::new(order, client, stop).and_then(|mut talk| talk.run()) {
        Ok(end) | Err(end) => end,
    }
}

/// What is known of a message that may have been sent.
enum Sent {
    /// The agent has it; its task stands like this, if that was asked.
    Taken(Option<Box<Task>>),
    /// It has not.
    No,
}

struct Talk<'o> {
    order: &'o Order,
    client: Client,
    stop: &'o Stop,
    record: Record,
    endpoint: Endpoint,
}

fn machine(error: &io::Error) -> End {
    End::Machine(format!("what has been sent cannot be noted: {error}"))
}

impl<'o> Talk<'o> {
    fn new(order: &'o Order, client: Client, stop: &'o Stop) -> Result<Self, End> {
        let record = Record::load(&order.record).map_err(|error| machine(&error))?;
        let endpoint = match &record.endpoint {
            Some(endpoint) => endpoint.clone(),
            None if order.denied => return Err(End::Withdrawn("that never began".to_owned())),
            None => {
                let mut found = card::find(&order.url, client.is_guarded(), &client.http).map_err(end_of)?;
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
        Ok(Self { order, client, stop, record, endpoint })
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
            return self.follow(None);
        }
        if turn > 0 && self.record.task.is_none() {
            return Err(End::Machine("the task that asked is not known any more".to_owned()));
        }
        let looked = match self.record.intent == Some(turn) {
            true => self.look()?,
            false if turn > 0 => self.look_what_it_asks()?,
            false => Sent::No,
        };
        match looked {
            Sent::Taken(task) => self.follow(task),
            Sent::No => self.send(),
        }
    }

    fn save(&self) -> Result<(), End> {
        self.record.save(&self.order.record).map_err(|error| machine(&error))
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

    fn send(&mut self) -> Result<End, End> {
        let message = self.message()?;
        let turn = self.order.turn;
        self.record.endpoint = Some(self.endpoint.clone());
        self.record.context.get_or_insert_with(|| message.context.clone());
        self.record.intent = Some(turn);
        self.save()?;
        leave::say(&format!("message {} to {}", message.id, self.endpoint.url));
        let (client, endpoint, stop) = (&self.client, &self.endpoint, self.stop);
        let (record, place) = (&mut self.record, &self.order.record);
        let task = |sent: &(Result<Reply, CallError>, io::Result<()>)| match &sent.0 {
            Ok(Reply::Task(task)) => Some(task.id.clone()),
            _ => None,
        };
        let send = || {
            let sent = client.send(endpoint, &message);
            note(record, turn, &sent);
            let saved = record.save(place);
            (sent, saved)
        };
        let (sent, saved) = stop.sending(send, task);
        match (sent, saved) {
            (Ok(Reply::Message(reply)), _) => Ok(End::Answered(reply)),
            (_, Err(error)) => Err(machine(&error)),
            (Ok(Reply::Task(task)), Ok(())) => self.follow(Some(task)),
            (Err(CallError::Unknown(why)), Ok(())) => {
                leave::say(&format!("{why}; looking whether it was taken"));
                match self.look()? {
                    Sent::Taken(task) => self.follow(task),
                    Sent::No => Err(End::Unreached(format!("{why}; the agent has not taken the message"))),
                }
            }
            (Err(CallError::NoTask), Ok(())) => Err(End::Lost(message.task.unwrap_or_default())),
            // The task that asked is over by now, whatever ended it.
            (Err(CallError::Unsupported(_)), Ok(())) if turn > 0 => self.follow(None),
            (Err(CallError::Wrong(why)), Ok(())) if turn > 0 => self.ask_again(&why),
            (Err(error), Ok(())) => Err(end_of(error)),
        }
    }

    /// The agent has found the answer wrong. A task that waits all the same wants another one, and whoever answers hears why.
    fn ask_again(&mut self, why: &str) -> Result<End, End> {
        let id = self.record.task.clone().unwrap_or_default();
        let task = match self.client.get(&self.endpoint, &id) {
            Ok(task) => task,
            Err(CallError::NoTask) => return Err(End::Lost(id)),
            Err(error) => return Err(end_of(error)),
        };
        self.record.taken = Some(self.order.turn);
        if !task.state.waits() {
            self.save()?;
            return self.follow(Some(Box::new(task)));
        }
        leave::say(&format!("the answer was not taken: {why}"));
        self.asks(&task)?;
        Ok(End::Told(
            Box::new(task.with_preface(&format!("The agent did not take the answer: {why}"))),
            self.endpoint.clone(),
        ))
    }

    /// Whether the agent has the message that may have been sent.
    fn look(&mut self) -> Result<Sent, End> {
        let until = Instant::now() + Duration::from_millis(self.order.waits.silence_ms);
        let mut wait = self.shortest();
        loop {
            let found = match &self.record.task {
                None => self.look_for_a_task(),
                Some(task) => self.look_at(&task.clone()),
            };
            match found {
                Ok(sent) => return Ok(sent),
                Err(CallError::NotSent(_) | CallError::Unknown(_)) if Instant::now() < until => {}
                Err(CallError::NoTask) => {
                    return Err(End::Lost(self.record.task.clone().unwrap_or_default()));
                }
                Err(CallError::Unsupported(_)) if self.order.resend => return Ok(Sent::No),
                Err(CallError::Unsupported(why)) => {
                    return Err(End::Unclear(format!(
                        "A message was sent to the agent, and nobody knows whether it took it ({why})"
                    )));
                }
                Err(error) => return Err(end_of(error)),
            }
            self.stop.pause(wait);
            wait = self.longer(wait);
        }
    }

    fn look_for_a_task(&mut self) -> Result<Sent, CallError> {
        let context = self.record.context.clone().unwrap_or_else(|| self.order.context());
        let Some(task) = self.client.of_context(&self.endpoint, &context)? else { return Ok(Sent::No) };
        leave::say(&format!("task {} was begun before", task.id));
        self.record.task = Some(task.id.clone());
        self.stop.follows(&task.id);
        self.taken()?;
        Ok(Sent::Taken(None))
    }

    fn look_at(&mut self, id: &str) -> Result<Sent, CallError> {
        let task = self.client.get(&self.endpoint, id)?;
        let ours = self.order.message_id();
        let moved = !task.state.waits()
            || task.history.iter().any(|said| said.id == ours)
            || self.record.asked.as_ref() != Some(&task.stamp);
        if moved {
            self.taken()?;
            return Ok(Sent::Taken(Some(Box::new(task))));
        }
        if task.is_dated {
            return Ok(Sent::No);
        }
        Err(CallError::Unsupported("it does not say when its task has changed".to_owned()))
    }

    /// An answer goes to the question that it answers, or nowhere: what somebody else has answered meanwhile, or what the
    /// agent asks instead, is not what a person has seen.
    fn look_what_it_asks(&mut self) -> Result<Sent, End> {
        let id = self.record.task.clone().unwrap_or_default();
        let task = match self.client.get(&self.endpoint, &id) {
            Ok(task) => task,
            Err(CallError::NoTask) => return Err(End::Lost(id)),
            Err(CallError::Unsupported(_)) => return Ok(Sent::No),
            Err(error) => return Err(end_of(error)),
        };
        let same = match &self.record.question {
            Some(asked) => asked.is(&task.question),
            None => self.record.asked.as_ref() == Some(&task.stamp),
        };
        if task.state.waits() && same {
            return Ok(Sent::No);
        }
        leave::say(&format!("task {id} does not ask any more what was answered; the answer is not sent"));
        self.record.taken = Some(self.order.turn);
        if task.state.waits() {
            self.asks(&task)?;
            return Err(End::Told(Box::new(task), self.endpoint.clone()));
        }
        self.save()?;
        Ok(Sent::Taken(Some(Box::new(task))))
    }

    /// Notes what it asks, before anybody is told.
    fn asks(&mut self, task: &Task) -> Result<(), End> {
        self.record.asked = Some(task.stamp.clone());
        self.record.question = Some(task.question.clone());
        self.save()
    }

    fn taken(&mut self) -> Result<(), CallError> {
        self.record.taken = Some(self.order.turn);
        let saved = self.record.save(&self.order.record);
        saved.map_err(|error| CallError::Refused(format!("what has been sent cannot be noted: {error}")))
    }

    /// Looks at the task until it is over or asks.
    fn follow(&mut self, known: Option<Box<Task>>) -> Result<End, End> {
        let Some(id) = self.record.task.clone() else {
            return Err(End::Machine("there is no task to follow".to_owned()));
        };
        self.stop.follows(&id);
        let settled = Instant::now() + Duration::from_millis(self.order.waits.settle_ms);
        let (mut wait, mut silent): (Duration, Option<Instant>) = (self.shortest(), None);
        let (mut known, mut told) = (known, None);
        loop {
            if let Some(task) = known.take() {
                if told != Some(task.state) {
                    leave::say(&format!("task {id} is {}", task.state.word()));
                    told = Some(task.state);
                }
                // The agent may not have looked at the answer yet.
                let old = self.order.turn > 0 && self.record.asked.as_ref() == Some(&task.stamp);
                let waits = task.state.waits() && !(old && Instant::now() < settled);
                if waits {
                    self.asks(&task)?;
                }
                if waits || !(task.state.waits() || task.state == State::Going) {
                    return Ok(End::Told(task, self.endpoint.clone()));
                }
            }
            self.stop.pause(wait);
            wait = self.longer(wait);
            match self.client.get(&self.endpoint, &id) {
                Ok(task) => (known, silent) = (Some(Box::new(task)), None),
                Err(CallError::NoTask) => return Err(End::Lost(id)),
                Err(CallError::NotSent(why) | CallError::Unknown(why)) => {
                    let since = *silent.get_or_insert_with(Instant::now);
                    if since.elapsed() >= Duration::from_millis(self.order.waits.silence_ms) {
                        return Err(End::Unreached(format!("{why}; task {id} may still go on there")));
                    }
                }
                Err(error) => return Err(end_of(error)),
            }
        }
    }

    fn shortest(&self) -> Duration {
        Duration::from_millis(self.order.waits.shortest_ms)
    }

    fn longer(&self, wait: Duration) -> Duration {
        wait.saturating_mul(3)
            .checked_div(2)
            .unwrap_or(wait)
            .min(Duration::from_millis(self.order.waits.longest_ms))
    }
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
        // It was not taken, and may be sent.
        Err(_) => record.intent = None,
    }
}

fn end_of(error: CallError) -> End {
    match error {
        CallError::NotSent(message) | CallError::Unknown(message) => End::Unreached(message),
        error => End::Refused(error.to_string()),
    }
}
