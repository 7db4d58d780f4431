//! The files on our disks: which disk a file is on, and the operations that SQLite requests.

use crate::{
    image::{Act, Change},
    state::{State, Verdict},
};
use std::{
    ffi::c_int,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// All disks of this process, by their folders.
static DISKS: Mutex<Vec<(PathBuf, Weak<Mutex<State>>)>> = Mutex::new(Vec::new());

/// Puts a disk below the databases in `root`.
pub(crate) fn add(root: PathBuf, state: &Arc<Mutex<State>>) {
    let mut disks = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
    disks.retain(|(_, disk)| disk.strong_count() > 0);
    disks.push((root, Arc::downgrade(state)));
}

/// Ignores poisoning: a test that failed while it held the lock does not affect the others.
pub(crate) fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The disk of a file, if it is on one of ours.
pub(crate) fn find(path: &Path) -> Option<Watched> {
    let disks = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, disk) = disks.iter().rfind(|(root, disk)| path.starts_with(root) && disk.strong_count() > 0)?;
    Some(Watched { path: path.to_owned(), state: disk.upgrade()? })
}

/// A file on one of our disks.
pub(crate) struct Watched {
    path: PathBuf,
    state: Arc<Mutex<State>>,
}

impl Watched {
    /// Opens the file with `open`, which returns SQLite's result code, and logs its content.
    pub(crate) fn open(&self, open: impl FnOnce() -> c_int) -> c_int {
        let mut state = lock(&self.state);
        // Read before SQLite opens it: closing a file releases every lock that the process holds on it.
        let found = match state.lengths.contains_key(&self.path) {
            true => None,
            false => Some(fs::read(&self.path).unwrap_or_default()),
        };
        let result = open();
        if let (0, Some(found)) = (result, found) {
            state.lengths.insert(self.path.clone(), found.len());
            state.note(&self.path, Act::Found(found));
        }
        result
    }

    /// Writes the allowed part with `write`, which returns SQLite's result code.
    pub(crate) fn write(&self, offset: usize, bytes: &[u8], write: impl FnOnce(&[u8]) -> c_int) -> c_int {
        let mut state = lock(&self.state);
        let Verdict { len, refusal } = state.judge_write(&self.path, offset, bytes.len());
        let allowed = bytes.get(..len).unwrap_or(bytes);
        let result = if allowed.is_empty() { 0 } else { write(allowed) };
        if result == 0 && !allowed.is_empty() {
            state.changed(&self.path, Change::Write { offset, bytes: allowed.to_vec() });
        }
        refusal.unwrap_or(result)
    }

    /// Cuts the file with `truncate`, which returns SQLite's result code.
    pub(crate) fn truncate(&self, len: usize, truncate: impl FnOnce() -> c_int) -> c_int {
        let mut state = lock(&self.state);
        let result = truncate();
        if result == 0 {
            state.changed(&self.path, Change::Truncate { len });
        }
        result
    }

    /// Logs the sync. A file counts as durable by the log, so no real sync is needed.
    pub(crate) fn sync(&self) -> c_int {
        lock(&self.state).sync(&self.path)
    }

    /// Logs that the file was removed.
    pub(crate) fn removed(&self) {
        let mut state = lock(&self.state);
        state.lengths.remove(&self.path);
        state.note(&self.path, Act::Removed);
    }
}
