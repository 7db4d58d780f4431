//! Which process is the engine: the one that holds the flock of `engine.lock`, as long as the path still names that file.
//!
//! Owns taking, announcing, handing over and taking over. Does not fence the database: a new holder also takes an epoch
//! ([`crate::Store::take_epoch`]), because one that was stopped and wakes up still holds the flock of the old file.

use crate::folder::layout::Layout;
use envoi_durable::{Temporary, open_regular, open_regular_with};
use rustix::fs::OFlags;
use std::{
    fs::{self, File, Permissions, TryLockError},
    io::{self, Read as _},
    os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::SystemTime,
};

/// Anyone who can open the file, even only for reading, can lock it. No engine could start then.
const OWNER_ALONE: u32 = 0o600;

/// The right to be the engine of a store.
///
/// It ends with the process, or by [`Lease::release`]. Dropping it does *not* unlock: a holder that unwinds, or exits
/// while threads still work, stays the holder until the last of them is gone. The descriptor is close-on-exec, so that no
/// child keeps it past its exec.
#[derive(Debug)]
#[must_use = "a lease that is dropped can no longer be released"]
pub struct Lease {
    /// `None` only while it is being dropped.
    file: Option<File>,
    path: PathBuf,
    /// Whether it has announced itself.
    announced: AtomicBool,
}

/// The state of the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Whether a process is the engine.
    pub held: bool,
    /// When an engine last came or went in order, as far as the file system knows.
    pub changed: Option<SystemTime>,
}

/// The result of a request for the lease.
#[derive(Debug)]
pub enum Taken {
    /// The caller is the engine now.
    Lease(Lease),
    /// Another process is the engine; its announcement, or `None` before it has one.
    Held(Option<Holder>),
}

/// The announcement of a holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// Its socket; empty if it does not listen.
    pub socket: PathBuf,
}

/// Why the lease could be neither taken nor found held.
#[derive(Debug, thiserror::Error)]
#[error("`{path}` cannot be taken or written: {source}")]
pub struct LeaseError {
    /// The lock file.
    pub path: PathBuf,
    /// The error of the machine.
    pub source: io::Error,
}

impl Lease {
    /// Takes the lease if it is free. Never waits.
    ///
    /// # Errors
    /// [`LeaseError`] when the machine refuses; a lease that is held is no error.
    pub fn try_take(layout: &Layout) -> Result<Taken, LeaseError> {
        let path = layout.engine_lock();
        attempt(&path).map_err(|source| LeaseError { path, source })
    }

    /// Becomes the holder, whether or not another process is, by putting a new file in the old one's place.
    ///
    /// The old holder keeps the flock of a file that no path names. Take an epoch next: before that it can still commit.
    ///
    /// # Errors
    /// [`LeaseError`] when the machine refuses.
    pub fn take_over(layout: &Layout) -> Result<Self, LeaseError> {
        let mark = layout.replica_mark();
        if mark.symlink_metadata().is_ok() {
            let source =
                io::Error::other("the runs of this store are decided in a cluster: it has no engine");
            return Err(LeaseError { path: mark, source });
        }
        let path = layout.engine_lock();
        let replace = || {
            let (temporary, file) = Temporary::create(envoi_durable::parent(&path))?;
            file.set_permissions(Permissions::from_mode(OWNER_ALONE))?;
            file.lock()?;
            temporary.rename(&path)?;
            Ok(file)
        };
        match replace() {
            Ok(file) => Ok(Self { file: Some(file), path, announced: AtomicBool::new(false) }),
            Err(source) => Err(LeaseError { path, source }),
        }
    }

    /// The state of the lock, without taking it. The lock is held shared for this moment; a process that wants it then tries
    /// again.
    ///
    /// # Errors
    /// [`LeaseError`] when the file cannot be read.
    pub fn look(layout: &Layout) -> Result<Seen, LeaseError> {
        let path = layout.engine_lock();
        look(&path).map_err(|source| LeaseError { path, source })
    }

