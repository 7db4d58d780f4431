//! The loop that delivers: takes what is due, has each tried on a thread of its own, and has its outcome recorded.
//!
//! It stands once, for the notices of the engine and for the push notifications of A2A. Owns the waiting, the threads, the bounds
//! ([`Turns`]) and how it ends. What is due, what one try is and how its outcome lasts is for [`Deliveries`] to say. A delivery is under way until
//! its outcome is recorded: it is not tried a second time meanwhile, and the outcome is what the next look finds.
//!
//! It keeps nothing that has to last. What it does not get done is due again for the loop of the next process, so each receiver gets a
//! delivery at least once.

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

/// How long tries that are being ended may take to be over, and then the last outcomes to be recorded.
const ENDING: Duration = Duration::from_secs(2);

/// What a loop delivers. The loop calls it from one thread.
pub trait Deliveries: Send + 'static {
    /// Tells deliveries apart.
    type Key: Clone + Ord + Send + 'static;
    /// A delivery that is due.
    type Item: Clone + Send + 'static;
    /// What a try came to.
    type Outcome: Send + 'static;

    /// The key of this delivery.
    fn key(item: &Self::Item) -> Self::Key;

    /// The time by which deliveries are due.
    fn now(&self) -> Timestamp;

    /// Those that are due and for which [`Turns::try_begin`] has a turn, in the order in which they begin.
    ///
    /// # Errors
    /// [`Unreadable`]: it is read again after [`retry::UNREADABLE`].
    fn take_due(
        &mut self,
        now: Timestamp,
        turns: &mut Turns<Self::Key>,
    ) -> Result<Vec<Self::Item>, Unreadable>;

    /// When the first one becomes due that is not due at `now`.
    ///
    /// # Errors
    /// As [`Deliveries::take_due`].
    fn next_after(&mut self, now: Timestamp) -> Result<Option<Timestamp>, Unreadable>;

    /// Makes a try ready. It holds up the loop, so what takes long belongs into the try.
    ///
    /// # Errors
    /// The outcome, if there is nothing to try.
    fn prepare(&mut self, item: &Self::Item) -> Result<Try<Self::Outcome>, Self::Outcome>;

    /// The outcome of one that was not tried to its end.
    fn unfinished(&mut self, item: &Self::Item, why: Unfinished) -> Self::Outcome;

    /// Makes the outcome last, and then calls `recorded`, from any thread.
    fn record(&mut self, item: Self::Item, outcome: Self::Outcome, recorded: Recorded);
}

/// What is due cannot be read now.
#[derive(Debug)]
pub struct Unreadable;

/// No outcome can be recorded any more. The loop ends: further tries would deliver the same again and again.
#[derive(Debug)]
pub struct NotRecorded;

/// Receives whether an outcome is recorded.
pub type Recorded = Box<dyn FnOnce(Result<(), NotRecorded>) + Send>;

/// A try that is ready. It is called on a thread of its own; the flag is raised when it has to end.
pub struct Try<T> {
    /// Makes the try.
    pub run: Box<dyn FnOnce(&AtomicBool) -> T + Send>,
    /// Whether it ends soon once the flag is raised. The loop then waits for it, and for no other.
    pub heeds_flag: bool,
}

impl<T> fmt::Debug for Try<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Try").field("heeds_flag", &self.heeds_flag).finish_non_exhaustive()
    }
}

/// Why a delivery was not tried to its end.
#[derive(Debug)]
pub enum Unfinished {
    /// The machine has no thread for it.
    NoThread(io::Error),
    /// The loop ended before it was over.
    CutShort,
}

/// The bounds of a loop, and the names of its threads.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The thread of the loop.
    pub name: &'static str,
    /// The threads of tries.
    pub try_name: &'static str,
    /// Stack of a try.
    pub stack_bytes: usize,
    /// Most tries together. A tenant that is alone has half of them.
    pub most: usize,
    /// Most tries together for one receiver.
    pub most_a_receiver: usize,
}

enum Request {
    /// Something may be due that was not.
    Look,
    /// Try what is due now, until then, and end.
    Close { until: Instant },
    /// Once it is to be closed, wait for nothing.
    Hurry,
    /// Call back when nothing that is due is left to do, or at that time.
    CallBack { until: Instant, callback: Callback },
}

