//! The disk under one folder: what it is told to do wrong, what it counts, and its log.
//!
//! Owns every decision; `shim` carries them out. Knows nothing of SQLite but its result codes.

use crate::{
    image::{Act, Change, Entry, Moment, Survives, image},
    shim,
};
use libsqlite3_sys::{SQLITE_FULL, SQLITE_IOERR_FSYNC, SQLITE_IOERR_WRITE};
use std::{
    collections::BTreeMap,
    ffi::c_int,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// What a disk does wrong. Numbers count from 1, over all its files, from [`Disk::plan`] on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// The sync of this number fails.
    pub fail_sync_at: Option<u64>,
    /// The write of this number fails, having written nothing.
    pub fail_write_at: Option<u64>,
    /// The write of this number fails, having written its first half.
    pub short_write_at: Option<u64>,
    /// Files may grow by so many bytes; the write that needs more writes what fits and finds the disk full.
    pub full_after_bytes: Option<u64>,
    /// Whether syncs and writes fail from the one of this number on; otherwise only that one does. A full disk stays full.
    pub for_good: bool,
    /// Every sync succeeds without making anything durable.
    pub lie_sync: bool,
}

/// The disk under the databases of one folder. It works as long as this value, or an open file on it, lives; of two for the
/// same folder, the newer one.
#[derive(Debug)]
pub struct Disk {
    root: PathBuf,
    state: Arc<Mutex<State>>,
}

impl Disk {
    /// Takes every database below an existing folder that is opened from now on.
    ///
    /// # Errors
    /// When there is no such folder, or SQLite refuses another file system.
    pub fn below(folder: &Path) -> io::Result<Self> {
        let root = fs::canonicalize(folder)?;
        let state = Arc::default();
        let mut disks = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
        disks.retain(|(_, disk)| disk.strong_count() > 0);
        disks.push((root.clone(), Arc::downgrade(&state)));
        shim::install()?;
        Ok(Self { root, state })
    }

    /// From now on does this wrong, and counts anew.
    pub fn plan(&self, faults: Faults) {
        let mut state = self.state();
        state.faults = faults;
        state.counts = Counts::default();
    }

