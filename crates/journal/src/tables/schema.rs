//! The database file: how a connection is set up, and how its schema grows.
//!
//! Owns the pragmas that durability rests on and the ordered, checksummed migrations. Knows nothing of what the tables mean.

mod read_only;

#[cfg(test)]
mod upgrade_tests;

use crate::{
    folder::{
        database_files::{self, NotAFile, not_a_file},
        layout::Layout,
        lease::{Lease, Taken},
    },
    model::error::{Cause, OpenError},
};
use envoi_contract::digest::Digest;
use envoi_durable::Temporary;
use rusqlite::{
    Connection, ErrorCode, MAIN_DB, OptionalExtension as _, TransactionBehavior, config::DbConfig,
};
use std::{
    fs::File,
    io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

pub(crate) use read_only::{Access, connect_as, glance, open as open_read_only};

/// How long a connection waits for another process before it gives up.
pub(crate) const BUSY: Duration = Duration::from_secs(5);

/// Between two looks at who holds the lease.
const PAUSE: Duration = Duration::from_millis(10);

/// Pages in the WAL before they are written back: 16 MiB, about 700 steps, so that the two or three fsyncs of a
/// checkpoint vanish beside those of the commits.
const CHECKPOINT_PAGES: u32 = 4_000;

/// Distinct statements of a connection are fewer than this, so that none is prepared twice.
const STATEMENTS: usize = 64;

/// A step in the life of the schema. Its number is its place in [`MIGRATIONS`], from 1.
pub(crate) struct Migration {
    sql: &'static str,
}

/// Every migration there ever was; only ever appended to.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { sql: include_str!("../../migrations/0001_spine.sql") },
    Migration { sql: include_str!("../../migrations/0002_people.sql") },
    Migration { sql: include_str!("../../migrations/0003_deliveries.sql") },
    Migration { sql: include_str!("../../migrations/0004_parts.sql") },
    Migration { sql: include_str!("../../migrations/0005_server.sql") },
    Migration { sql: include_str!("../../migrations/0006_forks.sql") },
    Migration { sql: include_str!("../../migrations/0007_a2a.sql") },
    Migration { sql: include_str!("../../migrations/0008_flow_files.sql") },
    Migration { sql: include_str!("../../migrations/0009_a2a_push.sql") },
    Migration { sql: include_str!("../../migrations/0010_findings.sql") },
    Migration { sql: include_str!("../../migrations/0011_corrections.sql") },
    Migration { sql: include_str!("../../migrations/0012_page_sessions.sql") },
    Migration { sql: include_str!("../../migrations/0013_accounts.sql") },
    Migration { sql: include_str!("../../migrations/0014_retention.sql") },
    Migration { sql: include_str!("../../migrations/0015_imported.sql") },
    Migration { sql: include_str!("../../migrations/0016_kept_events.sql") },
    Migration { sql: include_str!("../../migrations/0017_notable_events.sql") },
    Migration { sql: include_str!("../../migrations/0018_done_requests.sql") },
    Migration { sql: include_str!("../../migrations/0019_tries.sql") },
    Migration { sql: include_str!("../../migrations/0020_snapshots_of_runs.sql") },
];

/// The result of all migrations on an empty database: the statements of its schema, and the rows that are there from the beginning.
/// Migrations one after the other take four times as long, and a person waits for them at the first run.
const WHOLE: &str = include_str!("../../migrations/whole.sql");

