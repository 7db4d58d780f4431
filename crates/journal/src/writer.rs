//! The one thread that writes: takes what waits, commits it together, then answers everyone.
//!
//! Owns the queue and the order of answers. What a transaction consists of is `batch`'s.

mod batch;

use crate::{
    deliveries::{Delivery, Mark},
    error::CommitError,
    notes::Note,
    store::Epoch,
};
use batch::{Transactions, Work};
use envoi_contract::digest::Digest;
use envoi_kernel::{
    event::Record,
    ids::{RunId, Seq},
};
use rusqlite::Connection;
use std::{
    collections::BTreeMap,
    fmt, io,
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

pub(crate) use batch::{check_epoch, commit_error, take_epoch};

/// Events of one run that become durable together, and what belongs to them.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The run.
    pub run: RunId,
    /// Place of the first record; the run's next one, else [`CommitError::Conflict`].
    pub expected: Seq,
    /// What happened, at least one, in order, without gaps.
    pub records: Vec<Record>,
    /// The flow that the run is pinned to: with its first commit, and never without its text.
    pub pinned: Option<PinnedFlow>,
    /// Content up to [`crate::INLINE_MAX_BYTES`] each, stored in the same transaction. Larger content is put first.
    pub blobs: Vec<(Digest, Vec<u8>)>,
    /// Who is to be told of which of these records.
    pub deliveries: Vec<Delivery>,
    /// The state after the last record, if one is due. Replaces the run's earlier one.
    pub snapshot: Option<Snapshot>,
}

/// The text of a flow as it was when a run began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedFlow {
    /// Of its canonical JSON.
    pub digest: Digest,
    /// Version of the flow language.
    pub language: u32,
    /// What to call the text in a diagnostic, such as its file's name.
    pub name: String,
    /// All of it.
    pub text: String,
    /// The texts of the flows that it names, directly or not, by their paths.
    pub parts: BTreeMap<String, String>,
}

/// The state of a run as bytes that only the kernel understands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The last record that it includes.
    pub seq: Seq,
    /// The state.
    pub state: Vec<u8>,
}

/// What a commit has cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// Bytes of its events as stored. Add them up to know when a snapshot is due.
    pub events_bytes: u64,
}

/// What a writer does while another process keeps the database locked: it tries for ever, and says so.
#[derive(Clone)]
pub struct Patience {
    /// How long one try lasts.
    pub each: Duration,
    /// Called after each try in vain, with their number so far: whether to try again. Runs on the writer's thread.
    pub waits: Arc<dyn Fn(u32) -> bool + Send + Sync>,
}

/// Called once, after COMMIT has returned. Runs on the writer's thread: it must be quick and must not panic.
pub type Done = Box<dyn FnOnce(Result<Receipt, CommitError>) + Send>;

/// The most contents of [`Writer::put`] in one transaction, and the most bytes: a few milliseconds of work.
const PORTION: usize = 512;
const PORTION_BYTES: usize = 1024 * 1024;

struct Request {
    work: Work,
    done: Done,
}

/// The way to the writer thread. Dropping it finishes what was submitted, then ends the thread.
pub struct Writer {
    requests: Option<mpsc::Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("open", &self.requests.is_some()).finish()
    }
}

impl Writer {
    pub(crate) fn start(
        conn: Connection,
        epoch: Epoch,
        patience: Option<Patience>,
    ) -> Result<Self, CommitError> {
        if let Some(patience) = &patience {
            conn.busy_timeout(patience.each).map_err(commit_error)?;
        }
        let transactions = Transactions::new(conn, epoch, patience);
        let (requests, queue) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("envoi-writer".to_owned())
            .spawn(move || serve(&transactions, &queue))
            .map_err(thread_error)?;
        Ok(Self { requests: Some(requests), thread: Some(thread) })
    }

    /// Hands a commit over and returns at once; `done` is called with its outcome.
    ///
    /// Commits are written in the order in which they were submitted. Those that wait at the same time share one
    /// transaction and one fsync; each of them succeeds or fails by itself.
    pub fn submit(&self, commit: Commit, done: Done) {
        self.hand_over(Request { work: Work::Commit(Box::new(commit)), done });
    }

    /// As [`Writer::submit`], for the outcome of a try; it counts as no event.
    pub fn mark(&self, mark: Mark, done: Done) {
        self.hand_over(Request { work: Work::Mark(mark), done });
    }

    /// As [`Writer::submit`], for what is noted of a run beside its events.
    pub fn note(&self, note: Note, done: Done) {
        self.hand_over(Request { work: Work::Note(note), done });
    }

    /// Stores small contents before the commit that names them, a little at a time, and returns when they are durable. For
    /// sets that are too many for one commit: other runs' commits are written in between. Nothing refers to what is stored if
    /// that commit never comes.
    ///
    /// # Errors
    /// [`CommitError`]; what was stored before stays.
    pub fn put(&self, blobs: Vec<(Digest, Vec<u8>)>) -> Result<(), CommitError> {
        let (mut portion, mut bytes) = (Vec::new(), 0_usize);
        for blob in blobs {
            bytes = bytes.saturating_add(blob.1.len());
            portion.push(blob);
            if portion.len() >= PORTION || bytes >= PORTION_BYTES {
                self.put_portion(std::mem::take(&mut portion))?;
                bytes = 0;
            }
        }
        if portion.is_empty() { Ok(()) } else { self.put_portion(portion) }
    }

    fn put_portion(&self, blobs: Vec<(Digest, Vec<u8>)>) -> Result<(), CommitError> {
        let (tell, told) = mpsc::channel();
        let done: Done = Box::new(move |outcome| drop(tell.send(outcome)));
        self.hand_over(Request { work: Work::Contents(blobs), done });
        told.recv().unwrap_or(Err(CommitError::Closed)).map(drop)
    }

    fn hand_over(&self, request: Request) {
        let refused = match &self.requests {
            Some(requests) => requests.send(request).err().map(|refused| refused.0),
            None => Some(request),
        };
        if let Some(request) = refused {
            (request.done)(Err(CommitError::Closed));
        }
    }

    /// Commits, and returns after fsync.
    ///
    /// # Errors
    /// [`CommitError`] says why nothing happened.
    pub fn commit(&self, commit: Commit) -> Result<Receipt, CommitError> {
        let (tell, told) = mpsc::channel();
        // Nobody else waits for the answer, so that nobody misses it.
        self.submit(commit, Box::new(move |outcome| drop(tell.send(outcome))));
        told.recv().unwrap_or(Err(CommitError::Closed))
    }

    /// Finishes what was submitted, writes the WAL back as far as readers allow, and ends the thread.
    pub fn close(mut self) {
        self.finish();
    }

    fn finish(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // A panic of a `done` has been reported by the panic hook; what was acknowledged is durable.
            drop(thread.join());
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.finish();
    }
}

/// The life of the thread: ends when the last [`Writer`] is gone and the queue is empty.
fn serve(transactions: &Transactions, queue: &mpsc::Receiver<Request>) {
    while let Ok(first) = queue.recv() {
        let (works, answers): (Vec<Work>, Vec<Done>) = std::iter::once(first)
            .chain(queue.try_iter())
            .map(|request| (request.work, request.done))
            .unzip();
        for (outcome, done) in transactions.write(&works).into_iter().zip(answers) {
            done(outcome);
        }
    }
    transactions.checkpoint();
}

fn thread_error(error: io::Error) -> CommitError {
    CommitError::Io { source: Arc::new(error), unknown: false }
}

#[cfg(test)]
mod tests;
