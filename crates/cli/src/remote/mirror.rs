//! Copies of the runs that a command reads, in a temporary store.
//!
//! Its rows are derived from the events by the same code as on the server, so readers of a store see these
//! runs as they are there. No other user can read it, and it is removed at the end. If a process is killed,
//! the next one removes its folder ([`folder`]).

mod folder;

use crate::process::{environment, failure::Failure};
use envoi_journal::{Commit, Layout, PinnedFlow, Reader, Store, Writer};
use envoi_kernel::{
    Record,
    ids::{RunId, Seq},
};
use folder::Folder;
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The folder of this process, for code that ends the process at once.
static FOLDER: Mutex<Option<PathBuf>> = Mutex::new(None);

/// A store with copies of runs.
pub(crate) struct Mirror {
    store: Arc<Store>,
    runs: Mutex<BTreeMap<RunId, MirroredRun>>,
    /// Closed before the folder is removed.
    writer: Writer,
    _folder: Folder,
}

/// The copied part of a run.
struct MirroredRun {
    pinned: PinnedFlow,
    /// It is not in the store yet.
    is_new: bool,
    next: Seq,
}

impl Mirror {
    pub(crate) fn new() -> Result<Self, Failure> {
        let folder = Folder::new(&environment::private_dir())?;
        *FOLDER.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder.path().to_owned());
        let failed = |error: &dyn std::fmt::Display| Failure::machine(folder.path().display(), error);
        let store = Store::open(Layout::new(folder.path())).map_err(|error| failed(&error))?.as_mirror();
        let epoch = store.take_epoch().map_err(|error| failed(&error))?;
        let writer = store.writer(epoch).map_err(|error| failed(&error))?;
        Ok(Self { store: Arc::new(store), runs: Mutex::default(), writer, _folder: folder })
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub(crate) fn reader(&self) -> Result<Reader, Failure> {
        self.store.reader().map_err(Failure::store)
    }

    /// The flow of a run, if it is known.
    pub(crate) fn flow(&self, run: &RunId) -> Option<PinnedFlow> {
        self.lock().get(run).map(|brought| brought.pinned.clone())
    }

    /// Prepares the copy of a run that is pinned to this flow.
    pub(crate) fn begin(&self, run: &RunId, pinned: PinnedFlow) {
        self.lock().entry(run.clone()).or_insert(MirroredRun { pinned, is_new: true, next: 0 });
    }

    /// Records that the flow of a run was corrected. `pinned` is the new flow with the earlier ones.
    pub(crate) fn learn(&self, run: &RunId, pinned: PinnedFlow) {
        if let Some(brought) = self.lock().get_mut(run) {
            (brought.pinned, brought.is_new) = (pinned, true);
        }
    }

    /// The sequence number of the next event of the run to copy.
    pub(crate) fn next(&self, run: &RunId) -> Seq {
        self.lock().get(run).map_or(0, |brought| brought.next)
    }

    /// Stores the new ones of these events. The copy must have been begun, and the events have no gaps.
    pub(crate) fn take(&self, run: &RunId, records: &[Record]) -> Result<(), Failure> {
        let mut runs = self.lock();
        let Some(brought) = runs.get_mut(run) else { return Ok(()) };
        let new: Vec<Record> = records.iter().filter(|record| record.seq >= brought.next).cloned().collect();
        let Some(last) = new.last().map(|record| record.seq) else { return Ok(()) };
        let commit = Commit {
            run: run.clone(),
            expected: brought.next,
            records: new,
            pinned: brought.is_new.then(|| brought.pinned.clone()),
            blobs: Vec::new(),
            deliveries: Vec::new(),
            snapshot: None,
        };
        self.writer.commit(commit).map_err(Failure::store)?;
        (brought.next, brought.is_new) = (last.saturating_add(1), false);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, MirroredRun>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the copies. For code that ends the process in the middle of its work.
pub(crate) fn forget() {
    // A signal is handled on its own thread, and this lock is held only for a moment.
    if let Some(folder) = FOLDER.lock().unwrap_or_else(PoisonError::into_inner).take() {
        folder::remove(&folder);
    }
}

/// Removes the folders that killed processes have left.
pub(crate) fn sweep() {
    folder::sweep(&environment::private_dir());
}