/// Opens the database of a writer, makes it if there is none, and brings its schema up to date.
pub(crate) fn open(layout: &Layout) -> Result<Connection, OpenError> {
    let path = &layout.db();
    check_files(path)?;
    let fresh = !path.exists();
    if fresh {
        make_private(path).map_err(|error| io_error(path, error))?;
    }
    let mut conn = connect(path).map_err(|error| open_error(path, error))?;
    // SQLite opens a file that may not be written to read it, and reports it with the first commit, without the file's name.
    if conn.is_readonly(MAIN_DB).map_err(|error| open_error(path, error))? {
        let (path, refusal) =
            refusal(path).unwrap_or_else(|| (path.clone(), io::Error::from(io::ErrorKind::PermissionDenied)));
        return Err(io_error(&path, refusal));
    }
    set_wal(&conn, path)?;
    let alone = alone(&conn, layout)?;
    let migrated = migrate(&mut conn, path, MIGRATIONS, Some(WHOLE));
    if let Some(lease) = alone {
        lease.release();
    }
    migrated?;
    if fresh {
        envoi_durable::sync_folder(envoi_durable::parent(path)).map_err(|error| io_error(path, error))?;
    }
    Ok(conn)
}

/// Refuses what SQLite could not open, or would wait for without end.
fn check_files(path: &Path) -> Result<(), OpenError> {
    match not_a_file(path) {
        Some(NotAFile { path, kind }) => Err(OpenError::NotAFile { path, kind }),
        None => Ok(()),
    }
}

/// The same for one more connection: a step may have put something there since the store was opened.
fn check_connect(path: &Path) -> rusqlite::Result<()> {
    match not_a_file(path) {
        Some(found) => {
            let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
            Err(rusqlite::Error::SqliteFailure(error, Some(found.to_string())))
        }
        None => Ok(()),
    }
}

/// Files that root writes into the store of a user are root's, and that user's next run would fail where it meets them. `owner_of_new` is who
/// owns a file that is made in a folder: some file systems give all files to one user.
pub(crate) fn refuse_of_another(
    path: &Path,
    user: u32,
    owner_of_new: impl FnOnce(&Path) -> io::Result<u32>,
) -> Result<(), OpenError> {
    // There is none yet, or opening it reports why it cannot be looked at.
    let Ok(found) = path.metadata() else { return Ok(()) };
    let owner = found.uid();
    if owner == user || owner_of_new(envoi_durable::parent(path)).is_ok_and(|of_new| of_new == owner) {
        return Ok(());
    }
    Err(OpenError::OfAnother { path: path.to_owned(), owner, user })
}

/// The owner of a file that this process makes there.
pub(crate) fn owner_of_new(folder: &Path) -> io::Result<u32> {
    let path = folder.join(format!(".owner-{}", std::process::id()));
    let made = File::create_new(&path)?.metadata();
    std::fs::remove_file(&path)?;
    made.map(|made| made.uid())
}

/// The lease, if an older store is to be migrated: its engine would be of the version that made it, and must not find
/// its tables changed under it. A holder that has not announced itself may be migrating too: it is waited for.
fn alone(conn: &Connection, layout: &Layout) -> Result<Option<Lease>, OpenError> {
    let path = layout.db();
    let until = Instant::now() + BUSY;
    loop {
        let found = applied(conn, &path, MIGRATIONS)?;
        if found == 0 || found == MIGRATIONS.len() {
            return Ok(None);
        }
        match Lease::try_take(layout) {
            Ok(Taken::Lease(lease)) => return Ok(Some(lease)),
            Ok(Taken::Held(None)) if Instant::now() < until => thread::sleep(PAUSE),
            Ok(Taken::Held(_)) => {
                let found = version(found.saturating_sub(1));
                let known = version(MIGRATIONS.len() - 1);
                return Err(OpenError::OlderInUse { path, found, known });
            }
            Err(error) => {
                return Err(OpenError::Io { path: error.path.clone(), source: Arc::new(error) });
            }
        }
    }
}

/// Opens one more connection to a database that [`open`] has prepared.
pub(crate) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    check_connect(path)?;
    let conn = Connection::open(path)?;
    prepare(&conn)?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    Ok(conn)
}

/// A database of this schema that nothing else knows, and that is gone with its connection.
pub(crate) fn in_memory() -> rusqlite::Result<Connection> {
    let conn = Connection::open_in_memory()?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    conn.execute_batch(WHOLE)?;
    Ok(conn)
}

