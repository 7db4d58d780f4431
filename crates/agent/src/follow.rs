//! A task that is looked at: until it is over or asks, and before it is answered.
//!
//! A question is answered once: while the task waits with one that has its answer, nothing more is sent.

use crate::{
    call::CallError,
    leave::{self, End},
    question::{Question, Since},
    silence::Silence,
    talk::{Sent, Talk},
    task::{State, Task},
};
use std::time::Duration;

/// What is put before a question that is not the one that was answered.
const VOID: &str =
    "Your answer was not sent: the agent does not ask any more what was answered. It asks now:";

impl Talk<'_> {
    /// Looks at the task until it is over or asks.
    pub(crate) fn follow(&mut self, known: Option<Box<Task>>) -> Result<End, End> {
        let Some(id) = self.record.task.clone() else {
            return Err(End::Machine("there is no task to follow".to_owned()));
        };
        self.stop.follows(&id);
        let (mut wait, mut silence) = (self.shortest(), Silence::default());
        let (mut known, mut told, mut before) = (known, None, None);
        loop {
            if let Some(task) = known.take() {
                if told != Some(task.state) {
                    leave::say(&format!("task {id} is {}", task.state.word()));
                    told = Some(task.state);
                }
                if task.state.waits() {
                    if let Some(preface) = self.is_put(&task, before.as_ref()) {
                        return self.put(*task, preface.as_deref());
                    }
                    if before.is_none() {
                        leave::say(&format!("it still asks what was answered at {}", self.sent_at()));
                        // A clock that counts in seconds is to have moved.
                        wait = wait.max(self.renewed());
                    }
                    before = Some(task.question);
                } else if task.state != State::Going {
                    return Ok(End::Told(task, self.endpoint.clone()));
                }
            }
            self.stop.pause(wait);
            wait = self.longer(wait);
            match self.client.get(&self.endpoint, &id) {
                Ok(task) => {
                    silence.is_over();
                    known = Some(Box::new(task));
                }
                Err(CallError::NoTask) => return Err(End::Lost(id)),
                Err(error) if silence.is_borne(&error, &self.order.waits) => {}
                Err(error) => return Err(gone(&error, &id)),
            }
        }
    }

    /// Between two looks that tell what is new at each.
    pub(crate) fn renewed(&self) -> Duration {
        Duration::from_millis(self.order.waits.renew_ms)
    }

    /// Whether what the task asks is to be put to a person now, and what is said before it.
    fn is_put(&self, task: &Task, before: Option<&Question>) -> Option<Option<String>> {
        let answered = self.record.answered.as_ref().filter(|_| self.order.turn > 0);
        let Some(answered) = answered else { return Some(None) };
        let waits = &self.order.waits;
        match answered.since(&task.question, before) {
            Since::Moved => Some(None),
            Since::Kept if self.begun.elapsed() < Duration::from_millis(waits.move_ms) => None,
            Since::Kept => Some(Some(format!(
                "Your answer was sent at {}, and the agent has not moved since. No other answer is sent before it does: \
                 any words look again, a denial (`envoi deny`) cancels its task. It still asks:",
                self.sent_at()
            ))),
            Since::Vague if before.is_none() || self.sent_for() < Duration::from_millis(waits.settle_ms) => {
                None
            }
            Since::Vague => Some(Some(format!(
                "Your answer was sent at {}, and the agent still says what stands below; whether it asks again or has \
                 not come to the answer yet, it does not say. Another answer is sent.",
                self.sent_at()
            ))),
        }
    }

    /// Notes what it asks, before anybody is told.
    fn put(&mut self, task: Task, preface: Option<&str>) -> Result<End, End> {
        self.record.question = Some(task.question.clone());
        self.save()?;
        let task = match preface {
            Some(preface) => task.with_preface(preface),
            None => task,
        };
        Ok(End::Told(Box::new(task), self.endpoint.clone()))
    }

    /// How the task stands; an agent that is away is waited for.
    fn stand(&self) -> Result<Task, End> {
        let id = self.record.task.clone().unwrap_or_default();
        let (mut silence, mut wait) = (Silence::default(), self.shortest());
        loop {
            match self.client.get(&self.endpoint, &id) {
                Ok(task) => return Ok(task),
                Err(CallError::NoTask) => return Err(End::Lost(id)),
                Err(error) if silence.is_borne(&error, &self.order.waits) => {}
                Err(error) => return Err(gone(&error, &id)),
            }
            self.stop.pause(wait);
            wait = self.longer(wait);
        }
    }

    /// An answer goes to the question that it answers, or nowhere: what somebody else has answered meanwhile, or what the
    /// agent asks instead, is not what a person has seen; and what has its answer gets no other.
    pub(crate) fn look_what_it_asks(&mut self) -> Result<Sent, End> {
        let ours = self.order.message_ids();
        let mut before: Option<Question> = None;
        loop {
            let task = self.stand()?;
            let (last, now) = (before.as_ref(), &task.question);
            let since = self.record.answered.as_ref().map(|answered| answered.since(now, last));
            match since.filter(|_| task.state.waits()) {
                Some(Since::Kept) => {
                    let at = self.sent_at();
                    leave::say(&format!("the agent still has the answer of {at}; another one is not sent"));
                    return self.void(task);
                }
                Some(Since::Vague) if last.is_none() => {
                    before = Some(task.question);
                    self.stop.pause(self.renewed());
                    continue;
                }
                Some(Since::Vague | Since::Moved) | None => {}
            }
            let same = match &self.record.question {
                Some(asked) if task.state.waits() => asked.is(now, last, &ours),
                _ => Some(false),
            };
            match same {
                Some(true) => return Ok(Sent::No),
                Some(false) => {
                    leave::say("the task does not ask any more what was answered; the answer is not sent");
                    if task.state.waits() {
                        self.record.taken = Some(self.order.turn);
                        return Err(self.put(task, Some(VOID))?);
                    }
                    return self.void(task);
                }
                None => {
                    before = Some(task.question);
                    self.stop.pause(self.renewed());
                }
            }
        }
    }

    fn void(&mut self, task: Task) -> Result<Sent, End> {
        self.record.taken = Some(self.order.turn);
        self.save()?;
        Ok(Sent::Taken(Some(Box::new(task))))
    }

    /// The agent has found the answer wrong. A task that waits all the same wants another one, and whoever answers hears why.
    pub(crate) fn ask_again(&mut self, why: &str) -> Result<End, End> {
        let task = self.stand()?;
        self.record.taken = Some(self.order.turn);
        if !task.state.waits() {
            self.save()?;
            return self.follow(Some(Box::new(task)));
        }
        leave::say(&format!("the answer was not taken: {why}"));
        self.put(task, Some(&format!("The agent did not take the answer: {why}")))
    }
}

/// The agent says no more of a task.
fn gone(error: &CallError, task: &str) -> End {
    End::Unreached(format!("{error}; task {task} may still go on there"))
}
