//! The loop that delivers: takes due deliveries, runs each try on its own thread, and has its outcome
//! recorded.
//!
//! The engine's notices and A2A's push notifications both use it. It owns the waiting, the threads, the
//! bounds ([`Turns`]) and the shutdown. [`Deliveries`] decides what is due, what one try does and how its
//! outcome is stored. A delivery is under way until its outcome is recorded. It is not tried a second time
//! meanwhile, and the next look finds the outcome.
//!
//! It stores nothing. An unfinished delivery is due again for the loop of the next process, so each receiver
//! gets a delivery at least once.

use crate::{retry, turns::Turns};
use envoi_contract::time::Timestamp;
use std::{
    collections::BTreeMap,
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How long the loop waits at its end for interrupted tries, and then again for the last outcomes to be
/// recorded.
const ENDING: Duration = Duration::from_secs(2);

/// The source of a loop's deliveries. The loop calls it from one thread.
pub trait Deliveries: Send + 'static {
    /// Identifies a delivery.
    type Key: Clone + Ord + Send + 'static;
    /// A delivery that is due.
    type Item: Clone + Send + 'static;
    /// The outcome of a try.
    type Outcome: Send + 'static;

    /// The key of this delivery.
    fn key(item: &Self::Item) -> Self::Key;

    /// The current time, with which due times are compared.
    fn now(&self) -> Timestamp;

    /// The due deliveries that [`Turns::try_begin`] lets begin, in the order in which they begin.
    ///
    /// # Errors
    /// [`Unreadable`]: the loop reads again after [`retry::UNREADABLE`].
    fn take_due(
        &mut self,
        now: Timestamp,
        turns: &mut Turns<Self::Key>,
    ) -> Result<Vec<Self::Item>, Unreadable>;

    /// The earliest due time after `now`. `None`: nothing is due later.
    ///
    /// # Errors
    /// Like [`Deliveries::take_due`].
    fn next_after(&mut self, now: Timestamp) -> Result<Option<Timestamp>, Unreadable>;

    /// Prepares a try. It blocks the loop, so slow work belongs in the try.
    ///
    /// # Errors
    /// The outcome, if there is nothing to try.
    fn prepare(&mut self, item: &Self::Item) -> Result<Try<Self::Outcome>, Self::Outcome>;

    /// The outcome of a delivery whose try did not finish.
    fn unfinished(&mut self, item: &Self::Item, why: Unfinished) -> Self::Outcome;

    /// Stores the outcome durably, and then calls `recorded`, from any thread.
    fn record(&mut self, item: Self::Item, outcome: Self::Outcome, recorded: Recorded);
}

/// The due deliveries cannot be read now.
#[derive(Debug)]
pub struct Unreadable;

/// Outcomes can no longer be recorded. The loop ends, because further tries would deliver the same things
/// again and again.
#[derive(Debug)]
pub struct NotRecorded;

/// Gets the result of recording an outcome.
pub type Recorded = Box<dyn FnOnce(Result<(), NotRecorded>) + Send>;

/// A prepared try. It runs on its own thread. The flag is set when it has to end.
pub struct Try<T> {
    /// Runs the try.
    pub run: Box<dyn FnOnce(&AtomicBool) -> T + Send>,
    /// Whether it ends soon after the flag is set. At its end the loop waits only for such tries.
    pub heeds_flag: bool,
}

impl<T> fmt::Debug for Try<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Try").field("heeds_flag", &self.heeds_flag).finish_non_exhaustive()
    }
}

/// Why the try of a delivery did not finish.
#[derive(Debug)]
pub enum Unfinished {
    /// The system could not create a thread.
    NoThread(io::Error),
    /// The loop ended before the try.
    CutShort,
}

/// The bounds of a loop, and its thread names.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Name of the loop's thread.
    pub name: &'static str,
    /// Name of the tries' threads.
    pub try_name: &'static str,
    /// Stack size of a try's thread, in bytes.
    pub stack_bytes: usize,
    /// The most tries at the same time. If only one tenant has deliveries, it gets half of them.
    pub most: usize,
    /// The most tries of a tenant to one receiver at the same time.
    pub most_a_receiver: usize,
}

enum Request {
    /// Something may have become due.
    Look,
    /// Try what is due now, until that time, and then end.
    Close { until: Instant },
    /// Wait for nothing when the loop is closed.
    Hurry,
    /// Call back when no due delivery is left, or at that time.
    CallBack { until: Instant, callback: Callback },
}