    /// Announces the holder and its socket, for processes that find it held.
    ///
    /// # Errors
    /// [`LeaseError`] when the file cannot be written.
    pub fn announce(&self, holder: &Holder) -> Result<(), LeaseError> {
        let text = format!("{}\n{}\n", holder.pid, holder.socket.display());
        let Some(file) = &self.file else { return Ok(()) };
        self.announced.store(true, Ordering::Relaxed);
        let write = || {
            file.set_len(0)?;
            file.write_all_at(text.as_bytes(), 0)
        };
        write().map_err(|source| LeaseError { path: self.path.clone(), source })
    }

    /// Whether the path still names this lease's file: `false` once another process has taken over.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.file.as_ref().is_some_and(|file| names(&self.path, file).unwrap_or(false))
    }

    /// Gives the lease back.
    pub fn release(mut self) {
        if let Some(file) = self.file.take().filter(|_| self.announced.load(Ordering::Relaxed)) {
            // The announcement is no longer true; a process that reads it before the unlock tries again. The last change
            // of the file shows when an engine ended: a holder without an announcement was no engine.
            drop(file.set_len(0));
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            std::mem::forget(file);
        }
    }
}

fn look(path: &Path) -> io::Result<Seen> {
    let file = match open_regular(path) {
        Ok(file) => file,
        // No process has ever been the engine.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Seen { held: false, changed: None });
        }
        Err(error) => return Err(error),
    };
    let changed = file.metadata()?.modified().ok();
    match file.try_lock_shared() {
        Ok(()) => Ok(Seen { held: false, changed }),
        Err(TryLockError::WouldBlock) => Ok(Seen { held: true, changed }),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn attempt(path: &Path) -> io::Result<Taken> {
    loop {
        // A step can put a link or a pipe here: it must not lead elsewhere, and not be waited for.
        let file = open_regular_with(path, OFlags::RDWR | OFlags::CREATE)?;
        if let Some(taken) = lock(path, file)? {
            return Ok(taken);
        }
    }
}

/// `None` when the path no longer names the file that was opened: another one has to be tried.
fn lock(path: &Path, file: File) -> io::Result<Option<Taken>> {
    match file.try_lock() {
        Err(TryLockError::Error(error)) => Err(error),
        _ if !names(path, &file)? => Ok(None),
        Err(TryLockError::WouldBlock) => Ok(Some(Taken::Held(holder(file)))),
        Ok(()) => {
            close_to_others(&file);
            let announced = AtomicBool::new(false);
            Ok(Some(Taken::Lease(Lease { file: Some(file), path: path.to_owned(), announced })))
        }
    }
}

/// A file that others can read is a file that they can lock. Versions before this one made such files. If the mode cannot be changed, the
/// lease works as before.
fn close_to_others(file: &File) {
    let is_open = file.metadata().is_ok_and(|found| found.mode() & 0o777 != OWNER_ALONE);
    if is_open {
        drop(file.set_permissions(Permissions::from_mode(OWNER_ALONE)));
    }
}

fn names(path: &Path, file: &File) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The announcement in the file, if it is whole: both lines, both ended.
fn holder(mut file: File) -> Option<Holder> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    let (pid, socket) = text.strip_suffix('\n')?.split_once('\n')?;
    Some(Holder { pid: pid.parse().ok()?, socket: socket.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> (tempfile::TempDir, Layout) {
        let place = tempfile::tempdir().unwrap();
        let layout = Layout::new(place.path());
        (place, layout)
    }

    fn take(layout: &Layout) -> Lease {
        match Lease::try_take(layout).unwrap() {
            Taken::Lease(lease) => lease,
            Taken::Held(holder) => panic!("held by {holder:?}"),
        }
    }

    fn held(layout: &Layout) -> Option<Holder> {
        match Lease::try_take(layout).unwrap() {
            Taken::Lease(_) => panic!("it was free"),
            Taken::Held(holder) => holder,
        }
    }

    #[test]
    fn the_reason_of_the_system_is_passed_on() {
        let (place, _) = layout();
        let root = place.path().join("file");
        fs::write(&root, "no folder").unwrap();
        let error = Lease::try_take(&Layout::new(&root)).unwrap_err();
        let path = root.join("engine.lock");
        let expected = format!("`{}` cannot be taken or written: {}", path.display(), error.source);
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.source.kind(), io::ErrorKind::NotADirectory);
    }

    #[test]
    fn no_other_user_can_lock_the_file() {
        let (_place, layout) = layout();
        let mode = || fs::metadata(layout.engine_lock()).unwrap().permissions().mode() & 0o777;
        take(&layout).release();
        assert_eq!(mode(), 0o600, "as it was made");
        // As a version before this one has made it.
        fs::set_permissions(layout.engine_lock(), Permissions::from_mode(0o644)).unwrap();
        take(&layout).release();
        assert_eq!(mode(), 0o600, "after the next engine");
        Lease::take_over(&layout).unwrap().release();
        assert_eq!(mode(), 0o600, "after an engine that took over");
    }

    #[test]
    fn what_is_no_regular_file_is_neither_followed_nor_waited_for() {
        use std::os::unix::fs::symlink;
        let (place, layout) = layout();
        let theirs = place.path().join("theirs");
        fs::write(&theirs, "precious").unwrap();
        let pipe = |path: &Path| {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        };
        let folder = |path: &Path| fs::create_dir(path).unwrap();
        let link = |path: &Path| symlink(&theirs, path).unwrap();
        let dangling = |path: &Path| symlink(place.path().join("none"), path).unwrap();
        for put in [&pipe as &dyn Fn(&Path), &folder, &link, &dangling] {
            put(&layout.engine_lock());
            for error in [Lease::try_take(&layout).unwrap_err(), Lease::look(&layout).unwrap_err()] {
                assert_eq!(error.source.to_string(), "it is not a regular file");
            }
            fs::remove_file(layout.engine_lock()).or_else(|_| fs::remove_dir(layout.engine_lock())).unwrap();
        }
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "precious");
        assert!(!place.path().join("none").exists());
    }

    #[test]
    fn one_holds_it_and_others_learn_who() {
        let (_place, layout) = layout();
        let lease = take(&layout);
        assert_eq!(held(&layout), None);
        let holder = Holder { pid: 4711, socket: "/tmp/with space.sock".into() };
        lease.announce(&holder).unwrap();
        assert_eq!(held(&layout), Some(holder));
        lease.announce(&Holder { pid: 1, socket: "".into() }).unwrap();
        assert_eq!(held(&layout), Some(Holder { pid: 1, socket: "".into() }));
    }

    #[test]
    fn a_released_lease_is_free_and_says_nothing_old() {
        let (_place, layout) = layout();
        let lease = take(&layout);
        lease.announce(&Holder { pid: 4711, socket: "/tmp/s".into() }).unwrap();
        lease.release();
        let _next = take(&layout);
        assert_eq!(held(&layout), None);
    }

    #[test]
    fn a_dropped_lease_stays_held_until_the_process_ends() {
        let (_place, layout) = layout();
        drop(take(&layout));
        assert_eq!(held(&layout), None);
    }

    #[test]
    fn who_takes_over_is_the_holder_and_the_old_one_can_see_it() {
        let (_place, layout) = layout();
        let old = take(&layout);
        assert!(old.is_current());
        let new = Lease::take_over(&layout).unwrap();
        new.announce(&Holder { pid: 2, socket: "/tmp/new".into() }).unwrap();
        assert!(new.is_current() && !old.is_current());
        assert_eq!(held(&layout), Some(Holder { pid: 2, socket: "/tmp/new".into() }));
        old.release();
        assert_eq!(held(&layout), Some(Holder { pid: 2, socket: "/tmp/new".into() }));
        new.release();
        let _third = take(&layout);
    }

    #[test]
    fn the_flock_of_a_replaced_file_is_no_lease() {
        let (_place, layout) = layout();
        let path = layout.engine_lock();
        fs::write(&path, "").unwrap();
        let opened_too_early = || File::open(&path).unwrap();
        let free = opened_too_early();
        let held = opened_too_early();
        let old = take(&layout);
        let new = Lease::take_over(&layout).unwrap();
        assert!(lock(&path, held).unwrap().is_none(), "who holds the old file does not matter");
        old.release();
        assert!(lock(&path, free).unwrap().is_none(), "nor does its flock");
        new.release();
        let _lease = take(&layout);
    }
}
