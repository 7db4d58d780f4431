//! The dispatcher: takes the notices that are due from the outbox, has each sent, and marks its outcome.
//!
//! Owns when a notice is sent; how is crate `notify`'s. It is a thread beside the loop, which it never holds up: it is
//! woken after commits, reads the journal for itself, and its marks wait in the same queue as every commit. What it does
//! not get done is in the journal, and the next engine's dispatcher goes on with it; so each target gets a notice at least once.

use super::{callers::Callers, masking, notice, prepared::PreparedDelivery, settings::Notices};
use crate::model::clock::SteadyClock;
use envoi_contract::time::Timestamp;
use envoi_journal::{CommitError, DeliveryKey, DeliveryRow, Fate, Mark, Reader, Store, Writer};
use envoi_kernel::ids::RunId;
use envoi_notify::{
    Outcome, retry,
    turns::{Owner, Turns},
};
use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Most tries at the same time: a receiver that hangs leaves room for others. A tenant that is alone has half of them.
const MAX_IN_FLIGHT: usize = 16;
/// How long commands that are being ended may take to be gone, and then the last marks to be durable.
const ENDING: Duration = Duration::from_secs(2);
/// Why a try failed that was not over when its engine was.
const CUT_SHORT: &str = "it was cut short when the engine closed";
/// Stack of a thread that sends one notice.
const STACK_BYTES: usize = 1024 * 1024;

enum Signal {
    /// Something may be due that was not.
    New,
    /// A try is over.
    Tried { row: Box<DeliveryRow>, outcome: Outcome },
    /// Its outcome is durable, or is not.
    Marked { key: DeliveryKey, result: Result<(), CommitError> },
    /// Try what is due now, until then, and end.
    Close { until: Instant },
    /// Once it is to be closed, wait for nothing.
    Hurry,
}

/// Wakes the dispatcher when there is something new.
#[derive(Clone)]
pub(crate) struct DispatcherHandle(Sender<Signal>);

impl DispatcherHandle {
    pub(crate) fn wake(&self) {
        // A dispatcher that has ended leaves it to the next one.
        self.0.send(Signal::New).unwrap_or_default();
    }

    /// The engine was stopped: when the dispatcher is closed, or is just being closed, it waits for nothing.
    pub(crate) fn hurry(&self) {
        self.0.send(Signal::Hurry).unwrap_or_default();
    }
}

/// See the module. Dropping it leaves what is under way to itself.
pub(crate) struct Dispatcher {
    signals: Sender<Signal>,
    thread: JoinHandle<()>,
}

impl Dispatcher {
    /// Looks at the outbox of all runs, and goes on until it is closed.
    pub(crate) fn start(
        store: &Arc<Store>,
        writer: Arc<Writer>,
        notices: Notices,
        callers: Callers,
    ) -> io::Result<Self> {
        let reader = store.reader().map_err(|error| io::Error::other(error.to_string()))?;
        // The clock may have been set back since: the time of a run, and of its notices, is never before its last event.
        let newest = reader.newest_event_at().map_err(|error| io::Error::other(error.to_string()))?;
        let clock = SteadyClock::new(newest.unwrap_or_default());
        Self::start_with(reader, writer, notices, callers, clock)
    }

    fn start_with(
        reader: Reader,
        writer: Arc<Writer>,
        notices: Notices,
        callers: Callers,
        clock: SteadyClock,
    ) -> io::Result<Self> {
        let (signals, inbox) = mpsc::channel();
        let dispatch = DispatchLoop {
            reader,
            writer,
            notices,
            callers,
            signals: signals.clone(),
            // A target of notices is a command as often as a webhook: none has a bound of its own.
            in_flight: Turns::new(MAX_IN_FLIGHT, MAX_IN_FLIGHT),
            under_way: BTreeMap::new(),
            stop: Arc::default(),
            clock,
        };
        let thread =
            thread::Builder::new().name("dispatcher".to_owned()).spawn(move || dispatch.go(&inbox))?;
        Ok(Self { signals, thread })
    }

    pub(crate) fn wake(&self) -> DispatcherHandle {
        DispatcherHandle(self.signals.clone())
    }

    /// Tries what is due now, for no longer than `patience`. What takes longer is a try that failed, and what was not begun
    /// is left to the next engine.
    pub(crate) fn close(self, patience: Duration) {
        // One that has ended by itself does not receive it.
        self.signals.send(Signal::Close { until: Instant::now() + patience }).unwrap_or_default();
        // A panic of it has been reported, and nothing is lost by one.
        self.thread.join().ok();
    }
}

/// When the dispatcher ends, and what it still tries until then: what was due when the close began.
struct Closing {
    until: Instant,
    now: Timestamp,
}

struct DispatchLoop {
    reader: Reader,
    writer: Arc<Writer>,
    notices: Notices,
    callers: Callers,
    signals: Sender<Signal>,
    /// Tries under way, and those whose outcome is not durable yet.
    in_flight: Turns<DeliveryKey>,
    /// Those of them whose outcome is not known yet.
    under_way: BTreeMap<DeliveryKey, Try>,
    stop: Arc<AtomicBool>,
    /// One that is set back does not hold up the next try.
    clock: SteadyClock,
}

