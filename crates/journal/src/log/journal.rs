//! The store as the engine's loop sees it: an interface that a simulated store can implement.
//!
//! Owns the promises of [`Journal`]; [`crate::conformance`] tests them on any implementation.

use crate::{
    folder::blobs::Blobs,
    log::{
        reader::{Loaded, Reader},
        store::Store,
        writer::Writer,
    },
    model::{
        commit::{Commit, Done, Epoch},
        error::{BlobError, CommitError, ReadError},
        rows::{ClosedAccount, InboxFilter, InboxRow, RunFilter, RunRow},
    },
};
use envoi_contract::digest::Digest;
use envoi_kernel::ids::RunId;
use std::sync::Arc;

/// The durable log, for one holder of the lease.
///
/// - A commit is all or nothing; when `done` gets success the commit is durable and every later read sees it.
/// - Commits of a run take effect in the order of submission; a wrong `expected` changes nothing.
/// - Once another holder has taken its epoch, every commit of this one is [`CommitError::Fenced`].
/// - A snapshot and the records after it are the whole run.
pub trait Journal: Send {
    /// Hands a commit over and returns at once; `done` is called once, on any thread, with its outcome.
    fn submit(&self, commit: Commit, done: Done);

    /// Stores content larger than [`crate::INLINE_MAX_BYTES`]; durable when it returns, so that a commit may refer to it.
    ///
    /// # Errors
    /// The machine's.
    fn put(&self, bytes: &[u8]) -> Result<Digest, BlobError>;

    /// The content with this digest, however it was stored, verified.
    ///
    /// # Errors
    /// [`BlobError::Missing`] or [`BlobError::Damaged`].
    fn blob(&self, digest: &Digest) -> Result<Vec<u8>, BlobError>;

    /// All that is needed to have a run again.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    fn load(&self, run: &RunId) -> Result<Loaded, ReadError>;

    /// Runs, newest first.
    ///
    /// # Errors
    /// The machine's.
    fn runs(&self, filter: RunFilter) -> Result<Vec<RunRow>, ReadError>;

    /// Questions to people, oldest first.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when the filter names a run that does not exist.
    fn inbox(&self, filter: &InboxFilter) -> Result<Vec<InboxRow>, ReadError>;

    /// The state of each account that has refused an attempt of some run, whether it is open again or not.
    ///
    /// # Errors
    /// The machine's.
    fn closed_accounts(&self) -> Result<Vec<ClosedAccount>, ReadError>;
}

/// The real store behind [`Journal`]: its writer, one reader, and content.
#[derive(Debug)]
pub struct DiskJournal {
    writer: Writer,
    reader: Reader,
    blobs: Blobs,
}

impl Store {
    /// Writer, reader and content behind the one interface that the engine's loop knows.
    ///
    /// # Errors
    /// As [`Store::writer`] and [`Store::reader`].
    pub fn journal(&self, epoch: Epoch) -> Result<DiskJournal, CommitError> {
        DiskJournal::start(self, epoch)
    }
}

impl DiskJournal {
    fn start(store: &Store, epoch: Epoch) -> Result<Self, CommitError> {
        let unreadable = |error| CommitError::Io { source: Arc::new(error), unknown: false };
        let reader = store.reader().map_err(unreadable)?;
        Ok(Self { writer: store.writer(epoch)?, reader, blobs: store.blobs() })
    }

    /// The reader, for what only a store on disk has.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The writer.
    #[must_use]
    pub fn writer(&self) -> &Writer {
        &self.writer
    }
}

impl Journal for DiskJournal {
    fn submit(&self, commit: Commit, done: Done) {
        self.writer.submit(commit, done);
    }

    fn put(&self, bytes: &[u8]) -> Result<Digest, BlobError> {
        self.blobs.put(bytes)
    }

    fn blob(&self, digest: &Digest) -> Result<Vec<u8>, BlobError> {
        self.reader.blob(digest)
    }

    fn load(&self, run: &RunId) -> Result<Loaded, ReadError> {
        self.reader.load(run)
    }

    fn runs(&self, filter: RunFilter) -> Result<Vec<RunRow>, ReadError> {
        self.reader.runs(filter)
    }

    fn inbox(&self, filter: &InboxFilter) -> Result<Vec<InboxRow>, ReadError> {
        self.reader.inbox(filter)
    }

    fn closed_accounts(&self) -> Result<Vec<ClosedAccount>, ReadError> {
        self.reader.closed_accounts()
    }
}
