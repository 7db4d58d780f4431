//! The thread that makes spans of committed events and sends them.
//!
//! It gets only a signal that a run has continued, and reads the records from the journal. So it never delays
//! the engine, and at most one entry per run waits, however slow the collector is. Only the engine that has
//! committed an event sends its spans. Spans that a killed engine had not sent are lost.

use super::collector::Collector;
use crate::process::{environment, messages};
use envoi_engine::{
    Commands, now,
    trace::spans::{Span, Trail},
};
use envoi_journal::{ReadError, Reader, Store};
use envoi_kernel::{
    Event, Record,
    ids::{RunId, Seq},
};
use std::{
    collections::BTreeMap,
    mem,
    ops::Range,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        mpsc::{self, Receiver},
    },
    thread,
    time::Duration,
};

/// The OpenTelemetry variables for the milliseconds between two batches, and for the spans per request.
const DELAY: &str = "OTEL_BSP_SCHEDULE_DELAY";
const BATCH: &str = "OTEL_BSP_MAX_EXPORT_BATCH_SIZE";

/// The defaults without the variables.
const USUAL_DELAY_MS: u64 = 1_000;
const USUAL_BATCH: usize = 512;

/// Sends spans on its own thread.
pub(super) struct Sender {
    news: Arc<News>,
    done: Receiver<()>,
}

/// The signals of the engine.
#[derive(Default)]
struct News {
    state: Mutex<State>,
    bell: Condvar,
}

#[derive(Default)]
struct State {
    /// Runs that have continued, each with its unprocessed events.
    changed: BTreeMap<RunId, Range<Seq>>,
    closing: bool,
}

impl Sender {
    /// Returns `None` if there is no collector, or if it cannot be used. A message then says why.
    pub(super) fn begin(store: &Arc<Store>, desk: &Commands) -> Option<Self> {
        let collector = Collector::of_environment()
            .unwrap_or_else(|error| complain(&format!("no spans are sent: {error}")))?;
        let reader =
            store.reader().map_err(|error| complain::<()>(&format!("no spans are sent: {error}"))).ok()?;
        let news = Arc::new(News::default());
        let (tell, done) = mpsc::channel();
        let watched = Arc::clone(&news);
        let work = Work { reader, collector, trails: BTreeMap::new(), failing: false };
        let spawned = thread::Builder::new().name("spans".to_owned()).spawn(move || {
            work.until_closed(&watched);
            let _ = tell.send(());
        });
        if let Err(error) = spawned {
            return complain(&format!("no spans are sent: {error}"));
        }
        let notified = Arc::clone(&news);
        desk.watch(Arc::new(move |run, records| notified.committed(run, records)));
        Some(Self { news, done })
    }

    /// Sends the remaining spans within this time.
    pub(super) fn end(self, patience: Duration) {
        self.news.lock().closing = true;
        self.news.bell.notify_all();
        if self.done.recv_timeout(patience).is_err() {
            complain::<()>("the collector has not taken the last spans in time");
        }
    }
}

fn complain<T>(text: &str) -> Option<T> {
    messages::say(text);
    None
}

impl News {
    fn committed(&self, run: &RunId, records: &[Record]) {
        let (Some(first), Some(last)) = (records.first(), records.last()) else { return };
        let mut state = self.lock();
        let news = state.changed.entry(run.clone()).or_insert(first.seq..first.seq);
        news.end = last.seq.saturating_add(1);
        drop(state);
        self.bell.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change, then for `delay`. Returns all changes, and whether they are the last.
    fn next(&self, delay: Duration) -> (BTreeMap<RunId, Range<Seq>>, bool) {
        let asleep = |state: &mut State| state.changed.is_empty() && !state.closing;
        let woken = self.bell.wait_while(self.lock(), asleep).unwrap_or_else(PoisonError::into_inner);
        let open = |state: &mut State| !state.closing;
        let (mut state, _) =
            self.bell.wait_timeout_while(woken, delay, open).unwrap_or_else(PoisonError::into_inner);
        (mem::take(&mut state.changed), state.closing)
    }
}

struct Work {
    reader: Reader,
    collector: Collector,
    /// Runs that are active.
    trails: BTreeMap<RunId, Trail>,
    /// Whether the last batch failed, and this was printed.
    failing: bool,
}

impl Work {
    fn until_closed(mut self, news: &News) {
        let delay = Duration::from_millis(number(DELAY).unwrap_or(USUAL_DELAY_MS));
        let batch = number(BATCH).and_then(|size| usize::try_from(size).ok()).filter(|size| *size > 0);
        loop {
            let (changed, closing) = news.next(delay);
            // A run is known to be at rest only when the clock has advanced.
            thread::sleep(Duration::from_millis(2));
            let mut spans = Vec::new();
            for (run, news) in changed {
                match self.follow(&run, news) {
                    Ok(over) => spans.extend(over),
                    Err(error) => tracing::warn!(run = run.as_str(), %error, "spans are lost"),
                }
            }
            for part in spans.chunks(batch.unwrap_or(USUAL_BATCH)) {
                self.send(part);
            }
            if closing {
                return;
            }
        }
    }

    /// The spans that end with these records of a run. Later records are sent later.
    fn follow(&mut self, run: &RunId, news: Range<Seq>) -> Result<Vec<Span>, ReadError> {
        let records = |from: Seq, to: Seq| {
            let count = u32::try_from(to.saturating_sub(from)).unwrap_or(u32::MAX);
            self.reader.records(run, from, Some(count))
        };
        let fresh = records(news.start, news.end)?;
        let known = match self.trails.remove(run) {
            Some(trail) => Some(trail),
            None if news.start == 0 => begun(&fresh, false),
            // The earlier spans were already sent.
            None => begun(&records(0, news.start)?, true),
        };
        let Some(mut trail) = known else { return Ok(Vec::new()) };
        let mut spans = trail.take(&fresh);
        spans.extend(trail.pause(now()));
        let is_wanted = trail.is_sampled();
        // A run at rest is read again when it continues, because many runs may rest for a long time.
        if trail.is_active() {
            self.trails.insert(run.clone(), trail);
        }
        Ok(if is_wanted { spans } else { Vec::new() })
    }

    fn send(&mut self, spans: &[Span]) {
        match self.collector.take(spans) {
            Ok(()) => self.failing = false,
            Err(error) => {
                tracing::warn!(%error, count = spans.len(), "spans are lost");
                if !mem::replace(&mut self.failing, true) {
                    complain::<()>(&format!(
                        "{} spans are lost, further ones are tried: {error}",
                        spans.len()
                    ));
                }
            }
        }
    }
}

/// Begins the trail of a run. With `are_sent`, takes these records, whose spans were sent before. Otherwise takes none.
fn begun(records: &[Record], are_sent: bool) -> Option<Trail> {
    let Event::RunStarted(started) = &records.first()?.event else { return None };
    let mut trail = Trail::of(started);
    if are_sent {
        drop(trail.take(records));
        drop(trail.pause(now()));
    }
    Some(trail)
}

fn number(variable: &str) -> Option<u64> {
    environment::variable(variable)?.trim().parse().ok()
}
