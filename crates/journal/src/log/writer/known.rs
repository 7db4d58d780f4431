//! The writer's cache of the runs that it has committed to, so that it does not read them again for each commit.
//!
//! It equals the database, as long as no other connection has committed: each transaction checks that first. Writes that were
//! taken back are forgotten: the run of a commit that fails, and every run when a transaction fails. A run that is not in the
//! cache is read from the database.

use crate::tables::{projection::Progress, sql::RunKey};
use envoi_kernel::ids::{RunId, Seq};
use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
};

/// The most runs that are known at once: some megabytes.
const MOST_RUNS: usize = 16 * 1024;

/// The state of a run in the database.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) key: RunKey,
    /// The seq of its next event.
    pub(super) next: Seq,
    pub(super) progress: Progress,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct KnownRuns {
    runs: RefCell<HashMap<RunId, Known>>,
    /// The version of the database that the runs were read from.
    version: Cell<Option<i64>>,
}

impl KnownRuns {
    /// Forgets every run if the database is of another version than at the last call. Commits of this connection do not change the version.
    pub(super) fn hold_at(&self, version: i64) {
        if self.version.replace(Some(version)) != Some(version) {
            self.forget_all();
        }
    }

    /// Takes the cached run. It is forgotten until it is kept again, so that nothing is left of a commit that fails.
    pub(super) fn take(&self, run: &RunId) -> Option<Known> {
        self.runs.borrow_mut().remove(run)
    }

    /// Keeps what a commit has led to. A run that is over hardly ever commits again.
    pub(super) fn keep(&self, run: &RunId, known: Known) {
        if known.progress.is_over() {
            return;
        }
        let mut runs = self.runs.borrow_mut();
        if runs.len() >= MOST_RUNS {
            runs.clear();
        }
        runs.insert(run.clone(), known);
    }

    /// Forgets every run.
    pub(super) fn forget_all(&self) {
        self.runs.borrow_mut().clear();
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.runs.borrow().len()
    }
}
