//! The rows of the steps of runs, kept so that only new events are read for the next look.

use envoi_api::step::StepRows;
use envoi_journal::{ReadError, Reader};
use envoi_kernel::{
    Run,
    ids::{RunId, Seq},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Runs whose rows are kept. The one that was looked at longest ago goes first.
const MAX_RUNS: usize = 16;

/// Events that are read at a time.
const PAGE: u32 = 1_000;

/// See the module.
#[derive(Default)]
pub(crate) struct StepRowCache {
    /// The one that was looked at last stands last.
    runs: Mutex<Vec<(RunId, Arc<StepRows>)>>,
}

impl StepRowCache {
    /// The rows of a run after the same events as `run`.
    pub(crate) fn of_run(&self, reader: &Reader, id: &RunId, run: &Run) -> Result<Arc<StepRows>, ReadError> {
        let until = run.next_seq();
        let known = self.lock().iter().find(|(of, _)| of == id).map(|(_, rows)| Arc::clone(rows));
        // Another request may have read on already.
        let known = known.filter(|rows| rows.next() <= until).unwrap_or_default();
        if known.next() == until {
            self.keep(id, &known);
            return Ok(known);
        }
        let rows = Arc::new(read_on(Arc::unwrap_or_clone(known), reader, id, until)?);
        self.keep(id, &rows);
        Ok(rows)
    }

    fn keep(&self, id: &RunId, rows: &Arc<StepRows>) {
        let mut runs = self.lock();
        runs.retain(|(of, _)| of != id);
        if runs.len() >= MAX_RUNS {
            runs.remove(0);
        }
        runs.push((id.clone(), Arc::clone(rows)));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(RunId, Arc<StepRows>)>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The rows after the events before `until`.
pub(super) fn read_on(
    mut rows: StepRows,
    reader: &Reader,
    id: &RunId,
    until: Seq,
) -> Result<StepRows, ReadError> {
    while rows.next() < until {
        let from: Seq = rows.next();
        let left = u32::try_from(until.saturating_sub(from)).unwrap_or(PAGE).min(PAGE);
        reader.records(id, from, Some(left))?.iter().for_each(|record| rows.take(record));
        if rows.next() == from {
            return Err(ReadError::Missing { what: "event", id: format!("{from} of run {id}") });
        }
    }
    Ok(rows)
}