    /// How many syncs and writes it has refused since [`Disk::plan`].
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.state().counts.refused
    }

    /// How many bytes its files have grown by since [`Disk::plan`].
    #[must_use]
    pub fn grown_bytes(&self) -> u64 {
        self.state().counts.grown_bytes
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> Moment {
        Moment(self.state().log.len())
    }

    /// The moments before each sync that made something durable, and now: the last of those between which
    /// [`Survives::Synced`] leaves the same files, but for what was removed.
    #[must_use]
    pub fn before_syncs(&self) -> Vec<Moment> {
        let state = self.state();
        let syncs = state.log.iter().enumerate().filter(|(_, entry)| matches!(entry.act, Act::Synced));
        syncs.map(|(place, _)| Moment(place)).chain([Moment(state.log.len())]).collect()
    }

    /// Writes to another folder the files that would be found if the power had failed at a moment.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn power_loss(&self, at: Moment, survives: Survives, target: &Path) -> io::Result<()> {
        let state = self.state();
        let log = state.log.get(..at.0).unwrap_or(&state.log);
        for (path, bytes) in image(log, survives) {
            let place = target.join(path.strip_prefix(&self.root).unwrap_or(path));
            if let Some(folder) = place.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(place, bytes)?;
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

static DISKS: Mutex<Vec<(PathBuf, Weak<Mutex<State>>)>> = Mutex::new(Vec::new());

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The disk that a file is on, if it is on one.
pub(crate) fn watched(path: &Path) -> Option<Watched> {
    let disks = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, disk) = disks.iter().rfind(|(root, disk)| path.starts_with(root) && disk.strong_count() > 0)?;
    Some(Watched { path: path.to_owned(), state: disk.upgrade()? })
}

/// A file on a disk.
pub(crate) struct Watched {
    path: PathBuf,
    state: Arc<Mutex<State>>,
}

/// How much of a write is to be done, and what is said afterwards; `None` when it goes well.
pub(crate) struct Verdict {
    pub(crate) len: usize,
    pub(crate) refusal: Option<c_int>,
}

impl Watched {
    /// Opens the file by `open`, whose result is SQLite's, and notes what was in it.
    pub(crate) fn open(&self, open: impl FnOnce() -> c_int) -> c_int {
        let mut state = lock(&self.state);
        // Only before SQLite has it open: closing a file lets go of every lock that the process has on it.
        let found = match state.lengths.contains_key(&self.path) {
            true => None,
            false => Some(fs::read(&self.path).unwrap_or_default()),
        };
        let said = open();
        if let (0, Some(found)) = (said, found) {
            state.lengths.insert(self.path.clone(), found.len());
            state.note(&self.path, Act::Found(found));
        }
        said
    }

    /// Writes as much as is allowed by `write`, whose result is SQLite's.
    pub(crate) fn write(&self, offset: usize, bytes: &[u8], write: impl FnOnce(&[u8]) -> c_int) -> c_int {
        let mut state = lock(&self.state);
        let Verdict { len, refusal } = state.judge_write(&self.path, offset, bytes.len());
        let allowed = bytes.get(..len).unwrap_or(bytes);
        let said = if allowed.is_empty() { 0 } else { write(allowed) };
        if said == 0 && !allowed.is_empty() {
            state.changed(&self.path, Change::Write { offset, bytes: allowed.to_vec() });
        }
        refusal.unwrap_or(said)
    }

    /// Cuts the file by `truncate`, whose result is SQLite's.
    pub(crate) fn truncate(&self, len: usize, truncate: impl FnOnce() -> c_int) -> c_int {
        let mut state = lock(&self.state);
        let said = truncate();
        if said == 0 {
            state.changed(&self.path, Change::Truncate { len });
        }
        said
    }

    /// The log is what makes it durable: the machine's own disk is not waited for.
    pub(crate) fn sync(&self) -> c_int {
        lock(&self.state).sync(&self.path)
    }

    /// Notes that the file is no more.
    pub(crate) fn removed(&self) {
        let mut state = lock(&self.state);
        state.lengths.remove(&self.path);
        state.note(&self.path, Act::Removed);
    }
}

#[derive(Debug, Default)]
struct State {
    faults: Faults,
    counts: Counts,
    /// Of the files that are there.
    lengths: BTreeMap<PathBuf, usize>,
    log: Vec<Entry>,
}

#[derive(Debug, Default)]
struct Counts {
    syncs: u64,
    writes: u64,
    grown_bytes: u64,
    refused: u64,
}

impl State {
    fn note(&mut self, path: &Path, act: Act) {
        self.log.push(Entry { path: path.to_owned(), act });
    }

    fn judge_write(&mut self, path: &Path, offset: usize, len: usize) -> Verdict {
        self.counts.writes += 1;
        let verdict = if self.strikes(self.faults.fail_write_at, self.counts.writes) {
            Verdict { len: 0, refusal: Some(SQLITE_IOERR_WRITE) }
        } else if self.strikes(self.faults.short_write_at, self.counts.writes) {
            Verdict { len: len / 2, refusal: Some(SQLITE_IOERR_WRITE) }
        } else {
            self.judge_room(path, offset, len)
        };
        self.counts.refused += u64::from(verdict.refusal.is_some());
        verdict
    }

    fn judge_room(&self, path: &Path, offset: usize, len: usize) -> Verdict {
        let room = self
            .faults
            .full_after_bytes
            .map_or(u64::MAX, |room| room.saturating_sub(self.counts.grown_bytes));
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let end = self.lengths.get(path).copied().unwrap_or(0).saturating_add(room);
        if offset.saturating_add(len) <= end {
            Verdict { len, refusal: None }
        } else {
            Verdict { len: end.saturating_sub(offset), refusal: Some(SQLITE_FULL) }
        }
    }

    fn strikes(&self, at: Option<u64>, count: u64) -> bool {
        at.is_some_and(|at| count == at || (self.faults.for_good && count > at))
    }

    fn changed(&mut self, path: &Path, change: Change) {
        let old = self.lengths.get(path).copied().unwrap_or(0);
        let new = match &change {
            Change::Write { offset, bytes } => old.max(offset.saturating_add(bytes.len())),
            Change::Truncate { len } => *len,
        };
        self.lengths.insert(path.to_owned(), new);
        let grown = u64::try_from(new.saturating_sub(old)).unwrap_or(u64::MAX);
        self.counts.grown_bytes = self.counts.grown_bytes.saturating_add(grown);
        self.note(path, Act::Changed(change));
    }

    fn sync(&mut self, path: &Path) -> c_int {
        self.counts.syncs += 1;
        if self.strikes(self.faults.fail_sync_at, self.counts.syncs) {
            self.counts.refused += 1;
            self.note(path, Act::SyncFailed);
            return SQLITE_IOERR_FSYNC;
        }
        if !self.faults.lie_sync {
            self.note(path, Act::Synced);
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "f";

    fn state(faults: Faults) -> State {
        State { faults, ..State::default() }
    }

    /// Writes so many bytes at the end, five times; how many of them were written, and what was said.
    fn writes(faults: Faults, len: usize) -> [(usize, c_int); 5] {
        let mut state = state(faults);
        [(); 5].map(|()| {
            let offset = state.lengths.get(Path::new(FILE)).copied().unwrap_or(0);
            let verdict = state.judge_write(Path::new(FILE), offset, len);
            let bytes = vec![1; verdict.len];
            state.changed(Path::new(FILE), Change::Write { offset, bytes });
            (verdict.len, verdict.refusal.unwrap_or(0))
        })
    }

    #[test]
    fn the_write_that_is_named_fails_and_those_after_it_if_it_is_for_good() {
        let (well, io) = ((4, 0), SQLITE_IOERR_WRITE);
        let fail = Faults { fail_write_at: Some(2), ..Faults::default() };
        let short = Faults { short_write_at: Some(2), ..Faults::default() };
        let rows = [
            (Faults::default(), [well; 5]),
            (fail, [well, (0, io), well, well, well]),
            (Faults { for_good: true, ..fail }, [well, (0, io), (0, io), (0, io), (0, io)]),
            (short, [well, (2, io), well, well, well]),
        ];
        for (faults, expected) in rows {
            assert_eq!(writes(faults, 4), expected, "{faults:?}");
        }
    }

    #[test]
    fn a_full_disk_takes_what_fits_and_what_does_not_grow_a_file() {
        let full = Faults { full_after_bytes: Some(10), ..Faults::default() };
        assert_eq!(writes(full, 4), [(4, 0), (4, 0), (2, SQLITE_FULL), (0, SQLITE_FULL), (0, SQLITE_FULL)]);
        let mut state = state(full);
        state.changed(Path::new(FILE), Change::Write { offset: 0, bytes: vec![0; 10] });
        let over = state.judge_write(Path::new(FILE), 2, 8);
        assert_eq!((over.len, over.refusal), (8, None));
        assert_eq!(state.judge_write(Path::new("g"), 0, 1).refusal, Some(SQLITE_FULL));
    }

    #[test]
    fn a_sync_fails_or_lies_as_planned() {
        let rows = [
            (Faults::default(), [0, 0], 2),
            (Faults { fail_sync_at: Some(1), ..Faults::default() }, [SQLITE_IOERR_FSYNC, 0], 1),
            (Faults { lie_sync: true, ..Faults::default() }, [0, 0], 0),
        ];
        for (faults, said, durable) in rows {
            let mut state = state(faults);
            assert_eq!([(); 2].map(|()| state.sync(Path::new(FILE))), said, "{faults:?}");
            let synced = state.log.iter().filter(|entry| matches!(entry.act, Act::Synced)).count();
            assert_eq!(synced, durable, "{faults:?}");
        }
    }
}
