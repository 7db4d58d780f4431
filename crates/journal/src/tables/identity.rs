//! The identity and the place of a store: how a store is distinguished from a copy of it.
//!
//! A store has an id, made once, and remembers the folder in which it was last opened. Opened in another folder while that
//! one still holds a store of the same id, it is a copy. If the old folder is gone, it was moved. Owns that judgement, the
//! remembered folder, and the adoption of a copy. Does not decide the permissions of a copy ([`crate::Store::open`] does),
//! nor the present paths of its runs' files ([`crate::tables::run_paths`] does).

use crate::{
    folder::layout::Layout,
    model::{
        damage::DamagedRow,
        error::{Cause, OpenError},
    },
    tables::schema,
};
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};
use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

/// A store's data on itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Made once, and anew when a copy is adopted.
    pub id: String,
    /// The folder in which it was last opened; `None` before that.
    pub folder: Option<PathBuf>,
    /// Which folder that is: [`mark_of`] it, or its inode alone if an older build has opened it last.
    inode: Option<u64>,
    /// The folder of the original, if this store is an adopted copy.
    pub adopted_from: Option<PathBuf>,
    /// Runs that the original has begun may work in its workspaces outside of the project's folder.
    pub shares_workspaces: bool,
    /// Runs up to this key were begun in the original.
    pub(crate) adopted_run: i64,
    /// Events up to this one were committed before the files were copied.
    pub(crate) copied_event: i64,
    /// Its row is missing or cannot be read. The next command that uses the store makes one.
    is_lost: bool,
}

/// The place of a store, compared with the recorded one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It lies where it lay, or is reached there by another name of the same folder.
    Home,
    /// It lay elsewhere, and is not there any more.
    Moved {
        /// The recorded folder; `None` for a store that has not been opened before.
        from: Option<PathBuf>,
        /// The files are others than before: copied, and not renamed. So it is with a restored backup too.
        copied: bool,
    },
    /// The store is still where it lay, and this is another one with the same content.
    Copy {
        /// The folder of the original.
        of: PathBuf,
    },
}

/// Why a store could not be adopted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdoptError {
    /// The database is one file with two names (hard links), so that what is written to one store changes the other.
    #[error("`{path}` and `{original}` are one file: copy the folder again, without hard links")]
    OneFile {
        /// The database of the copy.
        path: PathBuf,
        /// That of the original.
        original: PathBuf,
    },
    /// The store could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl Identity {
    /// As the database has it.
    pub(crate) fn read(conn: &Connection) -> rusqlite::Result<Self> {
        let sql =
            "SELECT id, folder, inode, adopted_from, shares_workspaces, adopted_run, copied_event FROM store";
        let found = conn.query_row(sql, [], |row| {
            let path = |text: Option<String>| text.map(PathBuf::from);
            Ok(Self {
                id: row.get(0)?,
                folder: path(row.get(1)?),
                inode: row.get::<_, Option<i64>>(2)?.map(i64::cast_unsigned),
                adopted_from: path(row.get(3)?),
                shares_workspaces: row.get(4)?,
                adopted_run: row.get(5)?,
                copied_event: row.get(6)?,
                is_lost: false,
            })
        });
        match found {
            Err(error) if error.sqlite_error_code().is_none() => Self::lost(conn),
            found => found,
        }
    }

    /// The identity of a store whose row is missing or cannot be read. It may be a copy: live attempts are in doubt.
    fn lost(conn: &Connection) -> rusqlite::Result<Self> {
        let sql = "SELECT coalesce((SELECT substr(id, 5) FROM journals ORDER BY run LIMIT 1), lower(hex(randomblob(16)))), \
                   (SELECT coalesce(max(event), 0) FROM events WHERE event <= 1 << 60)";
        conn.query_row(sql, [], |row| {
            let id: String = row.get_ref(0)?.as_bytes().map(|id| String::from_utf8_lossy(id).into_owned())?;
            Ok(Self {
                id: format!("store_{id}"),
                folder: None,
                inode: None,
                adopted_from: None,
                shares_workspaces: false,
                adopted_run: 0,
                copied_event: row.get(1)?,
                is_lost: true,
            })
        })
    }

    /// Whether the folder at `root`, which holds this store now, is its home.
    pub(crate) fn standing(&self, root: &Path) -> io::Result<Standing> {
        let here = fs::metadata(root)?;
        let mark = mark_of(&here);
        // A store that an older build has made and that lies elsewhere now may have been copied or renamed.
        let copied = self
            .inode
            .map_or(self.folder.as_deref() != Some(root), |known| known != mark && known != here.ino());
        let moved = |from: &Path| Standing::Moved { from: Some(from.to_owned()), copied };
        let Some(folder) = self.folder.as_deref() else {
            return Ok(Standing::Moved { from: None, copied: self.is_lost });
        };
        if folder == root {
            // The same path with another mark: a backup was restored here. Devices have other numbers after a restart.
            return Ok(if self.inode == Some(mark) { Standing::Home } else { moved(folder) });
        }
        match fs::metadata(folder) {
            Ok(there) if (there.dev(), there.ino()) == (here.dev(), here.ino()) => Ok(Standing::Home),
            Err(error) if is_gone(&error) => Ok(moved(folder)),
            Ok(_) | Err(_) if self.lies_at(folder) => Ok(Standing::Copy { of: folder.to_owned() }),
            Ok(_) | Err(_) => Ok(moved(folder)),
        }
    }

    /// Whether the store in `folder` has this id. A store that cannot be read may have it.
    fn lies_at(&self, folder: &Path) -> bool {
        let db = Layout::new(folder).db();
        match fs::metadata(&db) {
            Err(error) if is_gone(&error) => false,
            _ => id_at(&db).is_none_or(|id| id.is_some_and(|id| id == self.id)),
        }
    }
}

