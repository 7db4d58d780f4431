//! The dispatcher of notices: the outbox of the journal, for the loop that delivers.
//!
//! Owns which notices are due, the execution of a try, and the record of its outcome. Crate `notify` owns the
//! delivery loop and the sending. It is a thread beside the event loop, which it never blocks: it is woken
//! after commits, reads the journal by itself, and its marks are queued like every commit. Undelivered
//! notices stay in the journal, and the dispatcher of the next engine continues with them. So each target
//! receives a notice at least once.

use super::{callers::Callers, masking, notice, prepared::PreparedDelivery, settings::Notices};
use crate::model::clock::SteadyClock;
use envoi_contract::time::Timestamp;
use envoi_journal::{DeliveryKey, DeliveryRow, Fate, Mark, Reader, Store, Writer};
use envoi_kernel::ids::RunId;
use envoi_notify::{
    Outcome,
    delivery_loop::{Bounds, Deliveries, DeliveryLoop, NotRecorded, Recorded, Try, Unfinished, Unreadable},
    retry,
    turns::{Owner, Turns},
};
use std::{
    io,
    sync::{Arc, mpsc},
    time::Duration,
};

/// The limits leave capacity for others when a receiver hangs. A target of notices is a command as often as a
/// webhook, so neither kind has a limit of its own.
const BOUNDS: Bounds = Bounds {
    name: "dispatcher",
    try_name: "notice",
    stack_bytes: 1024 * 1024,
    most: MAX_IN_FLIGHT,
    most_a_receiver: MAX_IN_FLIGHT,
};
const MAX_IN_FLIGHT: usize = 16;

/// Delivers the outbox of all runs, until it is closed.
///
/// # Errors
/// The store cannot be read, or the thread cannot be started.
pub(crate) fn start(
    store: &Arc<Store>,
    writer: Arc<Writer>,
    notices: Notices,
    callers: Callers,
) -> io::Result<DeliveryLoop> {
    let reader = store.reader().map_err(|error| io::Error::other(error.to_string()))?;
    // The clock may have been set back since. The time of a run, and of its notices, is never before its last
    // event.
    let newest = reader.newest_event_at().map_err(|error| io::Error::other(error.to_string()))?;
    let clock = SteadyClock::new(newest.unwrap_or_default());
    start_with(reader, writer, notices, callers, clock)
}

fn start_with(
    reader: Reader,
    writer: Arc<Writer>,
    notices: Notices,
    callers: Callers,
    clock: SteadyClock,
) -> io::Result<DeliveryLoop> {
    DeliveryLoop::start(DueNotices { reader, writer, notices, callers, clock }, BOUNDS)
}

/// The notices that are due.
struct DueNotices {
    reader: Reader,
    writer: Arc<Writer>,
    notices: Notices,
    callers: Callers,
    /// If the wall clock is set back, this clock does not delay the next try.
    clock: SteadyClock,
}

impl Deliveries for DueNotices {
    type Key = DeliveryKey;
    type Item = DeliveryRow;
    type Outcome = Outcome;

