//! If two requests begin one run, the second waits for the first, and then finds the run.
//!
//! A client that has lost its connection sends its request again, while the first one may still be in progress. Files that an engine left
//! half made for a new run, such as a copy of the workspace, are made anew; the files of a request in progress must not be touched.

use envoi_kernel::ids::RunId;
use std::{
    collections::BTreeSet,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// The runs that are being begun.
#[derive(Debug, Default)]
pub(crate) struct Beginnings {
    runs: Mutex<BTreeSet<RunId>>,
    ended: Condvar,
}

impl Beginnings {
    /// Waits until no other request begins this run. The claim ends when the returned value is dropped.
    #[must_use]
    pub(super) fn enter(&self, run: &RunId) -> Beginning<'_> {
        let mut runs = self.lock();
        while !runs.insert(run.clone()) {
            runs = self.ended.wait(runs).unwrap_or_else(PoisonError::into_inner);
        }
        Beginning { beginnings: self, run: run.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<RunId>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Beginnings::enter`].
pub(super) struct Beginning<'b> {
    beginnings: &'b Beginnings,
    run: RunId,
}

impl Drop for Beginning<'_> {
    fn drop(&mut self) {
        self.beginnings.lock().remove(&self.run);
        self.beginnings.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    #[test]
    fn no_two_requests_begin_one_run_at_once_and_another_run_waits_for_none() {
        let beginnings = Beginnings::default();
        let run = |name: &str| RunId::new(name).unwrap();
        let held = beginnings.enter(&run("run_b"));
        let is_inside = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let _alone = beginnings.enter(&run("run_a"));
                        assert!(!is_inside.swap(true, Ordering::SeqCst), "two at once");
                        thread::yield_now();
                        is_inside.store(false, Ordering::SeqCst);
                    }
                });
            }
        });
        drop(held);
        assert!(beginnings.lock().is_empty());
    }
}
