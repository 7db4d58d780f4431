//! Whether the agent has a message that may have been sent.
//!
//! What is there is found; that something is not there proves nothing, however long it is looked: the agent may be at it. So
//! the end of looking is doubt, and what follows from doubt is a person's choice, the flow's, or, where the agent does a
//! message once however often it comes, to send it again.

use crate::{
    call::{CallError, Sought},
    leave::{self, End},
    question::{Question, Since},
    silence::Silence,
    talk::{Sent, Talk},
    task::Task,
};
use std::time::{Duration, Instant};

/// How much of the time for a reply an agent may be away that is to be asked about a message.
const AWAY: f32 = 0.5;

/// How often a message is sent again without a person.
const RESENDS: u32 = 3;

/// How much longer each time before that.
const REST: u32 = 4;

impl Talk<'_> {
    /// Looks until it is found, or nothing is to be expected any more.
    pub(crate) fn look(&mut self, why: &str) -> Result<Sent, End> {
        leave::say(&format!("{why}; looking whether the message of {} was taken", self.sent_at()));
        let (began, mut silence, mut before) = (Instant::now(), Silence::default(), None);
        // Whoever is asked about the doubt is to be asked before the step is over.
        let away = Duration::from_millis(self.order.waits.reply_ms).mul_f32(AWAY);
        // A question is looked at twice, with a time between that every clock tells.
        let mut wait =
            if self.order.turn == 0 { self.shortest() } else { self.shortest().max(self.renewed()) };
        loop {
            let is_first = before.is_none();
            let nothing = match self.found(&mut before) {
                Ok(Some(task)) => return Ok(Sent::Taken(task)),
                Ok(None) => {
                    silence.is_over();
                    let over = self.is_looked_for(began) && !(is_first && before.is_some());
                    Some((over, "nothing of it is found there".to_owned()))
                }
                Err(CallError::NoTask) => {
                    return Err(End::Lost(self.record.task.clone().unwrap_or_default()));
                }
                Err(CallError::Unsupported(cannot)) => Some((true, cannot)),
                Err(error) if silence.is_borne(&error, &self.order.waits) && began.elapsed() < away => None,
                Err(error) => return Err(self.unclear(why, &error.to_string())),
            };
            if let Some((over, found)) = nothing {
                if self.is_resent(over, began) {
                    return Ok(Sent::No);
                }
                if over && !self.is_harmless() {
                    return Err(self.unclear(why, &found));
                }
            }
            self.stop.pause(wait);
            wait = self.longer(wait);
        }
    }

    /// Whether it was looked for as long as it may be under way.
    fn is_looked_for(&self, began: Instant) -> bool {
        let waits = &self.order.waits;
        self.sent_for() >= Duration::from_millis(waits.doubt_ms)
            && began.elapsed() >= Duration::from_millis(waits.look_ms)
    }

    /// Whether a message that is not found is sent again; `over` says that nothing more is to be expected.
    fn is_resent(&self, over: bool, began: Instant) -> bool {
        if self.order.resend && self.sends == 0 {
            leave::say("it is not found, and is sent again, as a person wants it");
            return true;
        }
        let rested =
            began.elapsed() >= self.shortest().saturating_mul(REST.saturating_pow(self.record.sends));
        let why = match () {
            () if self.is_harmless() && rested => "the agent does it once, however often it comes",
            () if over && self.order.resends && self.record.sends <= RESENDS => "the flow wants it",
            () => return false,
        };
        leave::say(&format!("it is not found, and is sent again: {why}"));
        true
    }

    /// Whether it may be sent again by itself, because nothing can come of it but the reply.
    fn is_harmless(&self) -> bool {
        self.endpoint.once && self.record.sends <= RESENDS
    }

    fn unclear(&self, why: &str, found: &str) -> End {
        let what = if self.order.turn == 0 { "The message" } else { "The answer" };
        let again = match self.record.sends {
            0 | 1 => String::new(),
            times => format!(" ({times} times in all)"),
        };
        End::Unclear(format!(
            "{what} was sent at {}{again}, and nobody knows whether the agent took it: {why}; {found}",
            self.sent_at()
        ))
    }

    /// What there is of the message at the agent: with its task, if that was asked. `before` is the question of the look before.
    pub(crate) fn found(
        &mut self,
        before: &mut Option<Question>,
    ) -> Result<Option<Option<Box<Task>>>, CallError> {
        let Some(id) = self.record.task.clone() else {
            return self.begun().map(|begun| begun.then_some(None));
        };
        let task = self.client.get(&self.endpoint, &id)?;
        let ours = self.order.message_id();
        let moved = !task.state.waits()
            || task.history.iter().any(|said| said.id == ours)
            || self
                .record
                .answered
                .as_ref()
                .is_none_or(|answered| answered.since(&task.question, before.as_ref()) == Since::Moved);
        if moved {
            self.taken()?;
            return Ok(Some(Some(Box::new(task))));
        }
        *before = Some(task.question);
        Ok(None)
    }

    /// Whether there is a task that the first message has begun.
    fn begun(&mut self) -> Result<bool, CallError> {
        let sought = Sought::of(self.order, &self.record);
        let Some(task) = self.client.begun(&self.endpoint, &sought)? else { return Ok(false) };
        leave::say(&format!("task {} was begun by it", task.id));
        self.record.task = Some(task.id.clone());
        if task.context.is_some() {
            self.record.context = task.context;
        }
        self.stop.follows(&task.id);
        self.taken()?;
        Ok(true)
    }

    fn taken(&mut self) -> Result<(), CallError> {
        self.record.taken = Some(self.order.turn);
        let saved = self.record.masked(&*self.client.mask).save(&self.order.record);
        saved.map_err(|error| CallError::Refused(format!("what has been sent cannot be noted: {error}")))
    }
}