    fn key(row: &DeliveryRow) -> DeliveryKey {
        row.key
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn take_due(
        &mut self,
        now: Timestamp,
        turns: &mut Turns<DeliveryKey>,
    ) -> Result<Vec<DeliveryRow>, Unreadable> {
        // Deliveries in progress are still due according to their rows.
        let each = u32::try_from(MAX_IN_FLIGHT.saturating_add(turns.len())).unwrap_or(u32::MAX);
        let mut rows = self.reader.due_deliveries(now, each).map_err(|_| Unreadable)?;
        rows.retain(|row| turns.try_begin(row.key, &Owner { tenant: row.tenant.clone(), receiver: None }));
        Ok(rows)
    }

    fn next_after(&mut self, now: Timestamp) -> Result<Option<Timestamp>, Unreadable> {
        self.reader.next_delivery_after(now).map_err(|_| Unreadable)
    }

    fn prepare(&mut self, row: &DeliveryRow) -> Result<Try<Outcome>, Outcome> {
        let called = self.callers.of(&row.run);
        let caller = called.as_deref().map(|called| &called.caller);
        let prepared =
            notice::compose(&self.reader, row, self.notices.how_to_answer, self.notices.page.as_deref())
                .and_then(|notice| PreparedDelivery::of(row, notice, &self.notices, caller))
                .map_err(|error| Outcome::failed(error.to_string()))?;
        if !prepared.is_command() {
            return Ok(Try { run: Box::new(move |flag| prepared.run(flag)), heeds_flag: false });
        }
        if row.tries >= retry::MOST_TRIES {
            return Err(Outcome::failed("each engine has ended during its try"));
        }
        let begun = self.begun(row);
        let writer = Arc::clone(&self.writer);
        let run = move |flag: &_| match is_durable(&writer, begun) {
            true => prepared.run(flag),
            false => Outcome::failed("the store could not note that its try begins"),
        };
        Ok(Try { run: Box::new(run), heeds_flag: true })
    }

    fn unfinished(&mut self, _: &DeliveryRow, why: Unfinished) -> Outcome {
        match why {
            Unfinished::NoThread(error) => Outcome::failed(format!("no thread can be started: {error}")),
            Unfinished::CutShort => Outcome::failed("it was cut short when the engine closed"),
        }
    }

    /// Passes the outcome to the writer. Until it is durable, the row is still due.
    fn record(&mut self, row: DeliveryRow, outcome: Outcome, recorded: Recorded) {
        let outcome = self.masked(&row.run, outcome);
        // The store is not writable, or another engine has taken it over.
        let done = move |result: Result<_, _>| recorded(result.map(drop).map_err(|_| NotRecorded));
        self.writer.mark(mark(&row, outcome, self.clock.now()), Box::new(done));
    }
}

impl DueNotices {
    /// A command is a child of the engine and may end it. So its try is counted before it begins: if the
    /// engine ends, the try counts, and the next engine has time for its own work. If an engine ends during
    /// the first try, the next one tries again at once, because most such engines were killed by something
    /// else.
    fn begun(&self, row: &DeliveryRow) -> Mark {
        let tries = row.tries.saturating_add(1);
        let wait = if tries == 1 { Duration::ZERO } else { retry::NOTICES.wait(tries) };
        Mark { key: row.key, tries, fate: Fate::Begun { at: retry::after(self.clock.now(), wait) } }
    }

    fn masked(&self, run: &RunId, outcome: Outcome) -> Outcome {
        match (&outcome, self.callers.of(run)) {
            (Outcome::Delivered, _) => outcome,
            (_, Some(called)) => masking::masked(outcome, called.secrets.as_ref()),
            (_, None) => {
                let secrets = masking::secrets_here(&self.reader, run, self.notices.variable);
                masking::masked(outcome, secrets.as_ref())
            }
        }
    }
}

/// Waits until a mark is in the journal. Called on the thread of the try.
fn is_durable(writer: &Writer, mark: Mark) -> bool {
    let (tell, told) = mpsc::channel();
    let done = move |result: Result<_, _>| {
        // Fails only if the receiver no longer waits.
        let _ = tell.send(result.is_ok());
    };
    writer.mark(mark, Box::new(done));
    told.recv().unwrap_or(false)
}

fn mark(row: &DeliveryRow, outcome: Outcome, now: Timestamp) -> Mark {
    let tries = row.tries.saturating_add(1);
    let fate = match retry::NOTICES.next(tries, outcome) {
        retry::Next::Nothing => Fate::Delivered { at: now },
        retry::Next::Wait { wait, error } => Fate::Again { at: retry::after(now, wait), error },
        retry::Next::GiveUp { error } => Fate::GivenUp { at: now, error },
    };
    Mark { key: row.key, tries, fate }
}

#[cfg(test)]
mod tests;