/// Is called on drop, so that no caller waits for a loop that has ended.
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
    /// There may be something new.
    pub fn wake(&self) {
        (self.0)(Request::Look);
    }

    /// When the loop is closed, or is just being closed, it waits for nothing.
    pub fn hurry(&self) {
        (self.0)(Request::Hurry);
    }

    /// Calls `callback` once nothing that is due is left to do, after `patience` at the latest, and at once if the loop has ended. The loop goes on.
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

/// A loop that runs. Dropping it leaves the loop to itself.
#[derive(Debug)]
pub struct DeliveryLoop {
    waker: Waker,
    thread: JoinHandle<()>,
}

impl DeliveryLoop {
    /// Delivers what is due, until it is closed.
    ///
    /// # Errors
    /// The machine has no thread for it.
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
        // A loop that has ended leaves it to the next one.
        let ask = move |request| {
            let _ = requests.send(Signal::Request(request));
        };
        Ok(Self { waker: Waker(Arc::new(ask)), thread })
    }

    /// For those who know of something new.
    #[must_use]
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Tries what is due now, for no longer than `patience`. What takes longer is cut short, and what was not begun is left to the
    /// next process.
    pub fn close(self, patience: Duration) {
        (self.waker.0)(Request::Close { until: Instant::now() + patience });
        // A panic of it has been reported, and nothing is lost by one.
        self.thread.join().ok();
    }

    /// Whether it has ended by itself.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }
}

enum Signal<D: Deliveries> {
    Request(Request),
    /// A try is over.
    Tried {
        item: D::Item,
        outcome: D::Outcome,
    },
    /// Its outcome is recorded, or cannot be.
    Recorded {
        key: D::Key,
        result: Result<(), NotRecorded>,
    },
}

/// When the loop ends, and what it still tries until then: what was due when the close began.
struct Closing {
    until: Instant,
    now: Timestamp,
}

struct LoopState<D: Deliveries> {
    deliveries: D,
    bounds: Bounds,
    signals: Sender<Signal<D>>,
    /// Tries under way, and those whose outcome is not recorded yet.
    turns: Turns<D::Key>,
    /// Those of them whose outcome is not known yet.
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

    /// Begins what is due, as many as have a turn; returns how long nothing else will be due.
    fn begin_due(&mut self, now: Timestamp) -> Result<Duration, Unreadable> {
        if !self.turns.is_full() {
            for item in self.deliveries.take_due(now, &mut self.turns)? {
                self.begin(item);
            }
        }
        Ok(retry::until(self.deliveries.next_after(now)?, now))
    }

    /// Makes one try, on a thread of its own.
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
            // A loop that has ended has recorded for itself what it had to.
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

    /// Has an outcome recorded. Until it is, the delivery keeps its turn.
    fn tried(&mut self, item: D::Item, outcome: D::Outcome) {
        let key = D::key(&item);
        self.under_way.remove(&key);
        let signals = self.signals.clone();
        let recorded = move |result| {
            let _ = signals.send(Signal::Recorded { key, result });
        };
        self.deliveries.record(item, outcome, Box::new(recorded));
    }

    /// Ends tries that can be ended, so that none outlives the process that would record it. Whatever is cut short has been
    /// tried: else each process would try again what takes longer than processes live.
    fn cut_short(mut self, inbox: &Receiver<Signal<D>>) {
        self.flag.store(true, Ordering::Relaxed);
        self.wait_while(inbox, |state| state.under_way.values().any(|under_way| under_way.heeds_flag));
        for UnderWay { item, .. } in std::mem::take(&mut self.under_way).into_values() {
            let outcome = self.deliveries.unfinished(&item, Unfinished::CutShort);
            self.tried(item, outcome);
        }
        self.wait_while(inbox, |state| !state.turns.is_empty());
    }

    /// Begins nothing, and gives up after [`ENDING`]: what is not recorded by then is tried again.
    fn wait_while(&mut self, inbox: &Receiver<Signal<D>>, unfinished: impl Fn(&Self) -> bool) {
        let until = Instant::now() + ENDING;
        while unfinished(self) {
            match inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Signal::Tried { item, outcome }) if self.under_way.contains_key(&D::key(&item)) => {
                    self.tried(item, outcome);
                }
                Ok(Signal::Recorded { key, .. }) => self.turns.end(&key),
                // Its outcome was recorded as one that was cut short.
                Ok(Signal::Tried { .. } | Signal::Request(_)) => {}
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests;