struct Try {
    row: DeliveryRow,
    is_command: bool,
}

impl DispatchLoop {
    fn go(mut self, inbox: &Receiver<Signal>) {
        let mut closing = None::<Closing>;
        let mut in_haste = false;
        loop {
            let left =
                closing.as_ref().map(|closing| closing.until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| in_haste || left.is_zero()) {
                break;
            }
            let now = closing.as_ref().map_or_else(|| self.clock.now(), |closing| closing.now);
            let idle = self.send_due(now).unwrap_or(retry::UNREADABLE);
            if left.is_some() && self.in_flight.is_empty() {
                break;
            }
            let wait = left.unwrap_or(idle);
            match inbox.recv_timeout(wait) {
                Ok(Signal::Close { until }) => closing = Some(Closing { until, now: self.clock.now() }),
                Ok(Signal::Hurry) => in_haste = true,
                Ok(signal) => {
                    if self.handle(signal).is_err() {
                        break;
                    }
                }
                Err(_) => {}
            }
        }
        self.cut_short(inbox);
    }

    /// Starts tries of what is due, as many as may be at the same time and of each tenant no more than leaves room for others;
    /// returns how long nothing else will be due.
    fn send_due(&mut self, now: Timestamp) -> Option<Duration> {
        if !self.in_flight.is_full() {
            // Those that fly are still due by their rows.
            let each = u32::try_from(MAX_IN_FLIGHT.saturating_add(self.in_flight.len())).unwrap_or(u32::MAX);
            for row in self.reader.due_deliveries(now, each).ok()? {
                let owner = Owner { tenant: row.tenant.clone(), receiver: None };
                if self.in_flight.may_begin(&row.key, &owner) {
                    self.send(row, owner);
                }
            }
        }
        Some(retry::until(self.reader.next_delivery_after(now).ok()?, now))
    }

    /// Sends one notice, on a thread of its own.
    fn send(&mut self, row: DeliveryRow, owner: Owner) {
        self.in_flight.begin(row.key, owner);
        let called = self.callers.of(&row.run);
        let caller = called.as_deref().map(|called| &called.caller);
        let prepared = notice::compose(&self.reader, &row, self.notices.how_to_answer)
            .and_then(|notice| PreparedDelivery::of(&row, notice, &self.notices, caller));
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return self.tried(row, Outcome::failed(error.to_string())),
        };
        let attempt = Try { row: row.clone(), is_command: prepared.is_command() };
        self.under_way.insert(row.key, attempt);
        let signals = self.signals.clone();
        let stop = Arc::clone(&self.stop);
        let tried = row.clone();
        let try_once = move || {
            let outcome = prepared.run(&stop);
            signals.send(Signal::Tried { row: Box::new(tried), outcome }).unwrap_or_default();
        };
        let thread = thread::Builder::new().name("notice".to_owned()).stack_size(STACK_BYTES).spawn(try_once);
        if let Err(error) = thread {
            self.tried(row, Outcome::failed(format!("no thread can be started: {error}")));
        }
    }

    fn handle(&mut self, signal: Signal) -> Result<(), CommitError> {
        match signal {
            Signal::Tried { row, outcome } => self.tried(*row, outcome),
            // The store takes nothing, or is another engine's: further tries would send the notice again and again.
            Signal::Marked { key, result } => {
                result?;
                self.in_flight.end(&key);
            }
            Signal::New | Signal::Hurry | Signal::Close { .. } => {}
        }
        Ok(())
    }

    /// Hands the outcome to the writer. Until it is durable the row is still due.
    fn tried(&mut self, row: DeliveryRow, outcome: Outcome) {
        self.under_way.remove(&row.key);
        let outcome = self.masked(&row.run, outcome);
        let key = row.key;
        let signals = self.signals.clone();
        let done = move |result: Result<_, _>| {
            signals.send(Signal::Marked { key, result: result.map(drop) }).unwrap_or_default();
        };
        let now = self.clock.now();
        self.writer.mark(mark(&row, outcome, now), Box::new(done));
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

    /// Ends commands that still run, so that none outlives the engine that would mark it. Whatever is cut short has been
    /// tried: else each engine would send the notice again to a target that needs longer than engines live.
    fn cut_short(mut self, inbox: &Receiver<Signal>) {
        self.stop.store(true, Ordering::Relaxed);
        self.handle_while(inbox, |dispatch| dispatch.under_way.values().any(|attempt| attempt.is_command));
        for attempt in std::mem::take(&mut self.under_way).into_values() {
            self.tried(attempt.row, Outcome::failed(CUT_SHORT.to_owned()));
        }
        self.handle_while(inbox, |dispatch| !dispatch.in_flight.is_empty());
    }

    /// Begins nothing, and gives up after [`ENDING`]: what is not marked by then is tried again.
    fn handle_while(&mut self, inbox: &Receiver<Signal>, unfinished: impl Fn(&Self) -> bool) {
        let until = Instant::now() + ENDING;
        while unfinished(self) {
            match inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Signal::Tried { row, outcome }) if self.under_way.contains_key(&row.key) => {
                    self.tried(*row, outcome);
                }
                Ok(Signal::Marked { key, .. }) => {
                    self.in_flight.end(&key);
                }
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }
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
