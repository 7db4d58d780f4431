//! The folder of one attempt, its file names, and its lock.
//!
//! The lock is a whole-file `flock` on the open file that the engine passes to the supervisor. It is never
//! unlocked: the lock is free when the last process that has the file open has ended. `probe` reads how the
//! attempt ended.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};

use crate::attempt::bringing::{self, Bringing};
use crate::attempt::obstacles::{Obstacle, no_folder};
use crate::disk::plain;

/// The path is taken by something that is not a folder.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NoFolder(Obstacle);

/// The last folders of the path belong to the run: the attempt's, the folder of all attempts, and the run's.
/// Folders above them may be links.
const OWN_FOLDERS: usize = 3;

/// The folder `…/runs/<run_id>/attempts/<attempt>` and the places in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptDir {
    path: PathBuf,
}

impl AttemptDir {
    /// Names the folder. Its last component is the attempt's id. Touches no file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Makes the folder and the missing folders above it. Returns once the new names are on disk; safe to
    /// repeat.
    ///
    /// # Errors
    /// A folder cannot be made or synced. [`io::ErrorKind::NotADirectory`]: the attempt's folder, the folder
    /// of all attempts or the run's folder is something else, such as a link.
    pub fn create(&self) -> io::Result<()> {
        // A command may have put a link there, and nothing may be made behind it. So check before, and again
        // after, because the link may be made meanwhile.
        self.refuse_others()?;
        envoi_durable::create_folders(&self.path)?;
        self.refuse_others()
    }

    fn refuse_others(&self) -> io::Result<()> {
        let folders: Vec<&Path> = self.path.ancestors().take(OWN_FOLDERS).collect();
        // The topmost folder first: a path behind a link does not belong to the run.
        match folders.into_iter().rev().find_map(no_folder) {
            Some(obstacle) => Err(io::Error::new(io::ErrorKind::NotADirectory, NoFolder(obstacle))),
            None => Ok(()),
        }
    }

