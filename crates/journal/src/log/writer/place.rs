//! Whether the files at the path of the database are still those that the writer has open.
//!
//! A step may replace them: `git stash -a` removes `.envoi`, and `git stash pop` puts copies there. SQLite goes on with the
//! removed files, so later commits would be acknowledged and gone with the process. A database that was removed or moved
//! with its project, and not replaced, is another case: the engine looks for that itself.

use crate::{log::idle_connections::FileId, model::commit::Epoch, model::error::CommitError};
use rusqlite::Connection;
use std::{
    cell::{Cell, RefCell},
    fs, io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The database, as this connection opened it.
pub(super) struct Place {
    /// `None` for a database in memory.
    db: Option<PathBuf>,
    opened: Cell<Option<Files>>,
    /// The first thing that was found wrong. It stays: this connection never commits again.
    replaced: RefCell<Option<Arc<Replaced>>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Files {
    db: FileId,
    /// `None` before the first commit of a new database.
    wal: Option<FileId>,
}

/// Another program has replaced the files of the database.
#[derive(Debug, Clone, thiserror::Error)]
#[error("another program has replaced `{}` while the engine was using it, and nothing more is committed. {outcome}", file.display())]
struct Replaced {
    file: PathBuf,
    outcome: String,
}

impl Place {
    pub(super) fn of(conn: &Connection) -> Self {
        let db = conn.path().filter(|path| !path.is_empty()).map(PathBuf::from);
        Self { db, opened: Cell::new(None), replaced: RefCell::new(None) }
    }

    /// To be called outside of a transaction. If the files were replaced, the commits so far are saved first.
    ///
    /// # Errors
    /// [`CommitError::Replaced`] if the files were replaced. Nothing may be committed.
    pub(super) fn check(&self, conn: &Connection, epoch: Epoch) -> Result<(), CommitError> {
        let Some(db) = &self.db else { return Ok(()) };
        if let Some(replaced) = self.replaced.borrow().clone() {
            return Err(CommitError::Replaced { source: replaced });
        }
        // A database that is not there was moved or removed. If this fails otherwise, SQLite finds out too.
        let Ok(file) = FileId::of(db) else { return Ok(()) };
        let log = log_of(db);
        let now = Files { db: file, wal: FileId::of(&log).ok() };
        let replaced = match self.opened.get() {
            Some(before) if before.db != now.db => {
                Replaced { file: db.clone(), outcome: saved(conn, db, epoch) }
            }
            Some(before) if before.wal.is_some() && before.wal != now.wal => {
                Replaced { file: log, outcome: written_back(conn) }
            }
            _ => {
                self.opened.set(Some(now));
                return Ok(());
            }
        };
        let replaced = Arc::new(replaced);
        *self.replaced.borrow_mut() = Some(Arc::clone(&replaced));
        Err(CommitError::Replaced { source: replaced })
    }
}

/// The write-ahead log of a database.
fn log_of(db: &Path) -> PathBuf {
    let mut log = db.as_os_str().to_owned();
    log.push("-wal");
    PathBuf::from(log)
}

/// Copies the removed database, with all commits, to a file beside its path.
fn saved(conn: &Connection, db: &Path, epoch: Epoch) -> String {
    let copy = db.with_file_name(format!("envoi.db.kept-{}", epoch.0));
    let made = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&copy);
    let copied = made.and_then(|_| {
        let copied = conn.execute("VACUUM INTO ?1", [copy.to_string_lossy()]);
        copied.map(drop).map_err(io::Error::other)
    });
    match copied {
        Ok(()) => format!(
            "All that it had committed is in `{}`: see docs/store.md, \"A store that a step replaces\"",
            copy.display()
        ),
        Err(error) => {
            format!("What it had committed since could not be saved in `{}`: {error}", copy.display())
        }
    }
}

/// Writes the commits of a removed log into the database.
fn written_back(conn: &Connection) -> String {
    let written = conn.query_row("PRAGMA wal_checkpoint(FULL)", [], |row| row.get::<_, i64>(0));
    match written {
        Ok(0) => "All that it had committed was written into the database".to_owned(),
        Ok(_) => "Its commits since could not be written into the database: it is in use".to_owned(),
        Err(error) => format!("Its commits since could not be written into the database: {error}"),
    }
}