/// The damage of the row.
pub(crate) fn damage(conn: &Connection) -> rusqlite::Result<Option<DamagedRow>> {
    let found = |reason, cure| DamagedRow { table: "store", key: String::new(), reason, cure: Some(cure) };
    let identity = Identity::read(conn)?;
    if identity.is_lost {
        return Ok(Some(found(
            "what the store knows of itself is missing or cannot be read".to_owned(),
            "made again by the next command that uses the store; steps that are live then are in doubt",
        )));
    }
    let Newest { event, run } = newest(conn)?;
    let beyond = [("event", identity.copied_event, event), ("run", identity.adopted_run, run)];
    let wrong = beyond.into_iter().find(|(_, number, newest)| !(0..=*newest).contains(number));
    Ok(wrong.map(|(what, number, newest)| {
        found(
            format!("it was copied after {what} number {number}, and the newest one is {newest}: all steps are in doubt"),
            "set to the newest one; steps that are live now are in doubt",
        )
    }))
}

/// The highest numbers that can be ones of rows. Above them SQLite chooses numbers by chance.
struct Newest {
    event: i64,
    run: i64,
}

fn newest(conn: &Connection) -> rusqlite::Result<Newest> {
    let sql = "SELECT (SELECT coalesce(max(event), 0) FROM events WHERE event <= 1 << 60), \
               (SELECT coalesce(max(run), 0) FROM journals WHERE run <= 1 << 60)";
    conn.query_row(sql, [], |row| Ok(Newest { event: row.get(0)?, run: row.get(1)? }))
}

/// Sets what no store can have been copied after to the newest event and run, and returns what was wrong. Within a transaction,
/// after [`renumber`].
pub(crate) fn mend(conn: &Connection) -> rusqlite::Result<Option<DamagedRow>> {
    let damage = damage(conn)?;
    if damage.is_some() {
        let Newest { event, run } = newest(conn)?;
        let sql = "UPDATE store SET copied_event = CASE WHEN copied_event BETWEEN 0 AND ?1 THEN copied_event ELSE ?1 END, \
                   adopted_run = CASE WHEN adopted_run BETWEEN 0 AND ?2 THEN adopted_run ELSE ?2 END";
        conn.execute(sql, [event, run])?;
    }
    Ok(damage)
}

/// Gives events the next numbers whose own are none that an event is given: those before a number must be those that were
/// committed before.
fn renumber(conn: &Connection) -> rusqlite::Result<()> {
    let sql = "SELECT event FROM events WHERE event < 1 OR event > 1 << 60 ORDER BY at_ms, run, seq";
    let mut statement = conn.prepare(sql)?;
    let wrong: Vec<i64> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for event in wrong {
        let sql = "UPDATE events SET event = ?2 WHERE event = ?1";
        conn.execute(sql, [event, newest(conn)?.event.saturating_add(1)])?;
    }
    Ok(())
}

/// The identity of a folder: its inode with its time of birth, as a number. A removed folder leaves its inode to the next one, often at
/// once. If the file system keeps no such time, it is the inode alone.
fn mark_of(folder: &fs::Metadata) -> u64 {
    mark(folder.ino(), folder.created().ok())
}

