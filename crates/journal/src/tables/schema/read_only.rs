//! Opening a database without writing to it: for commands that only look, also at a store that is not theirs to write.
//!
//! Nothing is made, migrated or set. Beside a database in WAL mode SQLite itself needs `-shm`, which it makes if it may; if
//! not, the file alone is read, which is right only as long as no commit waits in `-wal`.

use super::{
    MIGRATIONS, PAUSE, applied_rows, check_connect, check_files, compare, io_error, open_error, prepare,
    version,
};
use crate::model::error::OpenError;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::{
    ffi::OsString,
    fs::{self, File},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// How the connections of a store may touch its database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reading and writing.
    Full,
    /// Reading, while others may write.
    Read,
    /// Reading a file that no process changes meanwhile.
    Frozen,
}

/// Another connection, of the kind that its store has.
pub(crate) fn connect_as(path: &Path, access: Access) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    check_connect(path)?;
    let conn = match access {
        Access::Full => return super::connect(path),
        Access::Read => Connection::open_with_flags(path, flags)?,
        Access::Frozen => Connection::open_with_flags(frozen_uri(path), flags | OpenFlags::SQLITE_OPEN_URI)?,
    };
    prepare(&conn)?;
    Ok(conn)
}

/// How long a store may have no tables: the time in which another process makes them.
const MAKING: Duration = Duration::from_secs(2);

/// Opens a database whose schema is the one known here, and returns how its other connections are to be opened.
pub(crate) fn open(path: &Path) -> Result<(Connection, Access), OpenError> {
    let until = Instant::now() + MAKING;
    loop {
        match open_now(path) {
            // Another process has just made the file, and is about to make the tables.
            Err(OpenError::Older { found: 0, .. }) if Instant::now() < until => thread::sleep(PAUSE),
            opened => return opened,
        }
    }
}

fn open_now(path: &Path) -> Result<(Connection, Access), OpenError> {
    check_files(path)?;
    File::open(path).map_err(|error| io_error(path, error))?;
    match try_open(path, Access::Read)? {
        Some(conn) => Ok((conn, Access::Read)),
        None if commits_wait(path) => Err(OpenError::Unfinished { path: path.to_owned() }),
        None => match try_open(path, Access::Frozen)? {
            Some(conn) => Ok((conn, Access::Frozen)),
            None => Err(OpenError::Unfinished { path: path.to_owned() }),
        },
    }
}

/// A connection to look once at a database that is another store's, of any version: no file is made beside it.
pub(crate) fn glance(path: &Path) -> rusqlite::Result<Connection> {
    // If commits wait in `-wal`, the files beside the database exist already.
    let access = if commits_wait(path) { Access::Read } else { Access::Frozen };
    connect_as(path, access)
}

/// None if SQLite wants to write first.
fn try_open(path: &Path, access: Access) -> Result<Option<Connection>, OpenError> {
    let opened = connect_as(path, access).and_then(|conn| Ok((applied_rows(&conn)?, conn)));
    let (rows, conn) = match opened {
        Err(error) if wants_to_write(&error) => return Ok(None),
        opened => opened.map_err(|error| open_error(path, error))?,
    };
    let found = compare(&rows, path, MIGRATIONS)?;
    let known = MIGRATIONS.len();
    if found < known {
        let path = path.to_owned();
        let found = u32::try_from(found).unwrap_or(u32::MAX);
        return Err(OpenError::Older { path, found, known: version(known.saturating_sub(1)) });
    }
    Ok(Some(conn))
}

fn wants_to_write(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

fn commits_wait(path: &Path) -> bool {
    let mut wal = OsString::from(path);
    wal.push("-wal");
    fs::metadata(PathBuf::from(wal)).is_ok_and(|metadata| metadata.len() > 0)
}

fn frozen_uri(path: &Path) -> String {
    use std::fmt::Write as _;
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => {
                uri.push(char::from(*byte))
            }
            // Writing to a String cannot fail.
            byte => drop(write!(uri, "%{byte:02x}")),
        }
    }
    uri + "?immutable=1"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Layout, Store,
        testing::{commit, run, started},
    };

    #[test]
    fn who_only_looks_sees_every_commit_and_commits_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().join("a b%?#.envoi"));
        let store = Store::open(layout.clone()).unwrap();
        let epoch = store.take_epoch().unwrap();
        let writer = store.writer(epoch).unwrap();
        let looking = Store::open_read_only(layout.clone()).unwrap();
        let reader = looking.reader().unwrap();
        let begin = |name| commit(&run(name), 0, [started(&run(name))]);
        for name in ["a", "b"] {
            writer.commit(begin(name)).unwrap();
            assert_eq!(reader.load(&run(name)).unwrap().records.len(), 1);
        }
        looking.take_epoch().unwrap_err();
        looking.writer(epoch).unwrap().commit(begin("c")).unwrap_err();
        assert_eq!(store.take_epoch().unwrap().0, epoch.0 + 1);
    }

    #[test]
    fn a_frozen_database_is_found_whatever_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().join("a b%?#ä.envoi"));
        drop(Store::open(layout.clone()).unwrap());
        let before = fs::read_dir(layout.root()).unwrap().count();
        assert!(try_open(&layout.db(), Access::Frozen).unwrap().is_some());
        assert_eq!(fs::read_dir(layout.root()).unwrap().count(), before);
    }

    #[test]
    fn looking_makes_and_migrates_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().join(".envoi"));
        let error = Store::open_read_only(layout.clone()).unwrap_err();
        assert!(matches!(error, OpenError::Io { .. }) && !layout.root().exists(), "{error}");
        fs::create_dir(layout.root()).unwrap();
        let conn = super::super::connect(&layout.db()).unwrap();
        conn.pragma_update(None, "user_version", 1).unwrap();
        let error = Store::open_read_only(layout.clone()).unwrap_err();
        assert!(matches!(error, OpenError::Older { found: 0, .. }), "{error}");
        assert!(error.to_string().ends_with("`envoi doctor` migrates it"), "{error}");
        assert_eq!(applied_rows(&conn).unwrap(), []);
        Store::open(layout.clone()).unwrap();
        Store::open_read_only(layout.clone()).unwrap();
        conn.execute("INSERT INTO migrations VALUES (999, 'x')", []).unwrap();
        let error = Store::open_read_only(layout).unwrap_err();
        assert!(matches!(error, OpenError::Newer { .. }), "{error}");
    }
}
