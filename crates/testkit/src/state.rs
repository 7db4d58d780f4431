//! The state of one disk: the planned faults, the counts, and the log.
//!
//! Owns every decision about a write or a sync. Knows only the result codes of SQLite.

use crate::image::{Act, Change, Entry};
use libsqlite3_sys::{SQLITE_FULL, SQLITE_IOERR_FSYNC, SQLITE_IOERR_WRITE};
use std::{
    collections::BTreeMap,
    ffi::c_int,
    path::{Path, PathBuf},
};

/// The faults of a disk. Numbers count from 1, over all its files, since [`crate::Disk::plan`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// The sync with this number fails.
    pub fail_sync_at: Option<u64>,
    /// The write with this number fails, and writes nothing.
    pub fail_write_at: Option<u64>,
    /// The write with this number fails, after its first half.
    pub short_write_at: Option<u64>,
    /// Files may grow by this many bytes. A write that needs more writes what fits, and fails because the
    /// disk is full.
    pub full_after_bytes: Option<u64>,
    /// Whether all syncs and writes from that number on fail; otherwise only one does. A full disk stays
    /// full.
    pub for_good: bool,
    /// Every sync succeeds without making anything durable.
    pub lie_sync: bool,
}

/// How much of a write is done, and the result code if it is refused.
pub(crate) struct Verdict {
    pub(crate) len: usize,
    pub(crate) refusal: Option<c_int>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) faults: Faults,
    pub(crate) counts: Counts,
    /// The lengths of the existing files.
    pub(crate) lengths: BTreeMap<PathBuf, usize>,
    pub(crate) log: Vec<Entry>,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) syncs: u64,
    pub(crate) writes: u64,
    pub(crate) grown_bytes: u64,
    pub(crate) refused: u64,
}

impl State {
    pub(crate) fn note(&mut self, path: &Path, act: Act) {
        self.log.push(Entry { path: path.to_owned(), act });
    }

    pub(crate) fn judge_write(&mut self, path: &Path, offset: usize, len: usize) -> Verdict {
        self.counts.writes += 1;
        let verdict = if self.is_hit(self.faults.fail_write_at, self.counts.writes) {
            Verdict { len: 0, refusal: Some(SQLITE_IOERR_WRITE) }
        } else if self.is_hit(self.faults.short_write_at, self.counts.writes) {
            Verdict { len: len / 2, refusal: Some(SQLITE_IOERR_WRITE) }
        } else {
            self.judge_space(path, offset, len)
        };
        self.counts.refused += u64::from(verdict.refusal.is_some());
        verdict
    }

    fn judge_space(&self, path: &Path, offset: usize, len: usize) -> Verdict {
        let space = self
            .faults
            .full_after_bytes
            .map_or(u64::MAX, |bytes| bytes.saturating_sub(self.counts.grown_bytes));
        let space = usize::try_from(space).unwrap_or(usize::MAX);
        let end = self.lengths.get(path).copied().unwrap_or(0).saturating_add(space);
        if offset.saturating_add(len) <= end {
            Verdict { len, refusal: None }
        } else {
            Verdict { len: end.saturating_sub(offset), refusal: Some(SQLITE_FULL) }
        }
    }

    fn is_hit(&self, at: Option<u64>, count: u64) -> bool {
        at.is_some_and(|at| count == at || (self.faults.for_good && count > at))
    }

    pub(crate) fn changed(&mut self, path: &Path, change: Change) {
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

    pub(crate) fn sync(&mut self, path: &Path) -> c_int {
        self.counts.syncs += 1;
        if self.is_hit(self.faults.fail_sync_at, self.counts.syncs) {
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

    /// Writes `len` bytes at the end, five times. Returns how many were written each time, and the result
    /// code.
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
        let well = (4, 0);
        let io = SQLITE_IOERR_WRITE;
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
        for (faults, results, durable) in rows {
            let mut state = state(faults);
            assert_eq!([(); 2].map(|()| state.sync(Path::new(FILE))), results, "{faults:?}");
            let synced = state.log.iter().filter(|entry| matches!(entry.act, Act::Synced)).count();
            assert_eq!(synced, durable, "{faults:?}");
        }
    }
}
