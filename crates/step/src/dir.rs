//! The folder of one attempt, its file names, and its lock.
//!
//! The lock is a whole-file `flock` on the open file that the engine hands to the supervisor. Nobody unlocks it: it is
//! free when the last process that has it open is gone. It says nothing about how the attempt went; see `probe`.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::durable;

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
    /// A folder cannot be made or synced.
    pub fn create(&self) -> io::Result<()> {
        durable::create_dir_all(&self.path)
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Held, exclusively flocked, by the supervisor for as long as it lives. Never renamed or unlinked, always empty.
    pub fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// [`crate::Started`]; appears whole, once, before the command can start.
    pub fn started(&self) -> PathBuf {
        self.path.join("started.json")
    }

    /// What the watched files were just before the command.
    pub fn before(&self) -> PathBuf {
        self.path.join("before.json")
    }

    /// Standard output as it comes, masked and capped.
    pub fn stdout(&self) -> PathBuf {
        self.path.join("stdout")
    }

    /// Standard error as it comes, masked and capped.
    pub fn stderr(&self) -> PathBuf {
        self.path.join("stderr")
    }

    /// The step's text: UTF-8, without escape sequences, masked, its last part only.
    pub fn text(&self) -> PathBuf {
        self.path.join("text")
    }

    /// Where `ENVOI_REPORT` points, and where the masked report ends up wherever it was written.
    pub fn report(&self) -> PathBuf {
        self.path.join("report.json")
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

    /// [`crate::Exit`]; written last.
    pub fn exit(&self) -> PathBuf {
        self.path.join("exit.json")
    }

    /// Exists if somebody wants the attempt ended.
    pub fn cancel(&self) -> PathBuf {
        self.path.join("cancel")
    }

    /// What the supervisor had to say about itself.
    pub fn supervisor_log(&self) -> PathBuf {
        self.path.join("supervisor.log")
    }

    /// Takes the lock if it is free, without waiting; makes the file if it is missing.
    ///
    /// A process that was just forked by a holder can hold it for a moment longer than the holder.
    ///
    /// # Errors
    /// The file cannot be opened or locked for another reason than being held.
    pub fn try_lock(&self) -> io::Result<Option<LockFile>> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(self.lock())?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(LockFile { file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// The lock of an attempt, held. Dropping it closes the file, which frees the lock only if nobody else has it open.
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

/// Blocks until nobody holds the lock of the attempt, and does not keep it.
///
/// For attempts that an earlier engine started. Not interruptible: give it a thread. A missing lock file is free.
///
/// # Errors
/// The lock file cannot be opened or locked.
pub fn wait_until_free(dir: &AttemptDir) -> io::Result<()> {
    let file = match File::open(dir.lock()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    // Shared, so that many can wait for one attempt without waiting for each other.
    rustix::io::retry_on_intr(|| flock(&file, FlockOperation::LockShared))?;
    // Closing would be enough, were it not for a child of another thread between fork and exec, which has it open too.
    Ok(flock(&file, FlockOperation::Unlock)?)
}

/// Whether somebody holds the lock right now.
pub(crate) fn is_held(dir: &AttemptDir) -> io::Result<bool> {
    let file = match File::open(dir.lock()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        opened => opened?,
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(flock(&file, FlockOperation::Unlock).map(|()| false)?),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(true),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether the file open as `fd` is the lock file of `dir` and has its lock; takes it if nobody has.
pub(crate) fn holds_lock_of(dir: &AttemptDir, fd: impl rustix::fd::AsFd) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let file = File::from(fd.as_fd().try_clone_to_owned()?);
    let (open, named) = (file.metadata()?, fs::metadata(dir.lock())?);
    let is_it = (open.dev(), open.ino()) == (named.dev(), named.ino());
    Ok(is_it && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok())
}
