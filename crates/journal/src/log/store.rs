//! The store as a whole: opened once a process, handing out the writer, readers and content.

mod a2a;
mod network;

use crate::{
    folder::{beneath::PathBeneath, blobs::Blobs, layout::Layout},
    log::{
        idle_connections::IdleConnections,
        manifest_index::ManifestIndex,
        reader::Reader,
        writer::{self, Writer},
    },
    model::{
        commit::{Epoch, Patience},
        damage::DamagedRow,
        error::{CommitError, FileError, OpenError, ReadError},
    },
    tables::{
        epoch,
        identity::{self, AdoptError, Identity, Standing},
        schema::{self, Access},
    },
};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use rustix::process::geteuid;
use std::{
    fs, io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// A store whose schema is the one known here. Cheap to clone.
///
/// It keeps a connection, so that the WAL is not written back and removed each time the last other one is closed.
#[derive(Debug, Clone)]
pub struct Store {
    layout: Layout,
    blobs: Blobs,
    manifest_index: ManifestIndex,
    conn: Arc<Mutex<Connection>>,
    idle: IdleConnections,
    access: Access,
    /// Its runs are those of a store elsewhere.
    is_mirror: bool,
}

impl Store {
    /// Refuses the store of another user: that user could not change the files that this process would make in it. A store that is not there yet
    /// is accepted.
    ///
    /// # Errors
    /// [`OpenError::OfAnother`].
    pub fn check_owner(layout: &Layout) -> Result<(), OpenError> {
        schema::refuse_of_another(&layout.db(), geteuid().as_raw(), schema::owner_of_new)
    }

    /// Makes the folder and the database where they are missing, brings the schema up to date, and remembers where the store
    /// lies.
    ///
    /// # Errors
    /// [`OpenError`]: a newer store, an older one that an engine works with, another's migration, a copy, damage, or the
    /// machine.
    pub fn open(layout: Layout) -> Result<Self, OpenError> {
        let store = Self::open_any(layout)?;
        let root = store.layout.root();
        let (path, settled) = match store.standing()? {
            Standing::Home => return Ok(store),
            Standing::Copy { of } => {
                return Err(OpenError::Copied { path: root.to_owned(), original: of });
            }
            Standing::Moved { copied, .. } => {
                let mut conn = store.conn.lock().unwrap_or_else(PoisonError::into_inner);
                (store.layout.db(), identity::settle(&mut conn, root, copied))
            }
        };
        settled.map_err(|error| schema::open_error(&path, error))?;
        Ok(store)
    }

    /// As [`Store::open`], also for a copy: to look at it closely, and to adopt it. Remembers nothing.
    ///
    /// # Errors
    /// As [`Store::open`], but for [`OpenError::Copied`].
    pub fn open_any(layout: Layout) -> Result<Self, OpenError> {
        Self::check_owner(&layout)?;
        layout
            .create()
            .map_err(|error| OpenError::Io { path: layout.root().to_owned(), source: Arc::new(error) })?;
        let conn = Arc::new(Mutex::new(schema::open(&layout)?));
        let blobs = Blobs::new(layout.clone());
        Ok(Self {
            layout,
            blobs,
            manifest_index: ManifestIndex::default(),
            conn,
            idle: IdleConnections::default(),
            access: Access::Full,
            is_mirror: false,
        })
    }

    /// A store to look at: makes and migrates nothing, so that it may be called while any engine runs, and on a folder
    /// that may not be written. [`Store::reader`] reads; every write fails.
    ///
    /// In a folder that may be written SQLite makes `envoi.db-shm` and an empty `-wal` where they are missing. In one that may
    /// not be, no other process may change the store meanwhile.
    ///
    /// # Errors
    /// [`OpenError`]: no store, an older or newer one, damage, commits that cannot be read without writing, or the machine.
    pub fn open_read_only(layout: Layout) -> Result<Self, OpenError> {
        let (conn, access) = schema::open_read_only(&layout.db())?;
        let blobs = Blobs::new(layout.clone());
        Ok(Self {
            layout,
            blobs,
            manifest_index: ManifestIndex::default(),
            conn: Arc::new(Mutex::new(conn)),
            idle: IdleConnections::default(),
            access,
            is_mirror: false,
        })
    }

    /// The store's data on itself.
    ///
    /// # Errors
    /// [`OpenError`] of the database.
    pub fn identity(&self) -> Result<Identity, OpenError> {
        let conn = self.conn.lock().unwrap_or_else(PoisonError::into_inner);
        Identity::read(&conn).map_err(|error| schema::open_error(&self.layout.db(), error))
    }

    /// Whether the store lies where it did, was moved, or is a copy.
    ///
    /// # Errors
    /// [`OpenError`] of the database or its folder.
    pub fn standing(&self) -> Result<Standing, OpenError> {
        let root = self.layout.root();
        self.identity()?.standing(root).map_err(|error| identity::unplaced(root, error))
    }

    /// Makes a copy a store of its own: a new id, and this folder as its place. Attempts that were live in the original are
    /// in doubt here, no matter what the policies of their steps are, and a person must answer. Returns where the original
    /// lies, or `None` if the store is no copy; then nothing changes.
    ///
    /// To be called by the holder of the lease. `shares_workspaces`: runs that the original has begun may work in its
    /// workspaces outside of the project's folder.
    ///
    /// # Errors
    /// [`AdoptError`]
    pub fn adopt(&self, shares_workspaces: bool) -> Result<Option<PathBuf>, AdoptError> {
        let standing = self.standing()?;
        let mut conn = self.conn.lock().unwrap_or_else(PoisonError::into_inner);
        let of = match standing {
            Standing::Copy { of } => Some(of),
            Standing::Home | Standing::Moved { .. } => None,
        };
        match &of {
            Some(of) => identity::adopt(&mut conn, &self.layout, of, shares_workspaces)?,
            None if shares_workspaces => identity::share_workspaces(&conn)
                .map_err(|error| schema::open_error(&self.layout.db(), error))?,
            None => {}
        }
        Ok(of)
    }

    /// The paths of the store.
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
        writer::take_epoch(&self.conn.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes the number of the newest engine again if it is missing or damaged: a number that no engine has had. To be called by
    /// the holder of the lease, before [`Store::take_epoch`]. Returns what was wrong.
    ///
    /// # Errors
    /// As [`Store::take_epoch`].
    pub fn mend_epoch(&self) -> Result<Option<DamagedRow>, CommitError> {
        self.with_conn(|conn| {
            let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
            let mended = epoch::mend(&transaction)?;
            transaction.commit()?;
            Ok(mended)
        })
    }

    /// As [`Store::take_epoch`], but a database that another process keeps locked is waited for, without end while `waits`
    /// returns true. It is called after each try in vain, with their number so far; one try lasts `each`.
    ///
    /// # Errors
    /// [`CommitError::Busy`] once it is waited for no longer; otherwise the machine.
    pub fn take_epoch_in_time(
        &self,
        each: Duration,
        waits: impl Fn(u32) -> bool,
    ) -> Result<Epoch, CommitError> {
        let mut tries = 0_u32;
        loop {
            let conn = self.conn.lock().unwrap_or_else(PoisonError::into_inner);
            conn.busy_timeout(each).map_err(writer::commit_error)?;
            let taken = writer::take_epoch(&conn);
            // Whatever else this connection is used for waits as ever.
            conn.busy_timeout(schema::BUSY).map_err(writer::commit_error)?;
            drop(conn);
            tries = tries.saturating_add(1);
            if !matches!(taken, Err(CommitError::Busy)) || !waits(tries) {
                return taken;
            }
        }
    }

    /// The connection of this process, for what is written beside the events.
    pub(crate) fn with_conn<T>(
        &self,
        write: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, CommitError> {
        let conn = self.conn.lock().unwrap_or_else(PoisonError::into_inner);
        write(&conn).map_err(writer::commit_error)
    }

    /// Writes the database anew, without its free pages. Otherwise they are used again, and the file does not
    /// get smaller: `auto_vacuum` would write half a page more for each step. Returns its bytes before and after.
    /// To be called by the holder of the lease, when nothing else uses the store.
    ///
    /// # Errors
    /// There is no room for a copy of it, or the machine's. It is as before then.
    pub fn compact(&self) -> io::Result<(u64, u64)> {
        let db = self.layout.db();
        let before = db.metadata()?.len();
        let room = rustix::fs::statvfs(self.layout.root())?;
        let free = room.f_bavail.saturating_mul(room.f_frsize);
        // The copy, and the log through which it is written.
        let needed = before.saturating_mul(2);
        if free < needed {
            let reason = format!("{needed} bytes are needed to compact it, and {free} are free");
            return Err(io::Error::new(io::ErrorKind::StorageFull, reason));
        }
        let sql = "PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE)";
        self.with_conn(|conn| conn.execute_batch(sql))
            .map_err(|error| io::Error::other(crate::with_causes(&error)))?;
        Ok((before, db.metadata()?.len()))
    }

    /// Whether no later holder has taken over since `epoch` was taken.
    ///
    /// # Errors
    /// The machine's.
    pub fn is_current(&self, epoch: Epoch) -> Result<bool, CommitError> {
        match self.check_epoch(epoch) {
            Ok(()) => Ok(true),
            Err(CommitError::Fenced { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn check_epoch(&self, ours: Epoch) -> Result<(), CommitError> {
        writer::check_epoch(&self.conn.lock().unwrap_or_else(PoisonError::into_inner), ours)
    }

    /// Starts the writer thread of this holder. A process has one.
    ///
    /// # Errors
    /// [`CommitError::Io`] when the database or the thread cannot be had.
    pub fn writer(&self, epoch: Epoch) -> Result<Writer, CommitError> {
        let conn = schema::connect_as(&self.layout.db(), self.access).map_err(writer::commit_error)?;
        Writer::start(conn, epoch, None)
    }

    /// As [`Store::writer`], but a database that another process keeps locked is waited for, without end while `patience`
    /// returns true and no other holder has taken over: no submitted commit is lost.
    ///
    /// # Errors
    /// As [`Store::writer`].
    pub fn patient_writer(&self, epoch: Epoch, patience: Patience) -> Result<Writer, CommitError> {
        let conn = schema::connect_as(&self.layout.db(), self.access).map_err(writer::commit_error)?;
        Writer::start(conn, epoch, Some(patience))
    }

    /// Removes what interrupted writes left, and returns the number of files. Only for the holder of the lease, before it writes. A file of
    /// a process that lives stays: a merge outlives the engine that has started it, and writes here too. A file that is gone meanwhile got
    /// its name from such a process. So does a folder that such a process has made; any other folder there is not the store's and stays.
    ///
    /// # Errors
    /// [`FileError::Io`] names what is no folder of the store, or cannot be removed.
    pub fn sweep(&self) -> Result<u64, FileError> {
        let folder = self.layout.temporary();
        // The target of a link does not belong to the store.
        PathBeneath::make(self.layout.root(), &folder.join("new"))?;
        let failed = |source| FileError::Io { path: folder.clone(), source };
        let mut swept = 0;
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && !envoi_durable::is_temporary(&entry.file_name()) {
                continue;
            }
            let changed = entry.metadata().and_then(|found| found.modified());
            if changed.is_ok_and(|changed| envoi_durable::is_being_written(&entry.file_name(), changed)) {
                continue;
            }
            let path = entry.path();
            if is_folder {
                // A folder that cannot be removed does no harm.
                swept += u64::from(fs::remove_dir_all(&path).is_ok());
                continue;
            }
            match fs::remove_file(&path) {
                Ok(()) => swept += 1,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(FileError::Io { path, source }),
            }
        }
        Ok(swept)
    }

    /// A connection of its own for reading; sees what was committed before each call. It is cheap: a connection that an earlier
    /// reader has given back is used again.
    ///
    /// # Errors
    /// [`ReadError::Io`] when the database cannot be opened.
    pub fn reader(&self) -> Result<Reader, ReadError> {
        let (layout, blobs, index) = (self.layout.clone(), self.blobs(), self.manifest_index.clone());
        let reader = Reader::open(layout, self.access, blobs, index, &self.idle)?;
        Ok(if self.is_mirror { reader.of_mirror() } else { reader })
    }

    /// How many connections this store has opened for its readers up to now. The others were given one that an earlier reader had given back.
    #[must_use]
    pub fn connections_opened(&self) -> u64 {
        self.idle.opened()
    }

    #[cfg(test)]
    pub(crate) fn idle_connections(&self) -> &IdleConnections {
        &self.idle
    }

    /// For a store that shows the runs of a store elsewhere: their paths are those of their events, and never translated to
    /// this store's place.
    #[must_use]
    pub fn as_mirror(self) -> Self {
        Self { is_mirror: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        iter,
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    #[test]
    fn a_file_that_gets_its_name_while_it_would_be_swept_is_none_of_ours() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Layout::new(folder.path().join(".envoi"))).unwrap();
        let from = store.layout().temporary();
        let to = store.layout().runs();
        let over = AtomicBool::new(false);
        let results: Vec<_> = thread::scope(|scope| {
            // Another engine, which makes many files and names them.
            scope.spawn(|| {
                for round in 0..30 {
                    let names: Vec<_> = (0..20).map(|n| format!("{round}-{n}")).collect();
                    names.iter().for_each(|name| drop(fs::write(from.join(name), "")));
                    names.iter().for_each(|name| drop(fs::rename(from.join(name), to.join(name))));
                }
                over.store(true, Ordering::Relaxed);
            });
            std::iter::from_fn(|| (!over.load(Ordering::Relaxed)).then(|| store.sweep())).collect()
        });
        assert!(results.iter().all(Result::is_ok), "{:?}", results.iter().find(|result| result.is_err()));
    }

    #[test]
    fn many_may_make_the_same_store_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().join("a/.envoi"));
        let epochs = thread::scope(|scope| {
            // On a slow disk the last ones get `Busy` and may try again.
            let take = || {
                let mut opened = iter::repeat_with(|| Store::open(layout.clone()));
                let store =
                    opened.find(|store| !matches!(store, Err(OpenError::Busy { .. }))).unwrap().unwrap();
                let mut taken = iter::repeat_with(|| store.take_epoch());
                taken.find(|epoch| !matches!(epoch, Err(CommitError::Busy))).unwrap().unwrap()
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(take)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap().0).collect::<Vec<_>>()
        });
        let mut sorted = epochs;
        sorted.sort_unstable();
        assert_eq!(sorted, (1..=8).collect::<Vec<_>>());
    }
}
