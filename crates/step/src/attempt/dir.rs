//! The folder of one attempt, its file names, and its lock.
//!
//! The lock is a whole-file `flock` on the open file that the engine hands to the supervisor. It is never unlocked: it is
//! free when the last process that has it open is gone. How the attempt ended is read by `probe`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};

use crate::attempt::bringing::{self, Bringing};
use crate::attempt::obstacles::{Obstacle, no_folder};
use crate::disk::plain;

/// Something else stands in the place of a folder.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NoFolder(Obstacle);

/// The folders that are a run's own: that of the attempt, that of all its attempts, and its own. Those above may be links.
const OWN_FOLDERS: usize = 3;

/// The folder `…/runs/<run_id>/attempts/<attempt>` and the places in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptDir {
    path: PathBuf,
}

impl AttemptDir {
    /// Names the folder, whose own name is the attempt's id; touches nothing.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Makes the folder and what is missing above it. Returns once the new names are on disk; safe to repeat.
    ///
    /// # Errors
    /// A folder cannot be made or synced; something else, such as a link, is in the place of it, of the folder of all attempts
    /// or of the run's folder ([`io::ErrorKind::NotADirectory`]).
    pub fn create(&self) -> io::Result<()> {
        // Nothing is made where a command's link leads, so the look comes first; and again, for a link made meanwhile.
        self.refuse_others()?;
        envoi_durable::create_folders(&self.path)?;
        self.refuse_others()
    }

    fn refuse_others(&self) -> io::Result<()> {
        let folders: Vec<&Path> = self.path.ancestors().take(OWN_FOLDERS).collect();
        // The topmost first: what lies behind a link is not the run's.
        match folders.into_iter().rev().find_map(no_folder) {
            Some(obstacle) => Err(io::Error::new(io::ErrorKind::NotADirectory, NoFolder(obstacle))),
            None => Ok(()),
        }
    }

