//! Large sets of artifacts are put in their places beside the loop.
//!
//! Moving 100,000 files takes seconds, and the loop serves all runs. So the files of such a set, and whatever the same run
//! commits until they lie there, are shown by a thread of that run, in the order of the commits. What has to wait does:
//! an attempt of the run does not begin before [`Placing::wait`] has returned, and its followers hear of a commit only when
//! its files are there. Other runs notice nothing. A crash in between loses nothing: whoever loads the run makes its files
//! good from the journal.

use envoi_journal::{Epoch, Reader, Store};
use envoi_kernel::ids::RunId;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

/// What is to be shown: its errors are sentences.
pub(crate) type Task = Box<dyn FnOnce(&Reader) -> Result<(), String> + Send>;

/// See the module. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Placing {
    shared: Arc<Shared>,
}

struct Shared {
    store: Arc<Store>,
    epoch: Epoch,
    runs: Mutex<Runs>,
    changed: Condvar,
}

#[derive(Default)]
struct Runs {
    /// What a run has left to be shown; an entry is there while its thread lives.
    left: BTreeMap<RunId, VecDeque<Task>>,
    /// Why the last thread of a run gave up, until somebody who goes on with the run has heard it.
    failed: BTreeMap<RunId, String>,
}

impl Placing {
    /// For the engine that has taken `epoch`.
    pub(crate) fn new(store: Arc<Store>, epoch: Epoch) -> Self {
        let (runs, changed) = (Mutex::default(), Condvar::new());
        Self { shared: Arc::new(Shared { store, epoch, runs, changed }) }
    }

    /// Whether something of the run is still to be shown.
    pub(crate) fn is_busy(&self, run: &RunId) -> bool {
        self.lock().left.contains_key(run)
    }

    /// Has `task` done after those that the run has left, and returns at once.
    ///
    /// # Errors
    /// A sentence: no thread could be started.
    pub(crate) fn push(&self, run: &RunId, task: Task) -> Result<(), String> {
        let mut runs = self.lock();
        if let Some(tasks) = runs.left.get_mut(run) {
            tasks.push_back(task);
            return Ok(());
        }
        runs.left.insert(run.clone(), VecDeque::from([task]));
        let (placing, of) = (self.clone(), run.clone());
        let spawned =
            thread::Builder::new().name("envoi-placing".to_owned()).spawn(move || placing.work(&of));
        spawned.map(drop).map_err(|error| {
            runs.left.remove(run);
            format!("no thread can be started to place the artifacts of run `{run}`: {error}")
        })
    }

    /// Returns when nothing of the run is left to be shown.
    ///
    /// # Errors
    /// Why its files could not be placed; once.
    pub(crate) fn wait(&self, run: &RunId) -> Result<(), String> {
        let mut runs = self.lock();
        while runs.left.contains_key(run) {
            runs = self.shared.changed.wait(runs).unwrap_or_else(PoisonError::into_inner);
        }
        runs.failed.remove(run).map_or(Ok(()), Err)
    }

    /// Returns when nothing of any run is left to be shown.
    pub(crate) fn wait_for_all(&self) {
        let mut runs = self.lock();
        while !runs.left.is_empty() {
            runs = self.shared.changed.wait(runs).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The life of the thread of one run.
    fn work(&self, run: &RunId) {
        // Whoever loads the run makes its files good, so nothing is tried again here.
        if let Err(reason) = self.show_all(run) {
            tracing::error!(run = run.as_str(), "the artifacts of a run cannot be placed");
            let mut runs = self.lock();
            runs.left.remove(run);
            runs.failed.insert(run.clone(), reason);
            self.shared.changed.notify_all();
        }
    }

    fn show_all(&self, run: &RunId) -> Result<(), String> {
        let reader = self.shared.store.reader().map_err(|error| error.to_string())?;
        while let Some(task) = self.next(run) {
            // An engine that was overtaken must not put its old files over newer ones.
            match self.shared.store.is_current(self.shared.epoch) {
                Ok(true) => task(&reader)?,
                Ok(false) => return Err(format!("another engine has gone on with run `{run}`")),
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }

    /// The next task. With the last one the run has nothing left.
    fn next(&self, run: &RunId) -> Option<Task> {
        let mut runs = self.lock();
        let next = runs.left.get_mut(run)?.pop_front();
        if next.is_none() {
            runs.left.remove(run);
            self.shared.changed.notify_all();
        }
        next
    }

    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.shared.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_journal::Layout;
    use std::sync::mpsc;

    fn placing() -> (tempfile::TempDir, Placing) {
        let root = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(Layout::new(root.path().join("store"))).unwrap());
        let epoch = store.take_epoch().unwrap();
        (root, Placing::new(store, epoch))
    }

    #[test]
    fn a_run_waits_for_its_files_and_another_run_does_not() {
        let (_root, placing) = placing();
        let [one, other] = ["run_1", "run_2"].map(|id| RunId::new(id).unwrap());
        let ((go, gate), (said, heard)) = (mpsc::channel::<()>(), mpsc::channel());
        let first = said.clone();
        let slow = Box::new(move |_: &Reader| {
            gate.recv().map_err(|error| error.to_string())?;
            first.send("first").map_err(|error| error.to_string())
        });
        placing.push(&one, slow).unwrap();
        let second = Box::new(move |_: &Reader| said.send("second").map_err(|error| error.to_string()));
        placing.push(&one, second).unwrap();
        assert!(placing.is_busy(&one) && !placing.is_busy(&other));
        placing.wait(&other).unwrap();
        go.send(()).unwrap();
        placing.wait(&one).unwrap();
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["first", "second"]);
        assert!(!placing.is_busy(&one));
    }

    #[test]
    fn a_failure_is_heard_once_and_what_stands_behind_it_is_not_done() {
        let (_root, placing) = placing();
        let run = RunId::new("run_1").unwrap();
        let (go, gate) = mpsc::channel::<()>();
        let fails = Box::new(move |_: &Reader| {
            gate.recv().map_err(|error| error.to_string())?;
            Err("no room".to_owned())
        });
        placing.push(&run, fails).unwrap();
        placing.push(&run, Box::new(|_| panic!("it is not done"))).unwrap();
        go.send(()).unwrap();
        placing.wait_for_all();
        assert_eq!(placing.wait(&run), Err("no room".to_owned()));
        assert_eq!(placing.wait(&run), Ok(()));
    }

    #[test]
    fn an_engine_that_was_overtaken_places_nothing() {
        let (_root, placing) = placing();
        let run = RunId::new("run_1").unwrap();
        placing.shared.store.take_epoch().unwrap();
        placing.push(&run, Box::new(|_| panic!("it is not done"))).unwrap();
        assert!(placing.wait(&run).unwrap_err().contains("another engine"));
    }
}