/// Runs on drop, so that no caller waits for a loop that has ended.
struct Callback(Option<Box<dyn FnOnce() + Send>>);

impl Drop for Callback {
    fn drop(&mut self) {
        if let Some(call) = self.0.take() {
            call();
        }
    }
}

/// Wakes a loop from any thread. Cheap to clone.
#[derive(Clone)]
pub struct Waker(Arc<dyn Fn(Request) + Send + Sync>);

impl Waker {
    /// Something may have become due.
    pub fn wake(&self) {
        (self.0)(Request::Look);
    }

    /// Makes the loop wait for nothing when it is closed, or is being closed now.
    pub fn hurry(&self) {
        (self.0)(Request::Hurry);
    }

    /// Calls `callback` once no due delivery is left, after `patience` at the latest, and at once if the loop
    /// has ended. The loop continues.
    pub fn call_when_done(&self, patience: Duration, callback: impl FnOnce() + Send + 'static) {
        let callback = Callback(Some(Box::new(callback)));
        (self.0)(Request::CallBack { until: Instant::now() + patience, callback });
    }
}

impl fmt::Debug for Waker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Waker")
    }
}

/// A running loop. Dropping it does not stop the loop.
#[derive(Debug)]
pub struct DeliveryLoop {
    waker: Waker,
    thread: JoinHandle<()>,
}

impl DeliveryLoop {
    /// Starts a loop that delivers until it is closed.
    ///
    /// # Errors
    /// The system cannot create a thread.
    pub fn start<D: Deliveries>(deliveries: D, bounds: Bounds) -> io::Result<Self> {
        let (signals, inbox) = mpsc::channel();
        let requests = signals.clone();
        let state = LoopState {
            deliveries,
            bounds,
            signals,
            turns: Turns::new(bounds.most, bounds.most_a_receiver),
            under_way: BTreeMap::new(),
            flag: Arc::default(),
        };
        let thread = thread::Builder::new().name(bounds.name.to_owned()).spawn(move || state.go(&inbox))?;
        // If the loop has ended, the request is left to the next process.
        let ask = move |request| {
            let _ = requests.send(Signal::Request(request));
        };
        Ok(Self { waker: Waker(Arc::new(ask)), thread })
    }

    /// A handle to tell the loop that something may have become due.
    #[must_use]
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Tries what is due now, for at most `patience`, and ends the loop. Longer tries are interrupted, and
    /// deliveries that were not begun are left to the next process.
    pub fn close(self, patience: Duration) {
        (self.waker.0)(Request::Close { until: Instant::now() + patience });
        // A panic of the thread has been reported already, and loses nothing.
        self.thread.join().ok();
    }

    /// Whether the loop has ended by itself.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }
}

enum Signal<D: Deliveries> {
    Request(Request),
    /// A try has finished.
    Tried {
        item: D::Item,
        outcome: D::Outcome,
    },
    /// The outcome is recorded, or cannot be.
    Recorded {
        key: D::Key,
        result: Result<(), NotRecorded>,
    },
}

/// When the loop ends. Until then it tries what was due at `now`, when the close began.
struct Closing {
    until: Instant,
    now: Timestamp,
}

struct LoopState<D: Deliveries> {
    deliveries: D,
    bounds: Bounds,
    signals: Sender<Signal<D>>,
    /// Deliveries under way, including those whose outcome is not recorded yet.
    turns: Turns<D::Key>,
    /// The tries that have not finished.
    under_way: BTreeMap<D::Key, UnderWay<D::Item>>,
    flag: Arc<AtomicBool>,
}

struct UnderWay<T> {
    item: T,
    heeds_flag: bool,
}

