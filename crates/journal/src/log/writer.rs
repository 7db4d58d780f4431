//! The only thread that writes: it takes the waiting requests, commits them together, then answers each.
//!
//! Owns the queue and the order of answers. `batch` owns the contents of a transaction.

mod batch;
mod known;
mod place;

use crate::model::{
    commit::{Commit, Done, Epoch, Patience, Receipt},
    delivery::Mark,
    error::CommitError,
    import::Import,
    note::Note,
    retention::{Removal, SmallContents},
};
use batch::{Transactions, Work};
use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_kernel::ids::RunId;
use rusqlite::Connection;
use std::{
    fmt, io,
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
};

pub(crate) use batch::{check_epoch, commit_error, take_epoch};

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
    /// Commits are written in the order in which they were submitted. Commits that wait at the same time share
    /// one transaction and one fsync; each of them succeeds or fails by itself.
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

    /// Notes that a request of this id found nothing to do with the run, and returns when that is durable.
    ///
    /// # Errors
    /// [`CommitError`]; nothing was noted.
    pub fn note_done(&self, run: RunId, request: String, at: Timestamp) -> Result<(), CommitError> {
        self.do_now(Work::Note(Note::Done { run, request, at }))
    }

    /// Stores small contents before the commit that names them, a little at a time, and returns when they are durable. For
    /// sets that are too many for one commit: other runs' commits are written in between. Nothing refers to these contents if
    /// that commit never comes.
    ///
    /// # Errors
    /// [`CommitError`]; contents stored before stay.
    pub fn put(&self, blobs: Vec<(Digest, Vec<u8>)>) -> Result<(), CommitError> {
        let mut portion = Vec::new();
        let mut bytes = 0_usize;
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

    /// Commits all events of a run that was lived elsewhere, and returns after fsync. No notice is sent of any of them.
    ///
    /// # Errors
    /// [`CommitError`]; nothing of the run is there.
    pub fn import(&self, import: Import) -> Result<(), CommitError> {
        self.do_now(Work::Import(Box::new(import)))
    }

    /// Deletes runs and returns after fsync. All of them are gone, or none.
    ///
    /// # Errors
    /// [`CommitError::Malformed`] names a run that must not be deleted, and why.
    pub fn remove(&self, removal: Removal) -> Result<(), CommitError> {
        self.do_now(Work::Remove(removal))
    }

    /// Notes that the result of a run is given up; durable when it returns.
    ///
    /// # Errors
    /// [`CommitError`]
    pub fn drop_result(&self, run: RunId, at: Timestamp) -> Result<(), CommitError> {
        self.do_now(Work::Drop(run, at))
    }

    /// Brings small contents back, removes or lays them aside, a little at a time: other commits are written in between. The age of
    /// contents laid aside counts from `now` after their commit.
    ///
    /// # Errors
    /// [`CommitError`]; what was done before stays done.
    pub fn sweep(&self, wanted: &SmallContents, now: impl Fn() -> Timestamp) -> Result<(), CommitError> {
        let each = |digests: &[Digest], of: fn(Vec<Digest>) -> SmallContents| {
            digests.chunks(PORTION).try_for_each(|some| {
                self.do_now(Work::Sweep(SmallContents { at: Some(now()), ..of(some.to_vec()) }))
            })
        };
        each(&wanted.back, |back| SmallContents { back, ..SmallContents::default() })?;
        each(&wanted.gone, |gone| SmallContents { gone, ..SmallContents::default() })?;
        each(&wanted.aside, |aside| SmallContents { aside, ..SmallContents::default() })?;
        self.do_now(Work::Sweep(SmallContents { at: Some(now()), ..SmallContents::default() }))
    }

    fn put_portion(&self, blobs: Vec<(Digest, Vec<u8>)>) -> Result<(), CommitError> {
        self.do_now(Work::Contents(blobs))
    }

    fn do_now(&self, work: Work) -> Result<(), CommitError> {
        let (sender, receiver) = mpsc::channel();
        let done: Done = Box::new(move |outcome| drop(sender.send(outcome)));
        self.hand_over(Request { work, done });
        receiver.recv().unwrap_or(Err(CommitError::Closed)).map(drop)
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
    /// [`CommitError`]; then nothing happened.
    pub fn commit(&self, commit: Commit) -> Result<Receipt, CommitError> {
        let (sender, receiver) = mpsc::channel();
        // Sending fails only when the receiver is gone, and then no one waits for the outcome.
        self.submit(commit, Box::new(move |outcome| drop(sender.send(outcome))));
        receiver.recv().unwrap_or(Err(CommitError::Closed))
    }

    /// Finishes what was submitted, writes the WAL back as far as readers allow, and ends the thread.
    pub fn close(mut self) {
        self.finish();
    }

    fn finish(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // A panic of a `done` has been reported by the panic hook; acknowledged commits are durable.
            let _ = thread.join();
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
    // With a writer that has nothing more to commit nobody would find out.
    drop(transactions.check_place());
    transactions.checkpoint();
}

fn thread_error(error: io::Error) -> CommitError {
    CommitError::Io { source: Arc::new(error), unknown: false }
}

#[cfg(test)]
mod tests;