fn mark(inode: u64, born: Option<SystemTime>) -> u64 {
    /// Spreads near times over all bits (Knuth, The Art of Computer Programming 3, 6.4: multiplicative hashing).
    const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
    let nanos =
        born.and_then(|born| born.duration_since(UNIX_EPOCH).ok()).map_or(0, |since| since.as_nanos());
    inode ^ u64::try_from(nanos).unwrap_or(u64::MAX).wrapping_mul(SPREAD)
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The id of the store in another folder; the outer `None` if it cannot be read, the inner one if it has none.
fn id_at(db: &Path) -> Option<Option<String>> {
    let conn = schema::glance(db).ok()?;
    let read = |sql| conn.query_row(sql, [], |row| row.get::<_, String>(0)).optional();
    let has = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'store'";
    let id = match read(has).ok()? {
        Some(_) => read("SELECT id FROM store"),
        // An older build uses it: the id that its migration will give it.
        None => read("SELECT 'store_' || substr(id, 5) FROM journals ORDER BY run LIMIT 1"),
    };
    id.ok()
}

/// Remembers that the store lies in `root` now. `copied`: no live attempt of it is known to be one of the processes here.
pub(crate) fn settle(conn: &mut Connection, root: &Path, copied: bool) -> rusqlite::Result<()> {
    let Some(text) = root.to_str() else { return Ok(()) };
    let inode = fs::metadata(root).ok().map(|here| mark_of(&here).cast_signed());
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let identity = Identity::read(&transaction)?;
    if identity.is_lost {
        transaction.execute("DELETE FROM store", [])?;
        transaction.execute("INSERT INTO store (one, id) VALUES (1, ?1)", [identity.id])?;
    }
    if copied {
        renumber(&transaction)?;
    }
    let sql = "UPDATE store SET folder = ?1, inode = ?2, \
               copied_event = CASE WHEN ?3 THEN (SELECT coalesce(max(event), 0) FROM events) ELSE copied_event END";
    transaction.execute(sql, params![text, inode, copied])?;
    transaction.commit()
}

/// Makes a copy a store of its own, which lies in the folder of `layout`: all of it in one transaction, so that it is a copy or
/// adopted, whenever the process is killed.
pub(crate) fn adopt(
    conn: &mut Connection,
    layout: &Layout,
    of: &Path,
    shares_workspaces: bool,
) -> Result<(), AdoptError> {
    let path = layout.db();
    let original = Layout::new(of).db();
    let file = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    if file(&path).is_some() && file(&path) == file(&original) {
        return Err(AdoptError::OneFile { path, original });
    }
    let inode = fs::metadata(layout.root()).ok().map(|here| mark_of(&here).cast_signed());
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut write = || {
        let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        renumber(&transaction)?;
        let sql = "UPDATE store SET id = 'store_' || lower(hex(randomblob(16))), folder = ?1, inode = ?2, adopted_from = ?3, \
                   shares_workspaces = ?4, adopted_run = (SELECT coalesce(max(run), 0) FROM journals), \
                   copied_event = (SELECT coalesce(max(event), 0) FROM events)";
        transaction.execute(sql, params![text(layout.root()), inode, text(of), shares_workspaces])?;
        // The original store sends the notices that are still open.
        let sql = "UPDATE deliveries SET gave_up_at_ms = next_try_at_ms, last_error = 'told by the store that this one was copied from' \
                   WHERE delivered_at_ms IS NULL AND gave_up_at_ms IS NULL";
        transaction.execute(sql, [])?;
        transaction.commit()
    };
    write().map_err(|error| schema::open_error(&path, error).into())
}

/// Lets runs that the original has begun work in its workspaces outside of the project's folder.
pub(crate) fn share_workspaces(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute("UPDATE store SET shares_workspaces = 1", []).map(drop)
}

/// The machine's error about the place of a store, as one of opening it.
pub(crate) fn unplaced(root: &Path, error: io::Error) -> OpenError {
    let source: Cause = Arc::new(error);
    OpenError::Io { path: root.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Store,
        testing::{attempt, commit, run, started, visit},
    };

    /// Whether the attempt of the store in `root`, opened there, may live elsewhere.
    fn may_live_elsewhere(root: &Path) -> bool {
        let store = Store::open(Layout::new(root)).unwrap();
        store.reader().unwrap().is_of_original(&run("a"), &visit("critic", 1).attempt(1)).unwrap()
    }

    #[test]
    fn an_attempt_of_a_store_that_was_renamed_is_known_and_of_one_whose_files_are_others_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        let store = Store::open(Layout::new(&first)).unwrap();
        let writer = store.writer(store.take_epoch().unwrap()).unwrap();
        writer.commit(commit(&run("a"), 0, [started(&run("a")), attempt("critic", 1)])).unwrap();
        writer.close();
        drop(store);
        assert!(!may_live_elsewhere(&first));
        fs::rename(&first, &second).unwrap();
        assert!(!may_live_elsewhere(&second), "its processes are the same");
        // As a backup is restored to the place it was made of: other files under the same path.
        let bytes = fs::read(Layout::new(&second).db()).unwrap();
        fs::rename(&second, &first).unwrap();
        fs::create_dir(&second).unwrap();
        fs::write(Layout::new(&second).db(), bytes).unwrap();
        fs::remove_dir_all(&first).unwrap();
        assert!(may_live_elsewhere(&second));
        assert!(may_live_elsewhere(&second), "that is remembered");
    }

    #[test]
    fn one_event_with_a_wild_number_puts_no_later_step_in_doubt() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        let store = Store::open(Layout::new(&first)).unwrap();
        let writer = store.writer(store.take_epoch().unwrap()).unwrap();
        writer.commit(commit(&run("a"), 0, [started(&run("a")), attempt("critic", 1)])).unwrap();
        writer.close();
        drop(store);
        let damage = |root: &Path, sql: &str| {
            schema::connect(&Layout::new(root).db()).unwrap().execute(sql, []).unwrap();
        };
        damage(&first, "UPDATE events SET event = 9223372036854775807 WHERE seq = 1");
        fs::create_dir(&second).unwrap();
        fs::copy(Layout::new(&first).db(), Layout::new(&second).db()).unwrap();
        fs::remove_dir_all(&first).unwrap();
        let store = Store::open(Layout::new(&second)).unwrap();
        let is_of_original = |store: &Store, nth| {
            let reader = store.reader().unwrap();
            reader.is_of_original(&run("a"), &visit("critic", nth).attempt(1)).unwrap()
        };
        assert!(is_of_original(&store, 1), "it was committed before the store was restored");
        let go_on = |store: &Store, seq, nth| {
            let writer = store.writer(store.take_epoch().unwrap()).unwrap();
            writer.commit(commit(&run("a"), seq, [attempt("critic", nth)])).unwrap();
            writer.close();
        };
        go_on(&store, 2, 2);
        assert!(!is_of_original(&store, 2), "it was committed after that");
        // As an older build has left it.
        damage(&second, "UPDATE store SET copied_event = 9223372036854775807");
        let store = Store::open(Layout::new(&second)).unwrap();
        let damaged = |store: &Store| store.reader().unwrap().damaged_rows().unwrap();
        assert!(
            damaged(&store)[0].reason.starts_with("it was copied after event number 9223372036854775807")
        );
        crate::repair(&store, store.take_epoch().unwrap(), crate::RepairOptions::default()).unwrap();
        assert_eq!(damaged(&store), []);
        go_on(&store, 3, 3);
        let store = Store::open(Layout::new(&second)).unwrap();
        assert!(is_of_original(&store, 2) && !is_of_original(&store, 3));
    }

    #[test]
    fn a_backup_is_recognised_although_its_folder_has_the_inode_of_the_one_before() {
        let born = |s| Some(UNIX_EPOCH + std::time::Duration::from_secs(s));
        assert_eq!((mark(7, None), mark(7, born(0))), (7, 7), "nothing is known but the inode");
        assert_ne!(mark(7, born(1)), mark(7, born(2)));
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("store");
        let store = Store::open(Layout::new(&root)).unwrap();
        let writer = store.writer(store.take_epoch().unwrap()).unwrap();
        writer.commit(commit(&run("a"), 0, [started(&run("a")), attempt("critic", 1)])).unwrap();
        writer.close();
        drop(store);
        let here = fs::metadata(&root).unwrap();
        let lies = |known: u64| {
            let conn = Connection::open(Layout::new(&root).db()).unwrap();
            conn.execute("UPDATE store SET inode = ?1", [known.cast_signed()]).unwrap();
        };
        lies(here.ino());
        assert!(!may_live_elsewhere(&root), "an older build has opened it here");
        let conn = Connection::open(Layout::new(&root).db()).unwrap();
        assert_eq!(
            Identity::read(&conn).unwrap().inode,
            Some(mark_of(&here)),
            "its mark is known from now on"
        );
        lies(mark(here.ino(), born(1)));
        assert!(may_live_elsewhere(&root), "another folder had this inode before");
    }

    #[test]
    fn an_original_that_cannot_be_read_is_still_there_and_another_name_of_a_folder_is_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second, link] = ["first", "second", "link"].map(|name| folder.path().join(name));
        drop(Store::open(Layout::new(&first)).unwrap());
        std::os::unix::fs::symlink(&first, &link).unwrap();
        assert_eq!(Store::open_any(Layout::new(&link)).unwrap().standing().unwrap(), Standing::Home);
        fs::create_dir(&second).unwrap();
        fs::copy(Layout::new(&first).db(), Layout::new(&second).db()).unwrap();
        fs::write(Layout::new(&first).db(), "no database").unwrap();
        let error = Store::open(Layout::new(&second)).unwrap_err();
        assert!(matches!(&error, OpenError::Copied { original, .. } if *original == first), "{error}");
    }
}
