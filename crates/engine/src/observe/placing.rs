//! Large sets of artifacts are put in their places beside the loop.
//!
//! Moving 100,000 files takes seconds, and the loop serves all runs. So a thread of that run puts the files of such a set in place,
//! and shows all later commits of the run until then, in the order of the commits. The run waits where it must: an attempt of the
//! run does not begin before [`Placing::wait`] has returned, and its followers get a commit only when its files are there. Other
//! runs notice nothing. A crash in between loses nothing: the next engine that loads the run restores its files from the journal.
//!
//! A failure sets the run aside: the loop is sent a message, because the run may have no attempt that waits for its files,
//! and may have ended. Until the run is taken up again, everything that asks for its files gets the same error.

use crate::model::{
    message::Message,
    runner::ShowError,
    trouble::{Trouble, TroubleKind, guarded},
};
use envoi_journal::{Epoch, Reader, Store};
use envoi_kernel::ids::RunId;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc::Sender},
    thread,
};

/// A task that shows something.
pub(crate) type Task = Box<dyn FnOnce(&Reader) -> Result<(), ShowError> + Send>;

/// The large sets of files that are being placed. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Placing {
    shared: Arc<Shared>,
}

struct Shared {
    store: Arc<Store>,
    epoch: Epoch,
    /// The loop's: it sets aside the run whose files cannot be placed.
    mailbox: Sender<Message>,
    runs: Mutex<Runs>,
    changed: Condvar,
}

#[derive(Default)]
struct Runs {
    /// The tasks of a run that are still to be shown; an entry is there while its thread lives.
    left: BTreeMap<RunId, VecDeque<Task>>,
    /// Why the last thread of a run gave up, until the run is taken up again.
    failed: BTreeMap<RunId, ShowError>,
}

impl Placing {
    /// For the engine that has taken `epoch` and reads `mailbox`.
    pub(crate) fn new(store: Arc<Store>, epoch: Epoch, mailbox: Sender<Message>) -> Self {
        let runs = Mutex::default();
        let changed = Condvar::new();
        Self { shared: Arc::new(Shared { store, epoch, mailbox, runs, changed }) }
    }

    /// Whether what is to be shown of the run has to go through [`Placing::push`]: something before it is not shown yet, or
    /// never will be.
    pub(crate) fn is_behind(&self, run: &RunId) -> bool {
        let runs = self.lock();
        runs.left.contains_key(run) || runs.failed.contains_key(run)
    }

    /// The files of the run are made good, so an earlier failure does not count any more.
    pub(crate) fn forget_failure(&self, run: &RunId) {
        self.lock().failed.remove(run);
    }

    /// Has `task` done after those that the run has left, and returns at once.
    ///
    /// # Errors
    /// No thread could be started, or an earlier task of the run has failed.
    pub(crate) fn push(&self, run: &RunId, task: Task) -> Result<(), ShowError> {
        let mut runs = self.lock();
        if let Some(reason) = runs.failed.get(run) {
            return Err(reason.clone());
        }
        if let Some(tasks) = runs.left.get_mut(run) {
            tasks.push_back(task);
            return Ok(());
        }
        runs.left.insert(run.clone(), VecDeque::from([task]));
        let placing = self.clone();
        let of = run.clone();
        let spawned =
            thread::Builder::new().name("envoi-placing".to_owned()).spawn(move || placing.work(&of));
        spawned.map(drop).map_err(|error| {
            runs.left.remove(run);
            ShowError::NoThread { run: run.clone(), source: Arc::new(error) }
        })
    }

    /// Returns when nothing of the run is left to be shown.
    ///
    /// # Errors
    /// Why its files could not be placed; the same for each caller, until [`Placing::forget_failure`].
    pub(crate) fn wait(&self, run: &RunId) -> Result<(), ShowError> {
        let mut runs = self.lock();
        while runs.left.contains_key(run) {
            runs = self.shared.changed.wait(runs).unwrap_or_else(PoisonError::into_inner);
        }
        runs.failed.get(run).map_or(Ok(()), |reason| Err(reason.clone()))
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
        // Nothing is tried again here: the run's files are made good when it is taken up again. A panic is a failure like
        // any other, because others wait for this thread.
        let shown = guarded("placing the files of a run", || self.show_all(run));
        let panicked = |trouble: Trouble| Err(ShowError::Panicked { reason: trouble.reason });
        if let Err(error) = shown.unwrap_or_else(panicked) {
            tracing::error!(run = run.as_str(), "the artifacts of a run cannot be placed");
            let mut runs = self.lock();
            let left = runs.left.remove(run);
            let reason = error.to_string();
            runs.failed.insert(run.clone(), error);
            // Sent under the lock: so the loop reads this before anything that follows from the failure, above all before
            // an attempt's word that it could not begin. A loop that is gone has no use for it.
            let trouble = Trouble::new(TroubleKind::Files, reason);
            self.shared.mailbox.send(Message::Troubled { run: run.clone(), trouble }).ok();
            self.shared.changed.notify_all();
            drop(runs);
            drop(left);
        }
    }

