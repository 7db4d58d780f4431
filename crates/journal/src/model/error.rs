//! Errors of the store: one enum per operation family, and a class for what a caller may do.

use envoi_contract::digest::Digest;
use std::{error::Error, io, path::PathBuf, sync::Arc};

/// The error of the database or the machine, shared by all commits of one transaction.
pub type Cause = Arc<dyn Error + Send + Sync>;

/// How a caller may react to an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The same call may succeed later, or after space was freed.
    Retry,
    /// The caller must change the call: repeating it unchanged fails again.
    Reject,
    /// A defect of this program, or damage.
    Bug,
}

/// An error with its causes. A cause whose text is part of the message already is not repeated.
#[must_use]
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.map(ToString::to_string).fold(error.to_string(), |text, cause| {
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A newer version of this program has used the store. Use that version.
    #[error(
        "the store in `{path}` has schema {found}, this program knows up to {known}: use a newer version"
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Last migration applied to it.
        found: u32,
        /// Last migration known here.
        known: u32,
    },
    /// An older version of this program has used the store, and a read-only open does not migrate it.
    #[error(
        "the store in `{path}` has schema {found}, this program reads {known}: `envoi doctor` migrates it"
    )]
    Older {
        /// The database.
        path: PathBuf,
        /// Last migration applied to it; 0 for none.
        found: u32,
        /// Last migration known here.
        known: u32,
    },
    /// The store has an older schema and another process is its engine. That engine may only know the older
    /// schema, so the store is not migrated while the engine runs.
    #[error(
        "the store in `{path}` has schema {found} and is in use by an engine that may know no other: it is migrated to {known} once that engine has ended"
    )]
    OlderInUse {
        /// The database.
        path: PathBuf,
        /// Last migration applied to it.
        found: u32,
        /// Last migration known here.
        known: u32,
    },
    /// The last commits are in the WAL file beside the database. SQLite cannot read them where it may not
    /// write. Cure: the owner opens the store once, or the folder is copied to a writable place.
    #[error(
        "the store in `{path}` cannot be read without writing: its last commits wait in `envoi.db-wal`, and its folder is read-only"
    )]
    Unfinished {
        /// The database.
        path: PathBuf,
    },
    /// An applied migration differs from the known migration of the same number, so the schema cannot be
    /// trusted.
    #[error("migration {version} of the store in `{path}` is not the one this program knows")]
    Checksum {
        /// The database.
        path: PathBuf,
        /// The number of the migration.
        version: u32,
    },
    /// Another process kept the database locked for five seconds.
    #[error("the store in `{path}` is busy: another process holds a transaction open")]
    Busy {
        /// The database.
        path: PathBuf,
    },
    /// The file is no database, or a damaged one.
    #[error("the store in `{path}` is damaged: {source}")]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// The error of SQLite.
        source: Cause,
    },
    /// The store is a copy, and the original is still there. It may be read. To use it, adopt it first
    /// ([`crate::Store::adopt`]).
    #[error("the store in `{path}` is a copy of the one in `{original}`, which is still there")]
    Copied {
        /// The folder of the copy.
        path: PathBuf,
        /// The folder of the original.
        original: PathBuf,
    },
    /// The database belongs to another user. It may be read if the file's mode allows it. Files that this
    /// process would write there could not be read by the owner.
    #[error("the store in `{path}` belongs to user {owner}, and this process is user {user}")]
    OfAnother {
        /// The database.
        path: PathBuf,
        /// The user id of its owner.
        owner: u32,
        /// The effective user id of this process.
        user: u32,
    },
    /// The path of the database, or of a file that SQLite keeps beside it, is not a regular file.
    #[error("the store cannot be opened: `{path}` is {kind}, and no file")]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// The kind of object at that path, in words.
        kind: &'static str,
    },
    /// An operation of the file system failed.
    #[error("the store in `{path}` cannot be opened: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the machine.
        source: Cause,
    },
}

impl OpenError {
    /// How a caller may react.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Busy { .. } | Self::OlderInUse { .. } | Self::Io { .. } => Class::Retry,
            Self::Newer { .. }
            | Self::Older { .. }
            | Self::Unfinished { .. }
            | Self::Copied { .. }
            | Self::OfAnother { .. }
            | Self::NotAFile { .. } => Class::Reject,
            Self::Checksum { .. } | Self::Corrupt { .. } => Class::Bug,
        }
    }
}

