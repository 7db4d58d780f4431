//! Reading what was committed: runs, their events, hand-offs, questions, content.
//!
//! Owns a connection that never writes. Each file of the folder reads one thing. Every call sees one consistent moment, at
//! the latest the end of the last commit that was acknowledged before it.

mod a2a;
mod artifacts;
mod content;
pub(crate) mod damaged;
mod decode;
mod deliveries;
pub(crate) mod event_text;
mod events;
mod handoffs;
mod kept;
mod locations;
pub(crate) mod lost;
mod network;
mod notable;
pub(crate) mod pinned;
mod questions;
mod retention;
mod runs;

pub use events::Loaded;
pub use handoffs::handoff_bytes;
pub use kept::KeptEvent;
pub use retention::digests;
pub(crate) use runs::is_row_whole;

use crate::{
    folder::{blobs::Blobs, layout::Layout},
    log::{
        idle_connections::{FileId, IdleConnections, LentConnection},
        manifest_index::ManifestIndex,
        writer,
    },
    model::{
        commit::Epoch,
        error::{CommitError, ReadError},
    },
    tables::{
        identity::Identity,
        run_paths::Translator,
        schema::{self, Access, cause},
        sql::{EventDamage, reason, unsigned},
    },
};
use rusqlite::{Connection, ErrorCode, Params, Row};
use std::{cell::OnceCell, fmt, sync::Arc};

/// A reading connection. Use it in a single thread at a time; open as many as there are threads that read.
pub struct Reader {
    conn: LentConnection,
    blobs: Blobs,
    manifest_index: ManifestIndex,
    translator: Translator,
    /// Events up to this one were committed before the store was copied.
    copied_event: i64,
    /// See [`Reader::scratch`].
    scratch: OnceCell<Connection>,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("blobs", &self.blobs).finish_non_exhaustive()
    }
}

impl Reader {
    pub(crate) fn open(
        layout: Layout,
        access: Access,
        blobs: Blobs,
        manifest_index: ManifestIndex,
        idle: &IdleConnections,
    ) -> Result<Self, ReadError> {
        let failed = |error| read_error(error, "the store");
        let path = layout.db();
        let file = FileId::of(&path).map_err(|error| ReadError::Io { source: Arc::new(error) })?;
        // A connection that cannot be read any more is closed.
        let kept = idle.take(file).and_then(|conn| Some((Identity::read(&conn).ok()?, conn)));
        let (identity, conn) = match kept {
            Some(kept) => kept,
            None => {
                let conn = schema::connect_as(&path, access).map_err(failed)?;
                conn.pragma_update(None, "query_only", true).map_err(failed)?;
                idle.count_opened();
                (Identity::read(&conn).map_err(failed)?, conn)
            }
        };
        let translator = Translator::new(layout, &identity);
        Ok(Self {
            conn: idle.lend(file, conn),
            blobs,
            manifest_index,
            translator,
            copied_event: identity.copied_event,
            scratch: OnceCell::new(),
        })
    }

    /// The paths of runs are those of their events.
    pub(crate) fn of_mirror(self) -> Self {
        Self { translator: self.translator.of_mirror(), ..self }
    }

    /// The newest epoch that an engine has taken.
    ///
    /// # Errors
    /// The machine's.
    pub fn epoch(&self) -> Result<Epoch, ReadError> {
        let newest: Option<i64> = self.one("SELECT epoch FROM engine", [], |row| row.get(0))?;
        Ok(Epoch(newest.map_or(0, unsigned)))
    }

    /// Whether no later holder has taken over since `ours` was taken.
    ///
    /// # Errors
    /// [`CommitError::Fenced`] if one has; otherwise the machine's, and an epoch that is missing.
    pub fn check_epoch(&self, ours: Epoch) -> Result<(), CommitError> {
        writer::check_epoch(&self.conn, ours)
    }

    /// Its connection, to compare rows with what the events make.
    pub(crate) fn conn(&self) -> &Connection {
        &self.conn
    }

    /// A database in memory with the schema of the store; made when it is first needed.
    pub(crate) fn scratch(&self) -> rusqlite::Result<&Connection> {
        if let Some(made) = self.scratch.get() {
            return Ok(made);
        }
        let made = schema::in_memory()?;
        Ok(self.scratch.get_or_init(|| made))
    }

    /// An error of the database, met while something was read.
    pub(crate) fn failed(error: rusqlite::Error, what: &str) -> ReadError {
        read_error(error, what)
    }

    /// Several queries that see the same moment. Within itself the moment is the outer one's.
    pub(crate) fn consistently<T>(
        &self,
        read: impl FnOnce() -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        self.at_one_moment(read)
    }

    /// As many reads as `read` makes with this reader, all of the same moment: later commits are not seen. A moment costs as much as one
    /// read by itself. While it lasts, the log of the database cannot be shortened.
    ///
    /// # Errors
    /// Those of `read`, and the machine's.
    fn at_one_moment<T, E: From<ReadError>>(&self, read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        if !self.conn.is_autocommit() {
            return read();
        }
        let moment = self.conn.unchecked_transaction().map_err(|error| read_error(error, "the store"))?;
        let result = read();
        moment.finish().map_err(|error| read_error(error, "the store"))?;
        result
    }

    /// As [`Self::rows`], without those that cannot be decoded. For rows of many runs or clients: a damaged row must not take the
    /// others away. [`Reader::damaged_rows`] names it.
    fn readable<T>(
        &self,
        sql: &str,
        values: impl Params,
        mut decode: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
        what: &str,
    ) -> Result<Vec<T>, ReadError> {
        let decode = |row: &Row<'_>| match decode(row) {
            Err(error) if error.sqlite_error_code().is_none() => Ok(None),
            decoded => decoded.map(Some),
        };
        Ok(self.rows(sql, values, decode, what)?.into_iter().flatten().collect())
    }

    fn one<T>(
        &self,
        sql: &str,
        values: impl Params,
        decode: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, ReadError> {
        Ok(self.rows(sql, values, decode, "a row")?.into_iter().next())
    }

    fn rows<T>(
        &self,
        sql: &str,
        values: impl Params,
        decode: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
        what: &str,
    ) -> Result<Vec<T>, ReadError> {
        let read =
            || self.conn.prepare_cached(sql)?.query_map(values, decode)?.collect::<rusqlite::Result<_>>();
        read().map_err(|error| read_error(error, what))
    }
}

fn missing(what: &'static str, id: &impl fmt::Display) -> ReadError {
    ReadError::Missing { what, id: id.to_string() }
}

fn read_error(error: rusqlite::Error, what: &str) -> ReadError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ReadError::Busy,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => damaged(error, what),
        Some(_) => ReadError::Io { source: cause(error) },
        None => damaged(error, what),
    }
}

fn damaged(error: rusqlite::Error, what: &str) -> ReadError {
    let reason = reason(error);
    let what = match reason.downcast_ref::<EventDamage>() {
        Some(damage) => format!("event {}", damage.seq),
        None => what.to_owned(),
    };
    ReadError::Damaged { what, source: Arc::from(reason) }
}

#[cfg(test)]
mod tests;
