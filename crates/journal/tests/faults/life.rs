//! A short life of a store on a simulated disk, with the replies of its writer.

use envoi_contract::digest::Digest;
use envoi_journal::{Commit, CommitError, Epoch, Layout, Reader, Receipt, Store, Writer, conformance};
use envoi_kernel::ids::RunId;
use envoi_testkit::{Disk, Faults, Moment};
use std::{
    fs,
    sync::{Arc, mpsc},
};

/// The runs that commit.
pub(crate) const RUNS: [&str; 3] = ["a", "b", "c"];
/// How often the store is opened.
const OPENED: usize = 2;
/// The number of writers, one after the other, each time it is open. Every run commits with each of them;
/// each ends with a checkpoint, so that the next one begins the WAL anew.
const WRITERS: usize = 2;
/// The number of commits that a life requests if nothing fails.
pub(crate) const COMMITS: usize = OPENED * WRITERS * RUNS.len();

/// A requested commit and the reply to it.
pub(crate) struct Told {
    pub(crate) run: RunId,
    /// A unique number that its last event and its content hold.
    pub(crate) attempt: usize,
    pub(crate) outcome: Result<Receipt, CommitError>,
    /// When the reply came.
    pub(crate) at: Moment,
}

pub(crate) struct Life {
    pub(crate) layout: Layout,
    pub(crate) disk: Arc<Disk>,
    pub(crate) told: Vec<Told>,
    /// The epochs that were taken, and when.
    pub(crate) epochs: Vec<(Epoch, Moment)>,
    /// Other operations that were refused: opening, taking the epoch, reading.
    pub(crate) refused: Vec<String>,
    asked: usize,
}

/// Runs a life on an empty store, on a disk with these faults.
pub(crate) fn live(layout: &Layout, faults: Faults) -> Life {
    let disk = empty(layout);
    disk.plan(faults);
    let mut life = Life {
        layout: layout.clone(),
        disk: Arc::new(disk),
        told: Vec::new(),
        epochs: Vec::new(),
        refused: Vec::new(),
        asked: 0,
    };
    for _ in 0..OPENED {
        if let Err(error) = life.open() {
            life.refused.push(error.to_string());
        }
    }
    life
}

/// Returns a disk below a store whose database was removed.
pub(crate) fn empty(layout: &Layout) -> Disk {
    for name in ["envoi.db", "envoi.db-wal", "envoi.db-shm", "envoi.db-journal"] {
        // Most of these files do not exist. The check finds one that could not be removed.
        drop(fs::remove_file(layout.root().join(name)));
    }
    Disk::below(layout.root()).unwrap()
}

/// The layouts of a store and of its state after a power failure. Made once, because creating a folder takes
/// longer than a life.
pub(crate) struct Place {
    pub(crate) store: Layout,
    pub(crate) left: Layout,
    _folder: tempfile::TempDir,
}

pub(crate) fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let [store, left] = ["store", "left"].map(|name| Layout::new(folder.path().join(name)));
    store.create().unwrap();
    left.create().unwrap();
    Place { store, left, _folder: folder }
}

/// The content that a commit brings.
pub(crate) fn content(attempt: usize) -> Vec<u8> {
    format!("{attempt:>500}").into_bytes()
}

impl Life {
    fn open(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        let store = Store::open(self.layout.clone())?;
        let reader = store.reader()?;
        for _ in 0..WRITERS {
            let epoch = store.take_epoch()?;
            self.epochs.push((epoch, self.disk.now()));
            let writer = store.writer(epoch)?;
            self.round(&writer, &reader);
            writer.close();
        }
        Ok(())
    }

    /// Every run commits: the first one alone, the others in one transaction.
    fn round(&mut self, writer: &Writer, reader: &Reader) {
        let (tell, told) = mpsc::channel();
        let (go, wait) = mpsc::channel::<()>();
        let mut wait = Some(wait);
        for name in RUNS {
            let run = conformance::run(name).unwrap();
            self.asked += 1;
            let (attempt, commit) = (self.asked, commit(&run, length(reader, &run), self.asked));
            let (tell, wait, disk) = (tell.clone(), wait.take(), Arc::clone(&self.disk));
            let done = move |outcome| {
                tell.send(Told { run, attempt, outcome, at: disk.now() }).unwrap();
                // Waits for the first commit, so that the writer finds all the others in its queue and puts
                // them in one transaction.
                wait.map(|wait| wait.recv());
            };
            writer.submit(commit, Box::new(done));
            if name == RUNS[0] {
                self.told.push(told.recv().unwrap());
            }
        }
        drop((tell, go));
        self.told.extend(told);
    }
}

fn length(reader: &Reader, run: &RunId) -> u64 {
    reader.load(run).map_or(0, |loaded| u64::try_from(loaded.records.len()).unwrap())
}

/// A commit with two events and content. The last event holds the attempt's number.
fn commit(run: &RunId, seq: u64, attempt: usize) -> Commit {
    let first = match seq {
        0 => conformance::started(run).unwrap(),
        _ => conformance::timer_set(&format!("a{attempt}")).unwrap(),
    };
    let last = conformance::timer_set(&format!("b{attempt}")).unwrap();
    let content = content(attempt);
    let blobs = vec![(Digest::of(&content), content)];
    Commit { blobs, ..conformance::commit(run, seq, [first, last]) }
}