    /// Whether it is a folder in a folder, and not reached through a link that a command has put in its place.
    pub(crate) fn is_real(&self) -> bool {
        let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
        self.path.ancestors().take(OWN_FOLDERS).all(is_folder)
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Held, exclusively flocked, by the supervisor for as long as it lives. Always empty. The supervisor removes it when its record of the
    /// end stands; where it is missing without that though a supervisor was started, the folder was removed.
    pub fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// [`crate::Started`]; appears whole, once, before the command can start. Removed when [`AttemptDir::exit`] stands, unless
    /// it holds marks of secrets.
    pub fn started(&self) -> PathBuf {
        self.path.join("started.json")
    }

    /// Whether a supervisor has claimed the start, whatever stands there now. Its first files count too: a command may
    /// have removed the claim. So does the record of the end: the supervisor itself has removed the claim then.
    pub(crate) fn was_started(&self) -> io::Result<bool> {
        // A result of the cache is brought without a start. Its streams count for nothing as long as no start is claimed.
        let brings = self.bringing().is_some();
        let streams = [self.stdout(), self.stderr()].into_iter().filter(|_| !brings);
        for path in [self.started(), self.exit()].into_iter().chain(streams) {
            match fs::symlink_metadata(path) {
                Ok(_) => return Ok(true),
                Err(error) if plain::is_missing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// A result of the cache is being brought, and no command is started. Removed when [`AttemptDir::exit`] stands, and before a start
    /// is claimed after all.
    pub fn cached(&self) -> PathBuf {
        self.path.join("cached.json")
    }

    /// What an earlier supervisor has said there. Something else in its place says nothing.
    pub(crate) fn bringing(&self) -> Option<Bringing> {
        let record = plain::read(&self.cached(), bringing::MOST_BYTES).ok()?;
        let bringing: Bringing = serde_json::from_slice(&record).ok()?;
        self.path.file_name().is_some_and(|name| name == bringing.attempt.as_str()).then_some(bringing)
    }

    /// Durable when it returns.
    pub(crate) fn announce_bringing(&self, bringing: &Bringing) -> io::Result<()> {
        envoi_durable::replace(&self.cached(), &serde_json::to_vec(bringing)?)
    }

    /// What the watched files were just before the command. Missing where none are watched.
    pub fn before(&self) -> PathBuf {
        self.path.join("before.json")
    }

    /// Standard output as it comes, masked and capped. Missing after the end where nothing came.
    pub fn stdout(&self) -> PathBuf {
        self.path.join("stdout")
    }

    /// Standard error as it comes, masked and capped. Missing after the end where nothing came.
    pub fn stderr(&self) -> PathBuf {
        self.path.join("stderr")
    }

    /// The step's text: UTF-8, without escape sequences, masked, its last part only. Missing where another file holds exactly the
    /// same: see [`AttemptDir::place_of_text`].
    pub fn text(&self) -> PathBuf {
        self.path.join("text")
    }

    /// The file with the text of an attempt that is over: its own, else `$ENVOI_OUTPUT`, else stdout. None for an attempt that has no
    /// record of its end.
    #[must_use]
    pub fn place_of_text(&self) -> Option<PathBuf> {
        let is_file = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
        if is_file(&self.text()) {
            return Some(self.text());
        }
        // The text of a supervisor that was killed is not known.
        is_file(&self.exit()).then(|| Some(self.output()).filter(is_file).unwrap_or_else(|| self.stdout()))
    }

    /// Where `ENVOI_REPORT` points, and where the masked report ends up wherever it was written.
    pub fn report(&self) -> PathBuf {
        self.path.join("report.json")
    }

    /// Where `ENVOI_DATA` points.
    pub fn data(&self) -> PathBuf {
        self.path.join("data.json")
    }

    /// Where `ENVOI_OUTPUT` points.
    pub fn output(&self) -> PathBuf {
        self.path.join("output")
    }

    /// Copies of the artifacts that the command changed, under their paths in the workspace.
    pub fn files(&self) -> PathBuf {
        self.path.join("files")
    }

    /// What artifacts held that the command changed or deleted, under their paths in the workspace; not of all of them.
    pub fn before_files(&self) -> PathBuf {
        self.path.join("before")
    }

    /// Empty: the supervisor has given up because the disk was full.
    pub fn disk_full(&self) -> PathBuf {
        self.path.join("disk-full")
    }

    /// [`crate::FileWork`], while the supervisor reads or copies so many files that it takes long. Nothing depends on it.
    pub fn file_work(&self) -> PathBuf {
        self.path.join("file-work.json")
    }

    /// [`crate::Exit`]; written last.
    pub fn exit(&self) -> PathBuf {
        self.path.join("exit.json")
    }

    /// Exists if a cancel was requested.
    pub fn cancel(&self) -> PathBuf {
        self.path.join("cancel")
    }

    /// [`crate::Lease`], if the lease of the attempt was renewed.
    pub fn lease(&self) -> PathBuf {
        self.path.join("lease")
    }

    /// What the supervisor had to say about itself. Missing after the end where that is nothing.
    pub fn supervisor_log(&self) -> PathBuf {
        self.path.join("supervisor.log")
    }

    /// Whether a process holds the lock now. Takes nothing and makes nothing: the lock is shared for a moment, if it is free.
    /// Something else in its place is no lock, and is not opened.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        is_held(self).unwrap_or(false)
    }

    /// Takes the lock if it is free, without waiting; makes the file if it is missing.
    ///
    /// A process that was just forked by a holder can hold it for a moment longer than the holder.
    ///
    /// # Errors
    /// The file cannot be opened or locked for another reason than being held.
    pub fn try_lock(&self) -> io::Result<Option<LockFile>> {
        self.lock_with(OFlags::RDWR | OFlags::CREATE)
    }

    /// As [`AttemptDir::try_lock`], but makes no file: an error of kind `NotFound` if there is none.
    pub(crate) fn try_lock_there(&self) -> io::Result<Option<LockFile>> {
        self.lock_with(OFlags::RDWR)
    }

    fn lock_with(&self, access: OFlags) -> io::Result<Option<LockFile>> {
        let file = plain::open_with(&self.lock(), access)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(LockFile { file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// The lock of an attempt, held. Dropping it closes the file, which frees the lock only if no other process has it open.
#[derive(Debug)]
pub struct LockFile {
    file: File,
}

impl LockFile {
    pub(crate) fn into_file(self) -> File {
        self.file
    }

    /// Frees a lock that was never given away, also for a child of another thread that is between fork and exec.
    pub(crate) fn free(self) -> io::Result<()> {
        Ok(flock(&self.file, FlockOperation::Unlock)?)
    }
}

/// The longest pause between two looks at a lock that is held.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Blocks until no process holds the lock of the attempt, or its end is on record; does not keep the lock.
///
/// For attempts that an earlier engine started. Not interruptible: give it a thread. A lock that is missing, or no regular
/// file, is free. Looks again and again instead of waiting for the lock: any process may lock that file, also for ever, and
/// a record of the attempt's end is then what counts.
///
/// # Errors
/// The lock file cannot be opened or looked at.
pub fn wait_until_free(dir: &AttemptDir) -> io::Result<()> {
    let mut pause = Duration::from_millis(2);
    while is_held(dir)? {
        std::thread::sleep(pause);
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        // Every pass waits once, so that a caller who is not content with the record does not look without a pause.
        if pause == LONGEST_PAUSE && fs::symlink_metadata(dir.exit()).is_ok() {
            return Ok(());
        }
    }
    Ok(())
}

/// Whether a process holds the lock now.
pub(crate) fn is_held(dir: &AttemptDir) -> io::Result<bool> {
    let file = match plain::open(&dir.lock()) {
        Err(error) if plain::is_missing(&error) || error.kind() == io::ErrorKind::InvalidData => {
            return Ok(false);
        }
        opened => opened?,
    };
    // Shared, so that many can look at one attempt without being in each other's way.
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(flock(&file, FlockOperation::Unlock).map(|()| false)?),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(true),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether this is the lock of the folder that has the name of `dir` now.
pub(crate) fn is_lock_of(dir: &AttemptDir, lock: &LockFile) -> bool {
    use std::os::unix::fs::MetadataExt;
    let open = lock.file.metadata().map(|open| (open.dev(), open.ino()));
    let named = fs::metadata(dir.lock()).map(|named| (named.dev(), named.ino()));
    open.ok().zip(named.ok()).is_some_and(|(open, named)| open == named)
}

/// Whether the file open as `fd` is the lock file of `dir` and has its lock; takes the lock if it is free.
pub(crate) fn holds_lock_of(dir: &AttemptDir, fd: impl rustix::fd::AsFd) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let file = File::from(fd.as_fd().try_clone_to_owned()?);
    let open = file.metadata()?;
    let named = fs::metadata(dir.lock())?;
    let is_it = (open.dev(), open.ino()) == (named.dev(), named.ino());
    Ok(is_it && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok())
}