    /// Whether the run's own folders are folders, and no command has replaced one by a link.
    pub(crate) fn is_real(&self) -> bool {
        let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
        self.path.ancestors().take(OWN_FOLDERS).all(is_folder)
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lock file, always empty. The supervisor holds an exclusive `flock` on it as long as it lives, and
    /// removes it after it has written `exit.json`. If the supervisor was started and the lock is missing
    /// without `exit.json`, the folder was removed.
    pub fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// [`crate::Started`]: written atomically, once, before the command can start. Removed when
    /// [`AttemptDir::exit`] exists, unless it holds marks of secrets.
    pub fn started(&self) -> PathBuf {
        self.path.join("started.json")
    }

    /// Whether a supervisor has ever claimed the start.
    ///
    /// The output files count too, because a command may have removed the claim. So does `exit.json`: the
    /// supervisor removes the claim after it has written that.
    pub(crate) fn was_started(&self) -> io::Result<bool> {
        // While a cached result is restored, output files exist without a claimed start.
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

    /// `Bringing`: a cached result is being restored, and no command is started. Removed when
    /// [`AttemptDir::exit`] exists, and before a start is claimed after all.
    pub fn cached(&self) -> PathBuf {
        self.path.join("cached.json")
    }

    /// The record of an earlier supervisor in `cached.json`. `None` also if the file is not a record of this
    /// attempt.
    pub(crate) fn bringing(&self) -> Option<Bringing> {
        let record = plain::read(&self.cached(), bringing::MOST_BYTES).ok()?;
        let bringing: Bringing = serde_json::from_slice(&record).ok()?;
        self.path.file_name().is_some_and(|name| name == bringing.attempt.as_str()).then_some(bringing)
    }

    /// Writes `cached.json`. Durable when it returns.
    pub(crate) fn announce_bringing(&self, bringing: &Bringing) -> io::Result<()> {
        envoi_durable::replace(&self.cached(), &serde_json::to_vec(bringing)?)
    }

    /// State of the watched files just before the command. Missing if no files are watched.
    pub fn before(&self) -> PathBuf {
        self.path.join("before.json")
    }

    /// Standard output while it is written, masked and capped. May be missing at the end if the command wrote
    /// nothing.
    pub fn stdout(&self) -> PathBuf {
        self.path.join("stdout")
    }

    /// Standard error while it is written, masked and capped. May be missing at the end if the command wrote
    /// nothing.
    pub fn stderr(&self) -> PathBuf {
        self.path.join("stderr")
    }

    /// The step's text: UTF-8, without escape sequences, masked, only its last part. Missing if another file
    /// holds exactly the same text: see [`AttemptDir::place_of_text`].
    pub fn text(&self) -> PathBuf {
        self.path.join("text")
    }

    /// The file with the text of a finished attempt: `text`, else `$ENVOI_OUTPUT`, else stdout. `None`
    /// without `exit.json`.
    #[must_use]
    pub fn place_of_text(&self) -> Option<PathBuf> {
        let is_file = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
        if is_file(&self.text()) {
            return Some(self.text());
        }
        // If the supervisor was killed, the text is not known.
        is_file(&self.exit()).then(|| Some(self.output()).filter(is_file).unwrap_or_else(|| self.stdout()))
    }

    /// `ENVOI_REPORT` points here. The masked report is put here, wherever the command wrote it.
    pub fn report(&self) -> PathBuf {
        self.path.join("report.json")
    }

    /// `ENVOI_DATA` points here.
    pub fn data(&self) -> PathBuf {
        self.path.join("data.json")
    }

    /// `ENVOI_OUTPUT` points here.
    pub fn output(&self) -> PathBuf {
        self.path.join("output")
    }

    /// Copies of the artifacts that the command changed, under their paths in the workspace.
    pub fn files(&self) -> PathBuf {
        self.path.join("files")
    }

    /// The earlier content of artifacts that the command changed or deleted, under their paths in the
    /// workspace. Not every artifact has one.
    pub fn before_files(&self) -> PathBuf {
        self.path.join("before")
    }

    /// An empty file: the supervisor has given up because the disk was full.
    pub fn disk_full(&self) -> PathBuf {
        self.path.join("disk-full")
    }

    /// [`crate::FileWork`]: exists while the supervisor reads or copies so many files that it takes long.
    /// Only for display.
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

    /// [`crate::Lease`]: exists if the lease of the attempt was renewed.
    pub fn lease(&self) -> PathBuf {
        self.path.join("lease")
    }

    /// Messages of the supervisor about itself. May be missing at the end if there are none.
    pub fn supervisor_log(&self) -> PathBuf {
        self.path.join("supervisor.log")
    }

    /// Whether a process holds the lock now.
    ///
    /// Takes no lock and makes no file, but shares a free lock for a moment. If the lock is not a regular
    /// file, it is not opened and the answer is `false`.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        is_held(self).unwrap_or(false)
    }

    /// Takes the lock if it is free, without waiting. Makes the file if it is missing.
    ///
    /// A process that a holder has just forked can hold the lock for a moment longer than the holder.
    ///
    /// # Errors
    /// The file cannot be opened, or locking it fails for another reason than that it is held.
    pub fn try_lock(&self) -> io::Result<Option<LockFile>> {
        self.lock_with(OFlags::RDWR | OFlags::CREATE)
    }

    /// Like [`AttemptDir::try_lock`], but makes no file: an error of kind `NotFound` if there is none.
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

/// The held lock of an attempt. Dropping it closes the file. That frees the lock only if no other process has
/// the file open.
#[derive(Debug)]
pub struct LockFile {
    file: File,
}

impl LockFile {
    pub(crate) fn into_file(self) -> File {
        self.file
    }

    /// Frees a lock that was never passed on. Also works if another thread has a child between fork and exec,
    /// which has the file open too.
    pub(crate) fn free(self) -> io::Result<()> {
        Ok(flock(&self.file, FlockOperation::Unlock)?)
    }
}

/// The longest pause between two checks of a held lock.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Blocks until no process holds the lock of the attempt, or `exit.json` exists. Does not keep the lock.
///
/// For attempts that an earlier engine started. Not interruptible: run it on its own thread. A lock file that
/// is missing or not a regular file counts as free. Polls instead of waiting for the lock: any process may
/// lock that file for ever, and then `exit.json` decides.
///
/// # Errors
/// The lock file cannot be opened or checked.
pub fn wait_until_free(dir: &AttemptDir) -> io::Result<()> {
    let mut pause = Duration::from_millis(2);
    while is_held(dir)? {
        std::thread::sleep(pause);
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        // Sleep at least once on every pass, so that a caller that calls again does not spin.
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
    // Shared, so that many processes can check one attempt at the same time.
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(flock(&file, FlockOperation::Unlock).map(|()| false)?),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(true),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether `lock` is still the file at the lock path of `dir`.
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