impl<D: Deliveries> LoopState<D> {
    fn go(mut self, inbox: &Receiver<Signal<D>>) {
        let mut closing = None::<Closing>;
        let mut in_haste = false;
        let mut callbacks: Vec<(Instant, Callback)> = Vec::new();
        loop {
            let left =
                closing.as_ref().map(|closing| closing.until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| in_haste || left.is_zero()) {
                break;
            }
            let now = closing.as_ref().map_or_else(|| self.deliveries.now(), |closing| closing.now);
            let idle = self.begin_due(now).unwrap_or(retry::UNREADABLE);
            if left.is_some() && self.turns.is_empty() {
                break;
            }
            let at = Instant::now();
            let is_done = in_haste || self.turns.is_empty();
            callbacks.retain(|(until, _)| !is_done && *until > at);
            let next_callback = callbacks.iter().map(|(until, _)| until.saturating_duration_since(at)).min();
            let wait = left.unwrap_or(idle);
            match inbox.recv_timeout(next_callback.map_or(wait, |callback| callback.min(wait))) {
                Ok(Signal::Request(Request::Close { until })) => {
                    closing = Some(Closing { until, now: self.deliveries.now() });
                }
                Ok(Signal::Request(Request::Hurry)) => in_haste = true,
                Ok(Signal::Request(Request::CallBack { until, callback })) => {
                    callbacks.push((until, callback))
                }
                Ok(Signal::Request(Request::Look)) | Err(_) => {}
                Ok(Signal::Tried { item, outcome }) => self.tried(item, outcome),
                Ok(Signal::Recorded { key, result }) => {
                    self.turns.end(&key);
                    if result.is_err() {
                        break;
                    }
                }
            }
        }
        drop(callbacks);
        self.cut_short(inbox);
    }

    /// Begins as many due deliveries as the bounds allow. Returns how long nothing else will be due.
    fn begin_due(&mut self, now: Timestamp) -> Result<Duration, Unreadable> {
        if !self.turns.is_full() {
            for item in self.deliveries.take_due(now, &mut self.turns)? {
                self.begin(item);
            }
        }
        Ok(retry::until(self.deliveries.next_after(now)?, now))
    }

    /// Starts one try on its own thread.
    fn begin(&mut self, item: D::Item) {
        let Try { run, heeds_flag } = match self.deliveries.prepare(&item) {
            Ok(prepared) => prepared,
            Err(outcome) => return self.tried(item, outcome),
        };
        self.under_way.insert(D::key(&item), UnderWay { item: item.clone(), heeds_flag });
        let signals = self.signals.clone();
        let flag = Arc::clone(&self.flag);
        let tried = item.clone();
        let try_once = move || {
            let outcome = run(&flag);
            // If the loop has ended, it has already recorded an outcome for this try.
            let _ = signals.send(Signal::Tried { item: tried, outcome });
        };
        let thread = thread::Builder::new()
            .name(self.bounds.try_name.to_owned())
            .stack_size(self.bounds.stack_bytes)
            .spawn(try_once);
        if let Err(error) = thread {
            let outcome = self.deliveries.unfinished(&item, Unfinished::NoThread(error));
            self.tried(item, outcome);
        }
    }

    /// Records an outcome. The delivery keeps its turn until then.
    fn tried(&mut self, item: D::Item, outcome: D::Outcome) {
        let key = D::key(&item);
        self.under_way.remove(&key);
        let signals = self.signals.clone();
        let recorded = move |result| {
            let _ = signals.send(Signal::Recorded { key, result });
        };
        self.deliveries.record(item, outcome, Box::new(recorded));
    }

    /// Interrupts the tries that can be interrupted, so that none outlives the process that would record it.
    /// The outcomes of interrupted tries are recorded: otherwise every process would repeat a try that takes
    /// longer than a process lives.
    fn cut_short(mut self, inbox: &Receiver<Signal<D>>) {
        self.flag.store(true, Ordering::Relaxed);
        self.wait_while(inbox, |state| state.under_way.values().any(|under_way| under_way.heeds_flag));
        for UnderWay { item, .. } in std::mem::take(&mut self.under_way).into_values() {
            let outcome = self.deliveries.unfinished(&item, Unfinished::CutShort);
            self.tried(item, outcome);
        }
        self.wait_while(inbox, |state| !state.turns.is_empty());
    }

    /// Handles signals while the condition holds, without beginning a try. Gives up after [`ENDING`]:
    /// deliveries that are not recorded by then are tried again.
    fn wait_while(&mut self, inbox: &Receiver<Signal<D>>, unfinished: impl Fn(&Self) -> bool) {
        let until = Instant::now() + ENDING;
        while unfinished(self) {
            match inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Signal::Tried { item, outcome }) if self.under_way.contains_key(&D::key(&item)) => {
                    self.tried(item, outcome);
                }
                Ok(Signal::Recorded { key, .. }) => self.turns.end(&key),
                // The outcome of this try was recorded as interrupted.
                Ok(Signal::Tried { .. } | Signal::Request(_)) => {}
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests;
