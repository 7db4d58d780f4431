//! Reading connections that wait for their next reader.
//!
//! Opening a connection reads the whole schema, which costs more than most reads. A reader gives its
//! connection back when it is dropped, with the statements that it has prepared.

use rusqlite::Connection;
use std::{
    fmt, fs, io,
    ops::Deref,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// More are not kept: each holds its pages and statements, and so many readers hardly ever end before the next begins.
const MOST_KEPT: usize = 4;

/// The idle connections of one store.
#[derive(Clone, Default)]
pub(crate) struct IdleConnections {
    kept: Arc<Mutex<Vec<(FileId, Connection)>>>,
    /// How many were opened because none was kept.
    opened: Arc<AtomicU64>,
}

/// Which file a connection has open. A path may lead to another one later: a store can be moved, removed or put back. A file that is written over
/// while it is open is not noticed: SQLite notices it in no connection, be it new or kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// # Errors
    /// The file is not there, or may not be looked at.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let found = fs::metadata(path)?;
        Ok(Self { device: found.dev(), inode: found.ino() })
    }
}

impl IdleConnections {
    /// A connection that has this file open.
    pub(crate) fn take(&self, file: FileId) -> Option<Connection> {
        let mut kept = self.lock();
        kept.retain(|(of, _)| *of == file);
        kept.pop().map(|(_, conn)| conn)
    }

    /// Counts a connection that was opened because none was kept.
    pub(crate) fn count_opened(&self) {
        self.opened.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// The connection, until it is dropped: then it waits here.
    pub(crate) fn lend(&self, file: FileId, conn: Connection) -> LentConnection {
        LentConnection { conn: Some(conn), file, idle: self.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(FileId, Connection)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for IdleConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IdleConnections").field(&self.lock().len()).finish()
    }
}

/// A connection that one reader has.
pub(crate) struct LentConnection {
    /// `None` only while it is dropped.
    conn: Option<Connection>,
    file: FileId,
    idle: IdleConnections,
}

impl Deref for LentConnection {
    type Target = Connection;

    #[expect(clippy::expect_used, reason = "the connection is taken out by `drop` alone")]
    fn deref(&self) -> &Connection {
        self.conn.as_ref().expect("a lent connection is there until it is dropped")
    }
}

impl Drop for LentConnection {
    fn drop(&mut self) {
        // In an open transaction the next reader would see an old moment.
        let Some(conn) = self.conn.take().filter(Connection::is_autocommit) else { return };
        let mut kept = self.idle.lock();
        if kept.len() < MOST_KEPT {
            kept.push((self.file, conn));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        folder::layout::Layout,
        log::{reader::Reader, store::Store},
    };

    fn kept(store: &Store) -> usize {
        store.idle_connections().lock().len()
    }

    fn store_in(folder: &Path) -> Store {
        Store::open(Layout::new(folder.join(".envoi"))).unwrap()
    }

    #[test]
    fn a_connection_is_used_again_and_few_are_kept() {
        let place = tempfile::tempdir().unwrap();
        let store = store_in(place.path());
        let first = store.reader().unwrap();
        let cache_pages = |reader: &Reader| -> i64 {
            reader.conn().pragma_query_value(None, "cache_size", |row| row.get(0)).unwrap()
        };
        first.conn().pragma_update(None, "cache_size", 777).unwrap();
        drop(first);
        assert_eq!(kept(&store), 1);
        let again = store.reader().unwrap();
        assert_eq!((kept(&store), store.connections_opened()), (0, 1));
        assert_eq!(cache_pages(&again), 777, "the same connection");
        let many: Vec<_> = (0..MOST_KEPT + 2).map(|_| store.reader().unwrap()).collect();
        drop((again, many));
        assert_eq!(kept(&store), MOST_KEPT);
    }

    #[test]
    fn a_connection_in_an_open_transaction_is_not_kept() {
        let place = tempfile::tempdir().unwrap();
        let store = store_in(place.path());
        let reader = store.reader().unwrap();
        reader.conn().execute_batch("BEGIN; SELECT count(*) FROM runs").unwrap();
        drop(reader);
        assert_eq!(kept(&store), 0);
    }

    /// As a restore through SQLite does it: the file stays the same.
    #[test]
    fn what_another_process_writes_through_the_database_is_seen_by_a_kept_connection() {
        let place = tempfile::tempdir().unwrap();
        let store = store_in(place.path());
        store.take_epoch().unwrap();
        drop(store.reader().unwrap());
        assert_eq!(kept(&store), 1);
        let other = Connection::open(store.layout().db()).unwrap();
        other.execute("UPDATE engine SET epoch = 77", []).unwrap();
        assert_eq!(store.reader().unwrap().epoch().unwrap().0, 77);
    }

    #[test]
    fn another_database_in_the_place_of_the_first_is_opened_anew() {
        let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = store_in(place.path());
        let epoch = store.take_epoch().unwrap();
        assert_eq!(store.reader().unwrap().epoch().unwrap(), epoch);
        assert_eq!(kept(&store), 1);
        drop(store_in(other.path()));
        fs::rename(place.path().join(".envoi"), place.path().join("away")).unwrap();
        assert!(store.reader().is_err(), "no store is there");
        fs::rename(other.path().join(".envoi"), place.path().join(".envoi")).unwrap();
        assert_ne!(store.reader().unwrap().epoch().unwrap(), epoch);
    }
}
