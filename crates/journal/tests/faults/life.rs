//! A short life of a store on a disk of ours, and what the writer said in it.

use envoi_contract::digest::Digest;
use envoi_journal::{Commit, CommitError, Epoch, Layout, Reader, Receipt, Store, Writer, conformance};
use envoi_kernel::ids::RunId;
use envoi_testkit::{Disk, Faults, Moment};
use std::{
    fs,
    sync::{Arc, mpsc},
};

/// Those that commit in it.
pub(crate) const RUNS: [&str; 3] = ["a", "b", "c"];
/// How often the store is opened.
const OPENED: usize = 2;
/// How many writers there are while it is open. Every run commits with each of them; each ends with a checkpoint, so that the next one begins the WAL anew.
const WRITERS: usize = 2;
/// How many commits all of it asks for, if nothing fails.
pub(crate) const COMMITS: usize = OPENED * WRITERS * RUNS.len();

/// A commit that was asked for, and what was said of it.
pub(crate) struct Told {
    pub(crate) run: RunId,
    /// A number of its own, which its last event and its content show.
    pub(crate) attempt: usize,
    pub(crate) outcome: Result<Receipt, CommitError>,
    /// When it was said.
    pub(crate) at: Moment,
}

pub(crate) struct Life {
    pub(crate) layout: Layout,
    pub(crate) disk: Arc<Disk>,
    pub(crate) told: Vec<Told>,
    /// The epochs that were taken, and when that was said.
    pub(crate) epochs: Vec<(Epoch, Moment)>,
    /// What else was refused: to open, to take the epoch, to read.
    pub(crate) refused: Vec<String>,
    asked: usize,
}

/// Lives it in a store that was empty, on a disk with these faults.
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

/// A disk below a store without a database.
pub(crate) fn empty(layout: &Layout) -> Disk {
    for name in ["envoi.db", "envoi.db-wal", "envoi.db-shm", "envoi.db-journal"] {
        // Most are not there; one that stays is found by the check.
        drop(fs::remove_file(layout.root().join(name)));
    }
    Disk::below(layout.root()).unwrap()
}

/// The layouts of a store and of what is left of it; made once, as a new folder takes longer than a life.
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
                // The writer takes what waits: after the first one it shall find all the others.
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

/// Two events, the last of them with the attempt's number, and content.
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
