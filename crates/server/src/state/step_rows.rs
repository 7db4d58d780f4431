//! Caches runs with the rows of their steps, so that only new events are read the next time.

use envoi_api::step::StepRows;
use envoi_engine::{load_run, protocol::Refused};
use envoi_journal::{ReadError, Reader};
use envoi_kernel::{
    Event, Record, Run,
    ids::{RunId, Seq},
};
use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The most cached runs. The least recently used one is dropped first.
const MAX_RUNS: usize = 16;

/// How many events are read at a time.
const PAGE: u32 = 1_000;

/// A run, and the rows of its steps after the same events.
#[derive(Clone)]
pub(crate) struct RunLook {
    pub(crate) run: Arc<Run>,
    pub(crate) steps: Arc<StepRows>,
}

/// The newest state of a run. A reader of new events holds the lock, so that others wait and do not read the
/// same events.
type Kept = Arc<Mutex<Option<RunLook>>>;

/// The cached runs.
#[derive(Default)]
pub(crate) struct StepRowCache {
    /// The most recently used run is the last one.
    runs: Mutex<Vec<(RunId, Kept)>>,
}

impl StepRowCache {
    /// The current state of a run.
    ///
    /// # Errors
    /// Those of [`load_run`].
    pub(crate) fn look(&self, reader: &Reader, id: &RunId) -> Result<RunLook, Refused> {
        let kept = self.kept(id);
        let mut kept = lock(&kept);
        let until = reader.run(id)?.next_seq;
        // Taken out, so that it is changed in place. After an error there is none, and everything is read
        // again.
        let known = kept.take().filter(|look| look.run.next_seq() <= until);
        let look = match known.and_then(|look| look.read_on(reader, id, until).transpose()).transpose()? {
            Some(look) => look,
            None => RunLook::first(reader, id)?,
        };
        *kept = Some(look.clone());
        Ok(look)
    }

    /// The entry of a run, marked as the most recently used.
    fn kept(&self, id: &RunId) -> Kept {
        let mut runs = lock(&self.runs);
        let known = runs.iter().position(|(of, _)| of == id).map(|at| runs.remove(at).1);
        let kept = known.unwrap_or_default();
        if runs.len() >= MAX_RUNS {
            runs.remove(0);
        }
        runs.push((id.clone(), Arc::clone(&kept)));
        kept
    }
}

impl RunLook {
    pub(super) fn first(reader: &Reader, id: &RunId) -> Result<Self, Refused> {
        let run = load_run(reader, id)?;
        let mut steps = StepRows::default();
        // The run usually comes from its snapshot, so reading these events takes the most time. About half of
        // the events are of kinds that change no row.
        let (mut from, until) = (0, run.next_seq());
        while from < until {
            let mut last = None;
            let end = until.min(from.saturating_add(PAGE.into()));
            reader.events_between(id, from, end, |event| {
                last = Some(event.seq());
                if StepRows::are_made_of(event.name()) {
                    steps.take_later(&event.record()?);
                }
                Ok(ControlFlow::Continue(()))
            })?;
            if last != Some(end.saturating_sub(1)) {
                return Err(missing(id, last.map_or(from, |last| last.saturating_add(1))).into());
            }
            from = end;
        }
        steps.pass(until);
        Ok(Self { run: Arc::new(run), steps: Arc::new(steps) })
    }

    /// The same run after the events before `until`. `None` if it must be loaded again, because its flow was
    /// corrected.
    fn read_on(self, reader: &Reader, id: &RunId, until: Seq) -> Result<Option<Self>, ReadError> {
        if self.run.next_seq() == until {
            return Ok(Some(self));
        }
        let (mut run, mut steps) = (Arc::unwrap_or_clone(self.run), Arc::unwrap_or_clone(self.steps));
        let mut is_good = true;
        each_record(reader, id, run.next_seq(), until, |record| {
            is_good &= !matches!(record.event, Event::FlowCorrected(_)) && run.apply(record).is_ok();
            steps.take(record);
        })?;
        Ok(is_good.then(|| Self { run: Arc::new(run), steps: Arc::new(steps) }))
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes all events from `from` up to, but not including, `until` to `take`, in order.
fn each_record(
    reader: &Reader,
    id: &RunId,
    mut from: Seq,
    until: Seq,
    mut take: impl FnMut(&Record),
) -> Result<(), ReadError> {
    while from < until {
        let left = u32::try_from(until.saturating_sub(from)).unwrap_or(PAGE).min(PAGE);
        let records = reader.records(id, from, Some(left))?;
        let last = records.last().map(|record| record.seq).filter(|last| *last >= from);
        records.iter().for_each(&mut take);
        from = last.ok_or_else(|| missing(id, from))?.saturating_add(1);
    }
    Ok(())
}

fn missing(id: &RunId, seq: Seq) -> ReadError {
    ReadError::Missing { what: "event", id: format!("{seq} of run {id}") }
}
