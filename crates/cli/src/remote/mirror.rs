//! The runs that a command looks at, brought here: a store of its own that lasts as long as the command.
//!
//! Its rows are folded from the events by the same code as those of the server's store, so that whatever reads a store
//! reads these runs as they are there. No other user can read it, and nothing of it is left; what a process leaves that is
//! killed, the next one removes ([`folder`]).

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

/// See the module.
pub(crate) struct Mirror {
    store: Arc<Store>,
    runs: Mutex<BTreeMap<RunId, MirroredRun>>,
    /// Closed before the folder goes.
    writer: Writer,
    _folder: Folder,
}

/// How much of a run is here.
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

    /// The flow of a run, once it is known.
    pub(crate) fn flow(&self, run: &RunId) -> Option<PinnedFlow> {
        self.lock().get(run).map(|brought| brought.pinned.clone())
    }

    /// This run is going to be brought; it is pinned to that flow.
    pub(crate) fn begin(&self, run: &RunId, pinned: PinnedFlow) {
        self.lock().entry(run.clone()).or_insert(MirroredRun { pinned, is_new: true, next: 0 });
    }

    /// Its flow was corrected; this is the one to which it is pinned now, with those before.
    pub(crate) fn learn(&self, run: &RunId, pinned: PinnedFlow) {
        if let Some(brought) = self.lock().get_mut(run) {
            (brought.pinned, brought.is_new) = (pinned, true);
        }
    }

    /// The place of the first event of a run that is not here.
    pub(crate) fn next(&self, run: &RunId) -> Seq {
        self.lock().get(run).map_or(0, |brought| brought.next)
    }

    /// Keeps what is new of these events of a run that was begun; they have no gaps.
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

/// Removes what was brought. For code that ends the process in the middle of its work.
pub(crate) fn forget() {
    // A signal is obeyed on a thread of its own: this is held for a moment only.
    if let Some(folder) = FOLDER.lock().unwrap_or_else(PoisonError::into_inner).take() {
        folder::remove(&folder);
    }
}

/// Removes what others have left who were killed.
pub(crate) fn sweep() {
    folder::sweep(&environment::private_dir());
}