    fn show_all(&self, run: &RunId) -> Result<(), ShowError> {
        let reader = self.shared.store.reader()?;
        while let Some(task) = self.next(run) {
            // An engine that was overtaken must not put its old files over newer ones.
            if !self.shared.store.is_current(self.shared.epoch)? {
                return Err(ShowError::Overtaken { run: run.clone() });
            }
            task(&reader)?;
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
    use std::sync::mpsc::{self, Receiver};

    fn placing() -> (tempfile::TempDir, Placing, Receiver<Message>) {
        let root = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(Layout::new(root.path().join("store"))).unwrap());
        let epoch = store.take_epoch().unwrap();
        let (mailbox, inbox) = mpsc::channel();
        (root, Placing::new(store, epoch, mailbox), inbox)
    }

    /// The troubles that the loop gets.
    fn troubles(inbox: &Receiver<Message>) -> Vec<(RunId, Trouble)> {
        let trouble = |message| match message {
            Message::Troubled { run, trouble } => Some((run, trouble)),
            _ => None,
        };
        inbox.try_iter().filter_map(trouble).collect()
    }

    #[test]
    fn a_run_waits_for_its_files_and_another_run_does_not() {
        let (_root, placing, inbox) = placing();
        let [one, other] = ["run_1", "run_2"].map(|id| RunId::new(id).unwrap());
        let ((go, gate), (said, heard)) = (mpsc::channel::<()>(), mpsc::channel());
        let first = said.clone();
        let slow = Box::new(move |_: &Reader| {
            gate.recv().unwrap();
            first.send("first").unwrap();
            Ok(())
        });
        placing.push(&one, slow).unwrap();
        let second = Box::new(move |_: &Reader| {
            said.send("second").unwrap();
            Ok(())
        });
        placing.push(&one, second).unwrap();
        assert!(placing.is_behind(&one) && !placing.is_behind(&other));
        placing.wait(&other).unwrap();
        go.send(()).unwrap();
        placing.wait(&one).unwrap();
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["first", "second"]);
        assert!(!placing.is_behind(&one) && troubles(&inbox).is_empty());
    }

    #[test]
    fn a_failure_is_the_same_for_all_until_the_run_is_taken_up_and_what_stands_behind_it_is_not_done() {
        let (_root, placing, inbox) = placing();
        let run = RunId::new("run_1").unwrap();
        let (go, gate) = mpsc::channel::<()>();
        let fails = Box::new(move |_: &Reader| {
            gate.recv().unwrap();
            Err(std::io::Error::other("no room").into())
        });
        placing.push(&run, fails).unwrap();
        placing.push(&run, Box::new(|_| panic!("it is not done"))).unwrap();
        go.send(()).unwrap();
        placing.wait_for_all();
        let no_room = || Err("no room".to_owned());
        let wait = || placing.wait(&run).map_err(|error| error.to_string());
        let push = |task: Task| placing.push(&run, task).map_err(|error| error.to_string());
        assert_eq!(troubles(&inbox), [(run.clone(), Trouble::new(TroubleKind::Files, "no room"))]);
        assert_eq!([wait(), wait()], [no_room(), no_room()]);
        assert!(placing.is_behind(&run));
        assert_eq!(push(Box::new(|_| panic!("it is not done"))), no_room());
        placing.forget_failure(&run);
        assert_eq!(wait(), Ok(()));
        placing.push(&run, Box::new(|_| Ok(()))).unwrap();
        assert_eq!(wait(), Ok(()));
        assert!(troubles(&inbox).is_empty());
    }

    #[test]
    fn a_panic_is_a_failure() {
        let (_root, placing, inbox) = placing();
        let run = RunId::new("run_1").unwrap();
        placing.push(&run, Box::new(|_| panic!("a defect"))).unwrap();
        placing.wait_for_all();
        assert!(placing.wait(&run).unwrap_err().to_string().contains("panicked"));
        assert_eq!(troubles(&inbox).len(), 1);
    }

    #[test]
    fn an_engine_that_was_overtaken_places_nothing() {
        let (_root, placing, _inbox) = placing();
        let run = RunId::new("run_1").unwrap();
        placing.shared.store.take_epoch().unwrap();
        placing.push(&run, Box::new(|_| panic!("it is not done"))).unwrap();
        assert!(placing.wait(&run).unwrap_err().to_string().contains("another engine"));
    }
}
