//! The store as a whole: opened once a process, handing out the writer, readers and content.

use crate::{
    blobs::Blobs,
    error::{CommitError, OpenError, ReadError},
    journal::DiskJournal,
    layout::Layout,
    reader::Reader,
    schema,
    writer::{self, Writer},
};
use std::{fmt, sync::Arc};

/// The number of a holder of the engine's lease; each new one is larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A store whose schema is up to date. Holds no connection; cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    layout: Layout,
    blobs: Blobs,
}

impl Store {
    /// Makes the folder and the database where they are missing, and brings the schema up to date.
    ///
    /// # Errors
    /// [`OpenError`]: a newer store, another's migration, damage, or the machine.
    pub fn open(layout: Layout) -> Result<Self, OpenError> {
        layout
            .create()
            .map_err(|error| OpenError::Io { path: layout.root().to_owned(), source: Arc::new(error) })?;
        schema::open(&layout.db())?;
        let blobs = Blobs::new(layout.clone());
        Ok(Self { layout, blobs })
    }

    /// Where everything lies.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Content by digest.
    #[must_use]
    pub fn blobs(&self) -> Blobs {
        self.blobs.clone()
    }

    /// Fences every earlier holder and returns the new holder's number. To be called by who has the lease.
    ///
    /// Returns after fsync: from then on no writer of an earlier epoch commits anything.
    ///
    /// # Errors
    /// [`CommitError::Busy`] when another engine was stopped within a transaction; otherwise the machine.
    pub fn take_epoch(&self) -> Result<Epoch, CommitError> {
        writer::take_epoch(&self.layout.db())
    }

    /// Starts the writer thread of this holder. A process has one.
    ///
    /// # Errors
    /// [`CommitError::Io`] when the database or the thread cannot be had.
    pub fn writer(&self, epoch: Epoch) -> Result<Writer, CommitError> {
        Writer::start(&self.layout.db(), epoch)
    }

    /// A connection of its own for reading; sees what was committed before each call.
    ///
    /// # Errors
    /// [`ReadError::Io`] when the database cannot be opened.
    pub fn reader(&self) -> Result<Reader, ReadError> {
        Reader::open(&self.layout.db(), self.blobs())
    }

    /// Writer, reader and content behind the one interface that the engine's loop knows.
    ///
    /// # Errors
    /// As [`Store::writer`] and [`Store::reader`].
    pub fn journal(&self, epoch: Epoch) -> Result<DiskJournal, CommitError> {
        DiskJournal::start(self, epoch)
    }
}
