//! The dispatcher: sends notifications to receivers, at least once and in order, and marks how far each receiver has
//! come.
//!
//! Owns the threads and what one turn does. [`super::event_source`] reads the notifications, [`super::scheduler`] picks
//! whose turn it is, and crate `notify` posts. A mark is made after the receiver has acknowledged a notification: one
//! that was sent and not marked, because the server ended in between, is sent again by the next server.

use super::{
    event_source::{EventSource, EventSources, Notification, SourceCache},
    retry::{self, policy},
    scheduler::{Key, MOST_TURNS, Scheduler, TurnResult},
};
use crate::auth::token;
use envoi_contract::time::Timestamp;
use envoi_engine::SteadyClock;
use envoi_journal::{CommitError, PushRow, PushState, ReadError, Reader, Store};
use envoi_kernel::ids::Seq;
use envoi_notify::{
    EgressPolicy, HttpPost, Outcome,
    retry::{Next, UNREADABLE, after},
    turns::Owner,
};
use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// Most notifications of one turn: a receiver with many leaves room for others.
const MOST_A_TURN: usize = 16;

/// Longest duration of a post.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Stack of a thread.
const STACK_BYTES: usize = 2 * 1024 * 1024;

/// The header in which receivers of A2A 1.0 and 0.3 expect their own token.
const TOKEN_HEADER: &str = "x-a2a-notification-token";

/// What the dispatcher works with.
pub(crate) struct Parts {
    pub(crate) store: Arc<Store>,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) sources: Box<dyn EventSources>,
    pub(crate) egress: EgressPolicy,
    /// One that is set back does not hold up the next try.
    pub(crate) clock: SteadyClock,
    /// Takes a line for the person who runs the server.
    pub(crate) log: fn(&str),
}

/// See the module.
pub(crate) struct Dispatcher {
    scheduler: Arc<Scheduler>,
}

impl Dispatcher {
    /// Sends what is due, until it is closed.
    ///
    /// # Errors
    /// The store cannot be read, or no thread be had.
    pub(crate) fn start(parts: Parts) -> io::Result<Self> {
        let scheduler = Arc::clone(&parts.scheduler);
        let reader = parts.store.reader().map_err(io::Error::other)?;
        // No wait is longer: whatever is due later than that was marked before the clock was set back.
        let latest = after(parts.clock.now(), retry::LONGEST);
        for row in reader.active_pushes().map_err(io::Error::other)? {
            // A configuration of a run that has not begun waits for the message that starts it.
            let tenant = reader.tenant_of(&row.run).map_err(io::Error::other)?;
            if tenant.is_none() {
                continue;
            }
            let whose = owner_of(tenant, &parts.egress, &row);
            scheduler.add((row.run, row.id), whose, row.due_at.min(latest));
        }
        let worker = Arc::new(Worker { parts, kept: Mutex::default() });
        for _ in 0..MOST_TURNS {
            let worker = Arc::clone(&worker);
            thread::Builder::new()
                .name("a2a-push".to_owned())
                .stack_size(STACK_BYTES)
                .spawn(move || worker.go())?;
        }
        Ok(Self { scheduler })
    }

    /// Begins nothing more.
    pub(crate) fn close(&self) {
        self.scheduler.close();
    }

    /// Waits for turns under way, until then. A notification that is still under way is sent again by the next server,
    /// whether or not it arrives.
    pub(crate) fn wait(self, until: Instant) {
        self.scheduler.wait_until_still(until);
    }
}

/// The owner by which a configuration counts as busy. An address that is not allowed any more counts for itself, and so
/// does a run that cannot be read: its turn finds that out.
pub(crate) fn owner_of(tenant: Option<String>, egress: &EgressPolicy, row: &PushRow) -> Owner {
    let receiver =
        egress.check_url(&row.url).map_or_else(|_| row.url.clone(), |target| target.receiver().to_owned());
    let tenant = tenant.unwrap_or_else(|| row.run.to_string());
    Owner { tenant, receiver: Some(receiver) }
}

struct Worker {
    parts: Parts,
    kept: Mutex<SourceCache>,
}

/// Why a turn fails: a fault of the store, never of the receiver.
#[derive(Debug, thiserror::Error)]
enum TurnError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Mark(#[from] CommitError),
}

impl Worker {
    fn go(&self) {
        let mut reader = None;
        while let Some(key) = self.parts.scheduler.take(|| self.parts.clock.now()) {
            let after = self.turn(&mut reader, &key).unwrap_or_else(|trouble| {
                (self.parts.log)(&format!("push notifications of task {} have to wait: {trouble}", key.0));
                TurnResult::Later(self.later(UNREADABLE))
            });
            self.parts.scheduler.give_back(&key, after, self.parts.clock.now());
        }
    }

