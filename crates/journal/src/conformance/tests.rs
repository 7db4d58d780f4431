//! The real store keeps the promises, and the suite sees when one is broken.

use super::*;
use crate::{
    Layout, Store,
    log::reader::Loaded,
    model::{
        commit::Done,
        rows::{InboxFilter, InboxRow, RunFilter, RunRow},
    },
};
use envoi_contract::digest::Digest;
use envoi_kernel::ids::RunId;

struct Folder(tempfile::TempDir);

impl Folder {
    fn make() -> Box<dyn Depot> {
        Box::new(Self(tempfile::tempdir().unwrap()))
    }

    fn journal(&self) -> Result<crate::DiskJournal, String> {
        let store = Store::open(Layout::new(self.0.path())).map_err(|error| error.to_string())?;
        let epoch = store.take_epoch().map_err(|error| error.to_string())?;
        store.journal(epoch).map_err(|error| error.to_string())
    }
}

impl Depot for Folder {
    fn take(&self) -> Result<Box<dyn Journal>, Box<dyn std::error::Error>> {
        Ok(Box::new(self.journal()?))
    }
}

#[test]
fn the_store_on_disk_keeps_every_promise() {
    if let Err(failures) = check_journal(Folder::make) {
        panic!("{failures:#?}");
    }
}

/// How a store may break its promises.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Says yes and writes nothing.
    Forgets,
    /// Writes the first record of each commit only.
    Halves,
    /// Loads the events and not the snapshot.
    DropsSnapshots,
    /// Keeps content and loses its last byte.
    CutsContent,
    /// Lists runs oldest first.
    ListsBackwards,
    /// Treats a wrong place as if it were the right one.
    Overwrites,
}

struct Faulty {
    inner: Folder,
    fault: Fault,
}

struct FaultyJournal {
    inner: crate::DiskJournal,
    fault: Fault,
}

impl Depot for Faulty {
    fn take(&self) -> Result<Box<dyn Journal>, Box<dyn std::error::Error>> {
        Ok(Box::new(FaultyJournal { inner: self.inner.journal()?, fault: self.fault }))
    }
}

impl Journal for FaultyJournal {
    fn submit(&self, mut commit: Commit, done: Done) {
        match self.fault {
            Fault::Forgets => return done(Ok(Receipt { events_bytes: 1 })),
            Fault::Halves => commit.records.truncate(1),
            Fault::Overwrites => {
                let next = self.inner.load(&commit.run).map_or(0, |loaded| loaded.records.len());
                commit.expected = u64::try_from(next).unwrap();
                for (seq, record) in (commit.expected..).zip(&mut commit.records) {
                    record.seq = seq;
                }
            }
            _ => {}
        }
        self.inner.submit(commit, done);
    }

    fn put(&self, bytes: &[u8]) -> Result<Digest, BlobError> {
        self.inner.put(bytes)
    }

    fn blob(&self, digest: &Digest) -> Result<Vec<u8>, BlobError> {
        let mut bytes = self.inner.blob(digest)?;
        if matches!(self.fault, Fault::CutsContent) {
            bytes.pop();
        }
        Ok(bytes)
    }

    fn load(&self, run: &RunId) -> Result<Loaded, ReadError> {
        let loaded = self.inner.load(run)?;
        let snapshot = loaded.snapshot.clone().filter(|_| !matches!(self.fault, Fault::DropsSnapshots));
        Ok(Loaded { snapshot, ..loaded })
    }

    fn runs(&self, filter: RunFilter) -> Result<Vec<RunRow>, ReadError> {
        let mut rows = self.inner.runs(filter)?;
        if matches!(self.fault, Fault::ListsBackwards) {
            rows.reverse();
        }
        Ok(rows)
    }

    fn inbox(&self, filter: &InboxFilter) -> Result<Vec<InboxRow>, ReadError> {
        self.inner.inbox(filter)
    }

    fn closed_accounts(&self) -> Result<Vec<crate::ClosedAccount>, ReadError> {
        self.inner.closed_accounts()
    }
}

#[test]
fn a_store_that_breaks_a_promise_is_found_out() {
    let rows = [
        (Fault::Forgets, "what_was_committed_is_read_back_in_order"),
        (Fault::Halves, "what_was_committed_is_read_back_in_order"),
        (Fault::DropsSnapshots, "a_snapshot_and_its_tail_are_the_whole_run"),
        (Fault::CutsContent, "content_is_found_by_its_digest"),
        (Fault::ListsBackwards, "runs_and_questions_are_listed"),
        (Fault::Overwrites, "a_wrong_place_is_a_conflict_and_changes_nothing"),
    ];
    for (fault, promise) in rows {
        let make =
            || Box::new(Faulty { inner: Folder(tempfile::tempdir().unwrap()), fault }) as Box<dyn Depot>;
        let failures = check_journal(make).unwrap_err();
        assert!(failures.iter().any(|failure| failure.promise == promise), "{fault:?}: {failures:?}");
    }
}