fn prepare(conn: &Connection) -> rusqlite::Result<()> {
    // A statement keeps its plan: with statistics of a table, SQLite would prepare one again whenever a value is bound.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    conn.busy_timeout(BUSY)
}

/// Turns WAL on, once in the life of a database; two processes that make the same store wait for each other.
fn set_wal(conn: &Connection, path: &Path) -> Result<(), OpenError> {
    let mode =
        |conn: &Connection| conn.pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0));
    if mode(conn).map_err(|error| open_error(path, error))? == "wal" {
        return Ok(());
    }
    let folder = File::open(envoi_durable::parent(path)).map_err(|error| io_error(path, error))?;
    folder.lock().map_err(|error| io_error(path, error))?;
    conn.pragma_update(None, "journal_mode", "WAL").map_err(|error| open_error(path, error))
}

/// Applies the migrations that the database does not have yet, all or none. `whole`: the result of all of them for an empty one.
fn migrate(
    conn: &mut Connection,
    path: &Path,
    known: &[Migration],
    whole: Option<&str>,
) -> Result<(), OpenError> {
    if applied(conn, path, known)? == known.len() {
        return Ok(());
    }
    let sql = |error| open_error(path, error);
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
    transaction.execute_batch(MIGRATION_TABLE).map_err(sql)?;
    let done = applied(&transaction, path, known)?;
    let whole = whole.filter(|_| done == 0);
    if let Some(whole) = whole {
        transaction.execute_batch(whole).map_err(sql)?;
    }
    for (place, migration) in known.iter().enumerate().skip(done) {
        if whole.is_none() {
            transaction.execute_batch(migration.sql).map_err(sql)?;
        }
        transaction
            .execute(
                "INSERT INTO migrations (version, checksum) VALUES (?1, ?2)",
                (version(place), checksum(migration)),
            )
            .map_err(sql)?;
    }
    transaction.commit().map_err(sql)
}

const MIGRATION_TABLE: &str =
    "CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, checksum TEXT NOT NULL) STRICT";

/// How many of the known migrations the database has; an error if it has others.
fn applied(conn: &Connection, path: &Path, known: &[Migration]) -> Result<usize, OpenError> {
    let rows = applied_rows(conn).map_err(|error| open_error(path, error))?;
    compare(&rows, path, known)
}

fn compare(rows: &[(u32, String)], path: &Path, known: &[Migration]) -> Result<usize, OpenError> {
    if rows.len() > known.len() {
        return Err(OpenError::Newer {
            path: path.to_owned(),
            found: version(rows.len() - 1),
            known: version(known.len() - 1),
        });
    }
    for (place, ((found, sum), migration)) in rows.iter().zip(known).enumerate() {
        if *found != version(place) || *sum != checksum(migration) {
            return Err(OpenError::Checksum { path: path.to_owned(), version: version(place) });
        }
    }
    Ok(rows.len())
}

fn applied_rows(conn: &Connection) -> rusqlite::Result<Vec<(u32, String)>> {
    let table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migrations'";
    if conn.query_row(table, [], |_| Ok(())).optional()?.is_none() {
        return Ok(Vec::new());
    }
    let mut rows = conn.prepare("SELECT version, checksum FROM migrations ORDER BY version")?;
    rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

fn version(place: usize) -> u32 {
    u32::try_from(place + 1).unwrap_or(u32::MAX)
}

fn checksum(migration: &Migration) -> String {
    Digest::of(migration.sql.as_bytes()).to_string()
}

fn io_error(path: &Path, error: std::io::Error) -> OpenError {
    OpenError::Io { path: path.to_owned(), source: Arc::new(error) }
}

pub(crate) fn open_error(path: &Path, error: rusqlite::Error) -> OpenError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::Busy { path },
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            OpenError::Corrupt { path, source: cause(error) }
        }
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            if let Err(error) = check_files(&path) {
                return error;
            }
            // SQLite reports that it failed, and not why.
            match refusal(&path) {
                Some((path, refusal)) => OpenError::Io { path, source: Arc::new(refusal) },
                None => OpenError::Io { path, source: cause(error) },
            }
        }
        _ => OpenError::Io { path, source: cause(error) },
    }
}

