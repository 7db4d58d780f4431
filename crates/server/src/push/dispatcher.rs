//! The dispatcher: sends notifications to receivers, at least once and in order, and records the position of
//! each receiver.
//!
//! Owns what one turn does. [`super::event_source`] reads the notifications, [`super::scheduler`] chooses the
//! turns, and crate `notify` has the loop, which notices share, and posts. A position is recorded after the
//! receiver has acknowledged a notification: if the server ends in between, the next server sends that
//! notification again.

use super::{
    event_source::{EventSource, EventSources, Notification, SourceCache},
    retry::{self, policy},
    scheduler::{Key, MOST_A_RECEIVER, MOST_TURNS, Scheduler, TurnResult},
};
use crate::auth::token;
use envoi_contract::time::Timestamp;
use envoi_engine::SteadyClock;
use envoi_journal::{CommitError, PushRow, PushState, ReadError, Reader, Store};
use envoi_kernel::ids::Seq;
use envoi_notify::{
    EgressPolicy, HttpPost, Outcome,
    delivery_loop::{Bounds, Deliveries, DeliveryLoop, Recorded, Try, Unfinished, Unreadable},
    retry::{Next, UNREADABLE, after},
    turns::{Owner, Turns},
};
use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// The most notifications in one turn, so that a receiver with many leaves time for others.
const MOST_A_TURN: usize = 16;

/// Time limit of a post.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A turn reads a run's events, which needs a large stack.
const BOUNDS: Bounds = Bounds {
    name: "a2a-push",
    try_name: "a2a-push-turn",
    stack_bytes: 2 * 1024 * 1024,
    most: MOST_TURNS,
    most_a_receiver: MOST_A_RECEIVER,
};

/// The header in which receivers of A2A 1.0 and 0.3 expect their own token.
const TOKEN_HEADER: &str = "x-a2a-notification-token";

/// The parts that the dispatcher uses.
pub(crate) struct Parts {
    pub(crate) store: Arc<Store>,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) sources: Box<dyn EventSources>,
    pub(crate) egress: EgressPolicy,
    /// A clock that is set back does not delay the next try.
    pub(crate) clock: SteadyClock,
    /// Prints a line for the person who runs the server.
    pub(crate) log: fn(&str),
}

/// The running dispatcher.
pub(crate) struct Dispatcher {
    scheduler: Arc<Scheduler>,
    delivering: DeliveryLoop,
}

impl Dispatcher {
    /// Starts to send what is due, until it is closed.
    ///
    /// # Errors
    /// The store cannot be read, or no thread can be created.
    pub(crate) fn start(parts: Parts) -> io::Result<Self> {
        let scheduler = Arc::clone(&parts.scheduler);
        let reader = parts.store.reader().map_err(io::Error::other)?;
        // No wait is longer: a later due time was stored before the clock was set back.
        let latest = after(parts.clock.now(), retry::LONGEST);
        for row in reader.active_pushes().map_err(io::Error::other)? {
            // The configuration of a run that has not begun waits for the message that starts it.
            let tenant = reader.tenant_of(&row.run).map_err(io::Error::other)?;
            if tenant.is_none() {
                continue;
            }
            let whose = owner_of(tenant, &parts.egress, &row);
            scheduler.add((row.run, row.id), whose, row.due_at.min(latest));
        }
        let worker = Worker { parts, kept: Mutex::default(), readers: Mutex::new(vec![reader]) };
        let delivering = DeliveryLoop::start(DueTurns(Arc::new(worker)), BOUNDS)?;
        scheduler.wake_from_now_on(delivering.waker());
        Ok(Self { scheduler, delivering })
    }

    /// Begins no more turns.
    pub(crate) fn close(&self) {
        self.scheduler.close();
    }

    /// Waits for the turns under way, until that time. A notification that is still under way is sent again
    /// by the next server, whether or not it arrives.
    pub(crate) fn wait(self, until: Instant) {
        self.delivering.close(until.saturating_duration_since(Instant::now()));
    }
}