/// Why a commit failed. No part of it is visible, unless [`CommitError::is_unknown`].
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// Another engine has taken over. This one must not start or acknowledge anything further.
    #[error("another engine has taken over: epoch {current} has replaced {ours}")]
    Fenced {
        /// The epoch of this writer.
        ours: u64,
        /// The epoch that holds now.
        current: u64,
    },
    /// Another writer has committed to the run. The caller has to load the run again.
    #[error("the run's next event is {found}, not {expected}")]
    Conflict {
        /// The sequence number that the caller expected.
        expected: u64,
        /// The next sequence number of the run.
        found: u64,
    },
    /// The disk is full, or the database has reached its own limit. The run is unchanged. Free space and try
    /// again.
    #[error("disk full: the journal could not be written: {source}")]
    Full {
        /// The error of SQLite.
        source: Cause,
    },
    /// Another process kept the database locked for five seconds, such as an engine that was suspended within
    /// a transaction.
    #[error("the store stays busy: another process holds a transaction open")]
    Busy,
    /// An I/O operation failed. If it failed within COMMIT, the outcome is unknown until the run is loaded
    /// again.
    #[error("the journal could not be written: {source}")]
    Io {
        /// The error of SQLite.
        source: Cause,
        /// Whether COMMIT itself failed, so that a crash might still show this commit.
        unknown: bool,
    },
    /// Another program has put other files at the path of the database, so a commit would be lost with this process.
    /// The commits so far were saved if that was possible: the text says where. This writer never commits again.
    #[error("{source}")]
    Replaced {
        /// Which file, and where the commits are.
        source: Cause,
    },
    /// The commit is inconsistent, and a reader could not decode it. A defect of the caller.
    #[error("the commit is malformed: {reason}")]
    Malformed {
        /// The inconsistency.
        reason: String,
    },
    /// The writer has ended.
    #[error("the writer has ended")]
    Closed,
}

impl CommitError {
    /// How a caller may react.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Full { .. } | Self::Busy | Self::Io { .. } => Class::Retry,
            Self::Fenced { .. } | Self::Replaced { .. } | Self::Closed => Class::Reject,
            Self::Conflict { .. } | Self::Malformed { .. } => Class::Bug,
        }
    }

    /// Whether the commit may be found after a crash although it was not acknowledged.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Io { unknown: true, .. })
    }
}

/// Why a read failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is no such run, hand-off or interrupt.
    #[error("there is no {what} `{id}`")]
    Missing {
        /// The kind of object: run, hand-off or interrupt.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// A row cannot be decoded. `envoi repair` gives details.
    #[error("{what} is damaged: {source}")]
    Damaged {
        /// The row.
        what: String,
        /// Why it cannot be decoded.
        source: Cause,
    },
    /// Content could not be read by its digest.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// Another process kept the database locked for five seconds.
    #[error("the store stays busy: another process holds a transaction open")]
    Busy,
    /// An I/O operation failed.
    #[error("the store cannot be read: {source}")]
    Io {
        /// The error of SQLite.
        source: Cause,
    },
}

impl ReadError {
    /// How a caller may react.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Missing { .. } => Class::Reject,
            Self::Damaged { .. } => Class::Bug,
            Self::Blob(error) => error.class(),
            Self::Busy | Self::Io { .. } => Class::Retry,
        }
    }
}

/// Why content could not be stored or read by its digest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlobError {
    /// It was never stored, or it was removed.
    #[error("content `{digest}` is not in the store")]
    Missing {
        /// The digest of the wanted content.
        digest: Digest,
    },
    /// The content found does not have the expected digest.
    #[error("content `{expected}` is damaged: what is in `{place}` has digest `{found}`")]
    Damaged {
        /// The digest of the wanted content.
        expected: Digest,
        /// The digest of the content found.
        found: Digest,
        /// The file, or the database.
        place: PathBuf,
    },
    /// The path is a folder, a pipe, a link or a device, not a regular file.
    #[error("content `{expected}` is damaged: what is in `{place}` is not a regular file")]
    NotRegular {
        /// The digest of the wanted content.
        expected: Digest,
        /// The path where the content is expected.
        place: PathBuf,
    },
    /// A file to be stored differs from its announced size or digest: it was changed or truncated meanwhile.
    #[error(
        "`{path}` is not what was announced: it has {found_bytes} bytes and digest `{found}`, not {expected_bytes} and `{expected}`"
    )]
    Mismatch {
        /// The file.
        path: PathBuf,
        /// The announced digest.
        expected: Digest,
        /// The actual digest.
        found: Digest,
        /// The announced size.
        expected_bytes: u64,
        /// The actual size.
        found_bytes: u64,
    },
    /// The database failed.
    #[error("the store cannot be read: {source}")]
    Store {
        /// The error of SQLite.
        source: Cause,
    },
    /// An operation of the file system failed.
    #[error("`{path}` cannot be read or written: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the machine.
        source: io::Error,
    },
}

impl BlobError {
    /// How a caller may react.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Missing { .. } | Self::Damaged { .. } | Self::NotRegular { .. } => Class::Bug,
            Self::Mismatch { .. } => Class::Reject,
            Self::Store { .. } | Self::Io { .. } => Class::Retry,
        }
    }
}

/// Why a file that mirrors an event could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The content could not be read.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The event it mirrors could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// An operation of the file system failed.
    #[error("`{path}` cannot be written: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the machine.
        source: io::Error,
    },
}

impl FileError {
    /// How a caller may react.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Blob(error) => error.class(),
            Self::Read(error) => error.class(),
            Self::Io { .. } => Class::Retry,
        }
    }
}