/// The system's error for a process that wants to write a database, or the files that SQLite needs beside it.
fn refusal(db: &Path) -> Option<(PathBuf, io::Error)> {
    let opened = |path: PathBuf, create: bool| {
        let result = File::options().read(true).write(true).create(create).truncate(false).open(&path);
        result.err().map(|error| (path, error))
    };
    let existing = database_files::beside(db).into_iter().filter(|path| path.exists());
    let found = std::iter::once(db.to_owned()).chain(existing).find_map(|path| opened(path, false));
    found.or_else(|| {
        let folder = envoi_durable::parent(db);
        Temporary::create(folder).err().map(|error| (folder.to_owned(), error))
    })
}

/// The error of the database as part of one of ours.
pub(crate) fn cause(error: rusqlite::Error) -> Cause {
    Arc::new(error)
}

/// Makes an empty file, if there is none, that only its owner may read. SQLite gives the files beside it the same mode.
fn make_private(path: &Path) -> io::Result<()> {
    File::options().write(true).create(true).truncate(false).mode(0o600).open(path).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    const FIRST: Migration = Migration { sql: "CREATE TABLE a (x INTEGER) STRICT" };
    const SECOND: Migration = Migration { sql: "CREATE TABLE b (x INTEGER) STRICT" };
    const OTHER: Migration = Migration { sql: "CREATE TABLE c (x INTEGER) STRICT" };
    const BROKEN: Migration = Migration { sql: "CREATE TABLE d (x INTEGER) STRICT; NONSENSE" };

    fn database() -> (tempfile::TempDir, std::path::PathBuf, Connection) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("envoi.db");
        let conn = connect(&path).unwrap();
        (place, path, conn)
    }

    #[test]
    fn a_store_grows_with_the_program_and_keeps_what_it_has() {
        let (_place, path, mut conn) = database();
        migrate(&mut conn, &path, &[FIRST], None).unwrap();
        conn.execute("INSERT INTO a VALUES (7)", []).unwrap();
        migrate(&mut conn, &path, &[FIRST, SECOND], None).unwrap();
        migrate(&mut conn, &path, &[FIRST, SECOND], None).unwrap();
        assert_eq!(conn.query_row("SELECT x FROM a", [], |row| row.get::<_, i64>(0)), Ok(7));
        conn.execute("INSERT INTO b VALUES (1)", []).unwrap();
    }

    /// The statements of its schema, in the order in which they can be executed.
    fn statements(conn: &Connection) -> Vec<String> {
        let sql =
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid";
        let mut statement = conn.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    /// All rows, with the tables that have them; the id of a store is made by chance.
    fn rows(conn: &Connection) -> Vec<String> {
        conn.execute_batch("UPDATE store SET id = substr(id, 1, 6) || length(id)").unwrap();
        let names = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";
        let mut names = conn.prepare(names).unwrap();
        let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let of = |name: &String| {
            let mut statement = conn.prepare(&format!("SELECT * FROM {name}")).unwrap();
            let columns = statement.column_count();
            let shown = |row: &rusqlite::Row<'_>| {
                let values = (0..columns).map(|at| format!("{:?}", row.get_ref(at).unwrap()));
                Ok(format!("{name} {}", values.collect::<Vec<_>>().join(", ")))
            };
            statement.query_map([], shown).unwrap().map(Result::unwrap).collect::<Vec<_>>()
        };
        names.iter().flat_map(of).collect()
    }

    /// `ENVOI_SCHEMA=write` writes the file anew, from the migrations.
    #[test]
    fn what_is_made_at_once_is_what_all_migrations_make() {
        let by_steps = Connection::open_in_memory().unwrap();
        MIGRATIONS.iter().for_each(|migration| by_steps.execute_batch(migration.sql).unwrap());
        let mut statements = statements(&by_steps);
        if std::env::var("ENVOI_SCHEMA").is_ok_and(|what| what == "write") {
            let head = "-- What the migrations make together. Made of them: ENVOI_SCHEMA=write cargo test -p envoi-journal at_once\n\n";
            let rows = "INSERT INTO engine (one, epoch) VALUES (1, 0);\n\
                        INSERT INTO store (one, id) VALUES (1, 'store_' || lower(hex(randomblob(16))));\n";
            let text = statements.iter().map(|statement| format!("{statement};\n")).collect::<String>();
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/whole.sql");
            std::fs::write(file, head.to_owned() + &text + rows).unwrap();
            return;
        }
        let at_once = in_memory().unwrap();
        let mut found = self::statements(&at_once);
        found.sort();
        statements.sort();
        assert_eq!(found, statements);
        assert_eq!(rows(&at_once), rows(&by_steps));
    }

    #[test]
    fn a_new_store_has_all_migrations() {
        let place = tempfile::tempdir().unwrap();
        let layout = Layout::new(place.path());
        let made = open(&layout).unwrap();
        assert_eq!(applied(&made, &layout.db(), MIGRATIONS).unwrap(), MIGRATIONS.len());
        assert_eq!(rows(&in_memory().unwrap()).len() + MIGRATIONS.len(), rows(&made).len());
    }

    #[test]
    fn a_newer_store_is_refused_with_the_reason() {
        let (_place, path, mut conn) = database();
        migrate(&mut conn, &path, &[FIRST, SECOND], None).unwrap();
        let error = migrate(&mut conn, &path, &[FIRST], None).unwrap_err();
        assert!(matches!(error, OpenError::Newer { found: 2, known: 1, .. }), "{error}");
        assert!(error.to_string().ends_with("has schema 2, this program knows up to 1: use a newer version"));
    }

    #[test]
    fn a_migration_that_is_not_the_one_applied_is_refused() {
        let (_place, path, mut conn) = database();
        migrate(&mut conn, &path, &[FIRST, SECOND], None).unwrap();
        let error = migrate(&mut conn, &path, &[FIRST, OTHER], None).unwrap_err();
        assert!(matches!(error, OpenError::Checksum { version: 2, .. }), "{error}");
    }

    #[test]
    fn a_migration_that_fails_leaves_nothing() {
        let (_place, path, mut conn) = database();
        migrate(&mut conn, &path, &[FIRST], None).unwrap();
        migrate(&mut conn, &path, &[FIRST, BROKEN], None).unwrap_err();
        migrate(&mut conn, &path, &[FIRST, SECOND], None).unwrap();
        assert!(conn.execute("INSERT INTO d VALUES (1)", []).is_err());
    }

    #[test]
    fn a_file_that_is_no_database_is_called_damaged() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("envoi.db");
        std::fs::write(
            &path,
            "this is no database, and long enough to be read as a header of one by mistake",
        )
        .unwrap();
        let error = open(&Layout::new(place.path())).unwrap_err();
        assert!(matches!(error, OpenError::Corrupt { .. }), "{error:?}");
        assert!(error.source().is_some());
        assert!(error.to_string().contains("file is not a database"), "{error}");
    }

    #[test]
    fn a_store_that_cannot_be_opened_has_the_reason_of_the_system() {
        let place = tempfile::tempdir().unwrap();
        let db = place.path().join("envoi.db");
        std::fs::create_dir(&db).unwrap();
        let error = open(&Layout::new(place.path())).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("the store cannot be opened: `{}` is a folder, and no file", db.display())
        );
        let file = place.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = crate::Store::open(Layout::new(file.join(".envoi"))).unwrap_err();
        assert!(error.to_string().contains("Not a directory"), "{error}");
    }

    /// SQLite would wait without end for a writer of the pipe.
    #[test]
    fn what_stands_in_the_place_of_a_file_of_the_database_is_named_at_once() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let place = tempfile::tempdir().unwrap();
        let layout = Layout::new(place.path());
        let store = crate::Store::open(layout.clone()).unwrap();
        let looking = crate::Store::open_read_only(layout.clone()).unwrap();
        let epoch = store.take_epoch().unwrap();
        for beside in database_files::beside(&layout.db()) {
            let aside = place.path().join("aside");
            let was_there = std::fs::rename(&beside, &aside).is_ok();
            for kind in ["a folder", "a named pipe"] {
                match kind {
                    "a folder" => std::fs::create_dir(&beside).unwrap(),
                    _ => mknodat(CWD, &beside, FileType::Fifo, Mode::RWXU, 0).unwrap(),
                }
                let expected = format!("`{}` is {kind}, and no file", beside.display());
                let read = crate::Store::open_read_only(layout.clone()).unwrap_err();
                for error in [crate::Store::open(layout.clone()).unwrap_err(), read] {
                    assert!(matches!(error, OpenError::NotAFile { .. }), "{error}");
                    assert!(error.to_string().ends_with(&expected), "{error}");
                }
                // Another connection of a store that is open.
                for error in [
                    crate::with_causes(&store.writer(epoch).map(drop).unwrap_err()),
                    crate::with_causes(&looking.reader().map(drop).unwrap_err()),
                    crate::with_causes(&store.reader().map(drop).unwrap_err()),
                ] {
                    assert!(error.contains(&expected), "{error}");
                }
                match kind {
                    "a folder" => std::fs::remove_dir(&beside).unwrap(),
                    _ => std::fs::remove_file(&beside).unwrap(),
                }
            }
            if was_there {
                std::fs::rename(&aside, &beside).unwrap();
            }
        }
        store.reader().unwrap();
        crate::Store::open(layout).unwrap();
    }

    #[test]
    fn a_store_of_another_user_is_not_opened_to_be_changed() {
        let place = tempfile::tempdir().unwrap();
        let layout = Layout::new(place.path());
        let mine = rustix::process::geteuid().as_raw();
        let refused = |user, of_new| refuse_of_another(&layout.db(), user, |_| Ok(of_new));
        refused(mine + 1, mine + 1).unwrap();
        drop(crate::Store::open(layout.clone()).unwrap());
        refused(mine, mine).unwrap();
        // The file system gives all files to a single user.
        refused(mine + 1, mine).unwrap();
        assert_eq!(owner_of_new(layout.root()).unwrap(), mine);
        let error = refused(mine + 1, mine + 1).unwrap_err();
        assert!(
            matches!(error, OpenError::OfAnother { owner, user, .. } if owner == mine && user == mine + 1),
            "{error}"
        );
    }

    #[test]
    fn commits_are_durable_and_readers_do_not_block_them() {
        let place = tempfile::tempdir().unwrap();
        let conn = open(&Layout::new(place.path())).unwrap();
        let pragma = |name| {
            conn.pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0)).unwrap()
        };
        assert_eq!(pragma("journal_mode"), "wal".to_owned().into());
        assert_eq!(pragma("synchronous"), 2.into());
        assert_eq!(pragma("wal_autocheckpoint"), 4_000.into());
    }

    #[test]
    fn a_store_that_is_just_being_made_can_be_looked_at_from_the_first_moment() {
        for _ in 0..40 {
            let place = tempfile::tempdir().unwrap();
            let layout = Layout::new(place.path());
            let looks = || {
                // As long as there is no file there is no store.
                while !layout.db().exists() {
                    thread::yield_now();
                }
                open_read_only(&layout.db()).map(drop)
            };
            let [first, second, made] = thread::scope(|scope| {
                let looking = [scope.spawn(looks), scope.spawn(looks)];
                let makes = || open(&layout).map(drop);
                let making = [scope.spawn(makes), scope.spawn(makes)];
                let [first, second] = looking.map(|thread| thread.join().unwrap());
                let made = making.map(|thread| thread.join().unwrap()).into_iter().collect::<Result<(), _>>();
                [first, second, made]
            });
            for outcome in [first, second, made] {
                outcome.unwrap_or_else(|error| panic!("{error}: {error:?}"));
            }
        }
    }
}
