//! Caches the progress and usage of runs, so that a list of runs reads the events of each run once.
//!
//! Limits how many events one list reads. The usage of an unfinished run is that after its newest event,
//! never an older one.

use super::step_rows::{RunLook, StepRowCache};
use envoi_api::run::RunSoFar;
use envoi_journal::{Reader, RunRow};
use envoi_kernel::ids::{RunId, Seq};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The most cached runs. If there are more, all are dropped, and read again on request.
const MAX_RUNS: usize = 10_000;

/// After this many events one list reads no further run. The first run is read however many events it has.
const MAX_EVENTS: u64 = 20_000;

/// The cached progress and usage.
#[derive(Default)]
pub(crate) struct SoFarCache {
    /// Each entry has the number of events after which it is valid.
    runs: Mutex<HashMap<RunId, (Seq, RunSoFar)>>,
}

impl SoFarCache {
    /// The progress of the runs of a list. Runs that exceed the limit of one list, or cannot be read, are
    /// left out.
    pub(crate) fn of_runs(&self, reader: &Reader, rows: &[RunRow], cache: &StepRowCache) -> Vec<RunSoFar> {
        let mut budget = Budget { left: MAX_EVENTS };
        let mut found = Vec::new();
        for row in rows {
            let known = self.lock().get(&row.run).filter(|(next, _)| *next == row.next_seq).cloned();
            if let Some((_, so_far)) = known {
                found.push(so_far);
                continue;
            }
            if !budget.takes(row.next_seq) {
                continue;
            }
            // The rows of a finished run need not be cached: its progress is computed once, and kept here.
            let look = match row.ended {
                Some(_) => RunLook::first(reader, &row.run),
                None => cache.look(reader, &row.run),
            };
            // An unreadable run does not affect the others; its row says that it is set aside.
            let Ok(RunLook { run, steps }) = look else { continue };
            let so_far = RunSoFar::of(&row.run, &run, &steps);
            self.keep(&row.run, run.next_seq(), &so_far);
            found.push(so_far);
        }
        found
    }

    fn keep(&self, run: &RunId, next: Seq, so_far: &RunSoFar) {
        let mut runs = self.lock();
        if runs.len() >= MAX_RUNS {
            runs.clear();
        }
        runs.insert(run.clone(), (next, so_far.clone()));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, (Seq, RunSoFar)>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The events that one list may still read.
struct Budget {
    left: u64,
}

impl Budget {
    /// Whether a run with this many events is read. A run is always read completely.
    fn takes(&mut self, events: u64) -> bool {
        let is_read = self.left > 0;
        self.left = self.left.saturating_sub(events);
        is_read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_reads_its_first_run_whole_and_none_after_twenty_thousand_events() {
        let read = |runs: &[u64]| -> Vec<bool> {
            let mut budget = Budget { left: MAX_EVENTS };
            runs.iter().map(|events| budget.takes(*events)).collect()
        };
        assert_eq!(read(&[1_000_000, 1, 1]), [true, false, false], "the first one, however long it is");
        assert_eq!(read(&[8_000, 8_000, 8_000, 1]), [true, true, true, false], "the one that was begun");
        assert_eq!(read(&[10_000, 10_000, 1]), [true, true, false], "exactly as many");
        assert_eq!(read(&[400; 50]), [true; 50], "a whole page of usual runs");
    }
}
