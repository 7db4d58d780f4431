//! A private folder that lasts as long as its process. Its process holds a lock in it, and a later process
//! removes it once the lock is free.
//!
//! A new folder gets its lock under a name that other processes ignore, and is then renamed. To remove a
//! folder, a process takes the lock and renames the folder first. A second process then finds another file,
//! or none, in the place of the lock. This module does not know what the folder holds.

use crate::process::{environment, failure::Failure};
use rustix::{
    fs::{FlockOperation, Mode, OFlags, flock},
    io::Errno,
    process::getuid,
};
use std::{
    fs::{self, File},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

const PREFIX: &str = "envoi-mirror-";
/// The prefix of a folder without a lock yet. A process that is killed at that moment leaves an empty folder.
const NEW_PREFIX: &str = "envoi-new-mirror-";
const LOCK: &str = "mirror.lock";
const SWEPT: &str = "swept";

/// A private folder. It is removed when it is dropped.
pub(super) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes a new folder below `parent`.
    pub(super) fn new(parent: &Path) -> Result<Self, Failure> {
        let made = parent.join(environment::random_id(NEW_PREFIX)?);
        let path = parent.join(environment::random_id(PREFIX)?);
        let failed = |error| Failure::machine(path.display(), error);
        fs::DirBuilder::new().mode(0o700).create(&made).map_err(failed)?;
        match held(&made).and_then(|lock| fs::rename(&made, &path).map(|()| lock)) {
            Ok(lock) => Ok(Self { path, _lock: lock }),
            Err(error) => {
                remove(&made);
                Err(failed(error))
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// If it cannot be removed, no other user can read it, and the machine cleans up its place.
pub(super) fn remove(folder: &Path) {
    let _ = fs::remove_dir_all(folder);
}

/// Removes the folders below `parent` that processes of this user have left. A folder that cannot be removed
/// is left for the next process.
pub(super) fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_one = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if is_one && is_own(&entry) {
            let _ = swept(&entry.path());
        }
    }
}

/// Whether the entry is a folder of this user, and not a link.
fn is_own(entry: &fs::DirEntry) -> bool {
    entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == getuid().as_raw())
}

fn swept(folder: &Path) -> io::Result<()> {
    let Some((_lock, aside)) = set_aside(folder)? else { return Ok(()) };
    fs::remove_dir_all(aside)
}

/// Renames a folder whose lock is free.
fn set_aside(folder: &Path) -> io::Result<Option<(File, PathBuf)>> {
    let Some(lock) = hold(folder)? else { return Ok(None) };
    let aside = folder.with_extension(SWEPT);
    fs::rename(folder, &aside)?;
    Ok(Some((lock, aside)))
}

fn held(folder: &Path) -> io::Result<File> {
    hold(folder)?.ok_or_else(|| io::Error::other("another process has taken the lock of a new folder"))
}

/// Takes the lock of a folder, if it is free and the folder was not renamed.
fn hold(folder: &Path) -> io::Result<Option<File>> {
    match open(folder) {
        Ok(file) => taken(file, folder),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

fn open(folder: &Path) -> Result<File, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(folder.join(LOCK), flags, Mode::RUSR | Mode::WUSR).map(File::from)
}

fn taken(file: File, folder: &Path) -> io::Result<Option<File>> {
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    }
    let ours = file.metadata()?;
    let is_there = |found: fs::Metadata| (found.dev(), found.ino()) == (ours.dev(), ours.ino());
    Ok(fs::symlink_metadata(folder.join(LOCK)).is_ok_and(is_there).then_some(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn names(parent: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(parent)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Makes a folder as a killed process leaves it.
    fn left(parent: &Path, name: &str) -> PathBuf {
        let folder = parent.join(name);
        fs::create_dir_all(folder.join("runs/one")).unwrap();
        fs::write(folder.join("runs/one/log"), "words").unwrap();
        folder
    }

    #[test]
    fn only_files_that_no_process_holds_are_swept() {
        let place = tempfile::tempdir().unwrap();
        let parent = place.path();
        let elsewhere = tempfile::tempdir().unwrap();
        let live = Folder::new(parent).unwrap();
        let gone = left(parent, "envoi-mirror-1");
        fs::write(gone.join(LOCK), "").unwrap();
        left(parent, "envoi-mirror-2");
        left(parent, "envoi-mirror-3.swept");
        left(parent, "envoi-other");
        fs::write(parent.join("envoi-mirror-file"), "").unwrap();
        left(elsewhere.path(), "runs");
        symlink(elsewhere.path(), parent.join("envoi-mirror-link")).unwrap();
        sweep(parent);
        let own = live.path().file_name().unwrap().to_str().unwrap().to_owned();
        let mut expected =
            vec![own, "envoi-mirror-file".into(), "envoi-mirror-link".into(), "envoi-other".into()];
        expected.sort();
        assert_eq!(names(parent), expected);
        assert!(live.path().join(LOCK).exists() && elsewhere.path().join("runs/runs/one/log").exists());
        drop(live);
        assert_eq!(names(parent).len(), 3);
    }

    #[test]
    fn a_process_that_wants_the_lock_notices_that_the_folder_was_swept() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("envoi-mirror-1");
        let make = || fs::create_dir(&folder).unwrap();
        // The folder is removed before its lock file is opened.
        make();
        sweep(place.path());
        assert!(hold(&folder).unwrap().is_none());
        // The folder is removed, and below also replaced, between opening the lock file and taking the lock.
        make();
        let file = open(&folder).unwrap();
        sweep(place.path());
        assert!(taken(file, &folder).unwrap().is_none());
        make();
        let file = open(&folder).unwrap();
        sweep(place.path());
        make();
        open(&folder).unwrap();
        assert!(taken(file, &folder).unwrap().is_none(), "a file of that name is not that file");
        sweep(place.path());
        // Nothing is removed while another process can still reach it.
        make();
        fs::write(folder.join("kept"), "").unwrap();
        let (_lock, aside) = set_aside(&folder).unwrap().unwrap();
        assert!(aside.join("kept").exists() && !folder.exists());
        fs::remove_dir_all(aside).unwrap();
        make();
        // While the sweeper holds the lock, no other process gets it.
        let sweeper = hold(&folder).unwrap();
        assert!(sweeper.is_some() && hold(&folder).unwrap().is_none());
        drop(sweeper);
        // A process does not remove a folder that it holds itself.
        let held = hold(&folder).unwrap();
        sweep(place.path());
        assert!(held.is_some() && folder.join(LOCK).exists());
    }

    #[test]
    fn of_those_who_make_and_those_who_sweep_at_once_no_maker_loses_its_folder() {
        let place = tempfile::tempdir().unwrap();
        let parent = place.path();
        std::thread::scope(|scope| {
            let makers: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        for _ in 0..50 {
                            let folder = Folder::new(parent).unwrap();
                            fs::write(folder.path().join("kept"), "words").unwrap();
                            assert_eq!(fs::read_to_string(folder.path().join("kept")).unwrap(), "words");
                        }
                    })
                })
                .collect();
            while makers.iter().any(|maker| !maker.is_finished()) {
                sweep(parent);
            }
        });
        sweep(parent);
        assert_eq!(names(parent), Vec::<String>::new());
    }
}