/// The owner by which the turns of a configuration are limited. An address that is no longer allowed has an
/// owner of its own, and so has an unreadable run: the turn reports that.
pub(crate) fn owner_of(tenant: Option<String>, egress: &EgressPolicy, row: &PushRow) -> Owner {
    let receiver =
        egress.check_url(&row.url).map_or_else(|_| row.url.clone(), |target| target.receiver().to_owned());
    let tenant = tenant.unwrap_or_else(|| row.run.to_string());
    Owner { tenant, receiver: Some(receiver) }
}

/// The configurations that are due, for the loop.
struct DueTurns(Arc<Worker>);

impl Deliveries for DueTurns {
    type Key = Key;
    type Item = Key;
    type Outcome = Result<TurnResult, TurnError>;

    fn key(key: &Key) -> Key {
        key.clone()
    }

    fn now(&self) -> Timestamp {
        self.0.parts.clock.now()
    }

    fn take_due(&mut self, now: Timestamp, turns: &mut Turns<Key>) -> Result<Vec<Key>, Unreadable> {
        Ok(self.0.parts.scheduler.take_due(now, turns))
    }

    fn next_after(&mut self, now: Timestamp) -> Result<Option<Timestamp>, Unreadable> {
        Ok(self.0.parts.scheduler.next_after(now))
    }

    /// A post that is under way when the server ends is not waited for: it may or may not have arrived, and
    /// is sent again.
    fn prepare(&mut self, key: &Key) -> Result<Try<Self::Outcome>, Self::Outcome> {
        let (worker, key) = (Arc::clone(&self.0), key.clone());
        Ok(Try { run: Box::new(move |_| worker.turn(&key)), heeds_flag: false })
    }

    fn unfinished(&mut self, _: &Key, why: Unfinished) -> Self::Outcome {
        match why {
            Unfinished::NoThread(error) => Err(TurnError::Thread(error)),
            Unfinished::CutShort => Ok(TurnResult::Idle),
        }
    }

    /// Nothing to store: the turn has stored the position of its receiver itself.
    fn record(&mut self, key: Key, outcome: Self::Outcome, recorded: Recorded) {
        let Worker { parts, .. } = self.0.as_ref();
        let after = outcome.unwrap_or_else(|trouble| {
            (parts.log)(&format!("push notifications of task {} have to wait: {trouble}", key.0));
            TurnResult::Later(self.0.later(UNREADABLE))
        });
        parts.scheduler.give_back(&key, after, parts.clock.now());
        recorded(Ok(()));
    }
}

struct Worker {
    parts: Parts,
    kept: Mutex<SourceCache>,
    /// Unused readers.
    readers: Mutex<Vec<Reader>>,
}

/// Why a turn fails: a failure of the store or the system, never of the receiver.
#[derive(Debug, thiserror::Error)]
enum TurnError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Mark(#[from] CommitError),
    #[error("no thread can be started: {0}")]
    Thread(#[source] io::Error),
}

impl Worker {
    fn turn(&self, key: &Key) -> Result<TurnResult, TurnError> {
        let idle = self.lock_readers().pop();
        let reader = match idle {
            Some(reader) => reader,
            None => self.parts.store.reader()?,
        };
        let result = self.send_some(&reader, key);
        self.lock_readers().push(reader);
        result
    }

    /// Sends the notifications of one configuration, as many as one turn allows.
    fn send_some(&self, reader: &Reader, key: &Key) -> Result<TurnResult, TurnError> {
        let active = reader.push(&key.0, &key.1)?.filter(|row| row.state == PushState::Active);
        let Some(mut row) = active else { return Ok(TurnResult::Gone) };
        // A token that is no longer valid gets nothing more.
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

    /// Sends the available notifications. Also returns whether the source can still be used.
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

    /// Stores the result of a try. `reached` is the new position if it succeeded.
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

    fn lock_readers(&self) -> MutexGuard<'_, Vec<Reader>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, SourceCache> {
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
