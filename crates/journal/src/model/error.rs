//! What can go wrong with the store, one enum an operation family, and what a caller may do about it.

use envoi_contract::digest::Digest;
use std::{error::Error, io, path::PathBuf, sync::Arc};

/// The error of the database or the machine, shared by all commits of one transaction.
pub type Cause = Arc<dyn Error + Send + Sync>;

/// What a caller may do after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The same again, later or after someone made room, may succeed.
    Retry,
    /// The caller's to change: repeating it unchanged fails again.
    Reject,
    /// A defect of ours, or damage.
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
    /// An older version of this program has used the store, and who only reads does not migrate it.
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
    /// Another process is the engine of an older store, so that it may be of the version that made it: it is not migrated
    /// while that one is at work.
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
    /// The last commits wait in the file beside the database, and cannot be read where nothing may be written. Let its
    /// owner open the store once, or copy the folder to where it may be written.
    #[error(
        "the store in `{path}` cannot be read without writing: its last commits wait in `envoi.db-wal`, and its folder is read-only"
    )]
    Unfinished {
        /// The database.
        path: PathBuf,
    },
    /// A migration was applied that is not the one known by its number, so nothing about the schema can be relied on.
    #[error("migration {version} of the store in `{path}` is not the one this program knows")]
    Checksum {
        /// The database.
        path: PathBuf,
        /// Which migration.
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
    /// The store is a copy, and the one that it was copied from is still there. It may be read; to be used, it has to be
    /// adopted first ([`crate::Store::adopt`]).
    #[error("the store in `{path}` is a copy of the one in `{original}`, which is still there")]
    Copied {
        /// The folder of the copy.
        path: PathBuf,
        /// The folder of the original.
        original: PathBuf,
    },
    /// The database belongs to another user. It may be read, by whom the file's mode lets; what this process would write there, its
    /// owner could not read.
    #[error("the store in `{path}` belongs to user {owner}, and this process is user {user}")]
    OfAnother {
        /// The database.
        path: PathBuf,
        /// The user id of its owner.
        owner: u32,
        /// The effective user id of this process.
        user: u32,
    },
    /// Something else stands in the place of the database, or of a file that SQLite keeps beside it.
    #[error("the store cannot be opened: `{path}` is {kind}, and no file")]
    NotAFile {
        /// What is no file.
        path: PathBuf,
        /// What it is, in words.
        kind: &'static str,
    },
    /// The machine refused.
    #[error("the store in `{path}` cannot be opened: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the machine.
        source: Cause,
    },
}

impl OpenError {
    /// What a caller may do.
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

/// Why a commit did not happen. Nothing of it is visible, unless [`CommitError::is_unknown`].
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
    /// The run has gone on without the caller, who has to load it again.
    #[error("the run's next event is {found}, not {expected}")]
    Conflict {
        /// The place the caller wanted to write to.
        expected: u64,
        /// The place that is next.
        found: u64,
    },
    /// The disk, or the database's own limit, is full. The run stands where it stood; make room and ask again.
    #[error("disk full: the journal could not be written: {source}")]
    Full {
        /// The error of SQLite.
        source: Cause,
    },
    /// Another process kept the database locked for five seconds: an engine that was stopped within a transaction.
    #[error("the store stays busy: another process holds a transaction open")]
    Busy,
    /// The machine failed. If it failed within COMMIT, the outcome is unknown until the run is loaded again.
    #[error("the journal could not be written: {source}")]
    Io {
        /// The error of SQLite.
        source: Cause,
        /// Whether COMMIT itself failed, so that a crash might still show this commit.
        unknown: bool,
    },
    /// The commit contradicts itself, so that a reader could not understand it. A defect of the caller.
    #[error("the commit is malformed: {reason}")]
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
    /// The writer has ended.
    #[error("the writer has ended")]
    Closed,
}

impl CommitError {
    /// What a caller may do.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Full { .. } | Self::Busy | Self::Io { .. } => Class::Retry,
            Self::Fenced { .. } | Self::Closed => Class::Reject,
            Self::Conflict { .. } | Self::Malformed { .. } => Class::Bug,
        }
    }

    /// Whether the commit may be found after a crash although it was not acknowledged.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Io { unknown: true, .. })
    }
}

/// Why something could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is no such run, hand-off or interrupt.
    #[error("there is no {what} `{id}`")]
    Missing {
        /// What kind of thing.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// A row cannot be understood. `envoi repair` says more.
    #[error("{what} is damaged: {source}")]
    Damaged {
        /// Which row.
        what: String,
        /// What was wrong with it.
        source: Cause,
    },
    /// Content could not be read by its digest.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// Another process kept the database locked for five seconds.
    #[error("the store stays busy: another process holds a transaction open")]
    Busy,
    /// The machine failed.
    #[error("the store cannot be read: {source}")]
    Io {
        /// The error of SQLite.
        source: Cause,
    },
}

impl ReadError {
    /// What a caller may do.
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
    /// What is there is not what was stored.
    #[error("content `{expected}` is damaged: what is in `{place}` has digest `{found}`")]
    Damaged {
        /// The digest of the wanted content.
        expected: Digest,
        /// What is there.
        found: Digest,
        /// The file, or the database.
        place: PathBuf,
    },
    /// What is there is a folder, a pipe, a link or a device: something else than was stored.
    #[error("content `{expected}` is damaged: what is in `{place}` is not a regular file")]
    NotRegular {
        /// The digest of the wanted content.
        expected: Digest,
        /// Where it should lie.
        place: PathBuf,
    },
    /// A file to be stored is not the one that was announced; it was changed meanwhile, or cut short.
    #[error(
        "`{path}` is not what was announced: it has {found_bytes} bytes and digest `{found}`, not {expected_bytes} and `{expected}`"
    )]
    Mismatch {
        /// The file.
        path: PathBuf,
        /// The announced digest.
        expected: Digest,
        /// The digest it has.
        found: Digest,
        /// The announced size.
        expected_bytes: u64,
        /// The size it has.
        found_bytes: u64,
    },
    /// The database failed.
    #[error("the store cannot be read: {source}")]
    Store {
        /// The error of SQLite.
        source: Cause,
    },
    /// The machine failed.
    #[error("`{path}` cannot be read or written: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the machine.
        source: io::Error,
    },
}

impl BlobError {
    /// What a caller may do.
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
    /// The content is not there.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The event it mirrors could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The machine failed.
    #[error("`{path}` cannot be written: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the machine.
        source: io::Error,
    },
}

impl FileError {
    /// What a caller may do.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Blob(error) => error.class(),
            Self::Read(error) => error.class(),
            Self::Io { .. } => Class::Retry,
        }
    }
}