    /// Sends the notifications of one configuration, as many as one turn allows.
    fn turn(&self, reader: &mut Option<Reader>, key: &Key) -> Result<TurnResult, TurnError> {
        let reader = match reader {
            Some(reader) => reader,
            None => reader.insert(self.parts.store.reader()?),
        };
        let active = reader.push(&key.0, &key.1)?.filter(|row| row.state == PushState::Active);
        let Some(mut row) = active else { return Ok(TurnResult::Gone) };
        // A token that is good no more gets nothing more.
        if !token::still_good(reader, &row.client, envoi_engine::now())? {
            return self.give_up(&mut row, "the token that set it is good no more".to_owned());
        }
        let kept = self.lock().take(key, row.at);
        let source = match kept {
            Some(source) => Ok(source),
            None => self.parts.sources.open(&row),
        };
        let mut source = match source {
            Ok(source) => source,
            Err(error) => return self.came_to(&mut row, None, Outcome::failed(error.to_string())),
        };
        let (after, source_is_sound) = self.tell(&mut row, source.as_mut())?;
        if after != TurnResult::Gone && source_is_sound {
            self.lock().put(key.clone(), row.at, source);
        }
        Ok(after)
    }

    /// Sends what there is; also returns whether the source can still be used.
    fn tell(&self, row: &mut PushRow, source: &mut dyn EventSource) -> Result<(TurnResult, bool), TurnError> {
        for _ in 0..MOST_A_TURN {
            if self.parts.scheduler.is_closed() {
                break;
            }
            let item = match source.next() {
                Ok(Some(item)) => item,
                Ok(None) if source.is_over() => return Ok((self.done(row)?, true)),
                Ok(None) => return Ok((TurnResult::Idle, true)),
                Err(error) => {
                    return Ok((self.came_to(row, None, Outcome::failed(error.to_string()))?, false));
                }
            };
            let reached = item.next_seq;
            let outcome = http_post(row, item).post(&row.url, &self.parts.egress);
            let arrived = outcome == Outcome::Delivered;
            let after = self.came_to(row, Some(reached), outcome)?;
            if !arrived {
                return Ok((after, true));
            }
            source.delivered();
        }
        Ok((TurnResult::More, true))
    }

    /// Stores the result of a try; `reached` is how far it goes if it succeeded.
    fn came_to(
        &self,
        row: &mut PushRow,
        reached: Option<Seq>,
        outcome: Outcome,
    ) -> Result<TurnResult, TurnError> {
        let tries = row.tries.saturating_add(1);
        match policy(&format!("{} {}", row.run, row.id)).next(tries, outcome) {
            Next::Nothing => {
                row.next_seq = reached.unwrap_or(row.next_seq);
                row.tries = 0;
                row.note = None;
                row.due_at = self.parts.clock.now();
                self.parts.store.mark_push(row)?;
                Ok(TurnResult::More)
            }
            Next::Wait { wait, error: note } => {
                row.tries = tries;
                row.note = Some(note);
                row.due_at = self.later(wait);
                self.parts.store.mark_push(row)?;
                Ok(TurnResult::Later(row.due_at))
            }
            Next::GiveUp { error: note } => {
                row.tries = tries;
                self.give_up(row, note)
            }
        }
    }

    fn give_up(&self, row: &mut PushRow, note: String) -> Result<TurnResult, TurnError> {
        (self.parts.log)(&format!("push notifications of task {} are given up: {note}", row.run));
        tracing::warn!(run = %row.run, config = row.id, tries = row.tries, "push notifications are given up");
        row.state = PushState::Failed;
        row.note = Some(note);
        self.parts.store.mark_push(row)?;
        Ok(TurnResult::Gone)
    }

    fn done(&self, row: &PushRow) -> Result<TurnResult, TurnError> {
        self.parts.store.mark_push(&PushRow { state: PushState::Done, ..row.clone() })?;
        Ok(TurnResult::Gone)
    }

    fn later(&self, wait: Duration) -> Timestamp {
        after(self.parts.clock.now(), wait)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, SourceCache> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn http_post(row: &PushRow, item: Notification) -> HttpPost {
    let authorization = row.scheme.as_ref().map(|scheme| match &row.credentials {
        Some(credentials) => format!("{scheme} {credentials}"),
        None => scheme.clone(),
    });
    HttpPost {
        media_type: item.media_type,
        id: format!("{}:{}", row.run, item.place),
        authorization,
        token: row.token.clone().map(|token| (TOKEN_HEADER, token)),
        body: item.body,
        timeout: TIMEOUT,
    }
}

#[cfg(test)]
mod tests;
