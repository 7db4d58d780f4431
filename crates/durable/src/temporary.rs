//! Files that get their final name when they are complete.

use crate::sync_folder;
use rustix::{io::Errno, process::Pid};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

/// Replaces the content of `path`: at any moment, either the old or the new file exists. Durable when it
/// returns.
///
/// # Errors
/// The file cannot be written; the old one is as it was.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(path, bytes)?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// As [`replace`], for a name that something later in the same folder makes durable.
///
/// # Errors
/// As [`replace`].
pub fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temp = temp_beside(path);
    let mut file = create(&temp)?;
    // An empty file can only lose its name, so it needs no sync.
    if !bytes.is_empty() {
        file.write_all(bytes)?;
        file.sync_all()?;
    }
    fs::rename(&temp, path)
}

/// Puts a new file in the place of anything with the name: a link is not followed, a pipe is not waited for, and readers see the whole
/// file or what was there. Not synced: for files that a later step makes durable, or that may be lost.
///
/// # Errors
/// The file cannot be written, or a folder has the name.
pub fn renew(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temp = temp_beside(path);
    let written =
        create(&temp).and_then(|mut file| file.write_all(bytes)).and_then(|()| fs::rename(&temp, path));
    if written.is_err() {
        // The caller reports the write error; a failure to remove the partial file adds nothing to that.
        fs::remove_file(&temp).ok();
    }
    written
}

/// A name in the same folder that no other process uses.
#[must_use]
pub fn temp_beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", process::id()));
    PathBuf::from(name)
}

/// A new, empty file at `path`, in the place of anything that was there. A link is replaced, not followed.
///
/// # Errors
/// It cannot be made, or a folder is there.
pub fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::options().read(true).write(true).create_new(true).open(path)
}

/// The beginning of the name of a [`Temporary`]. Then come the id of its process, a `-` and a number.
const BEGINNING: &str = ".new-";

/// No process takes longer to write a file. An older file was left behind, even if another process has the id
/// now.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Whether the name is that of a temporary file, whether or not its process lives.
#[must_use]
pub fn is_temporary(name: &OsStr) -> bool {
    process_of(name).is_some()
}

fn process_of(name: &OsStr) -> Option<Pid> {
    let (process, _) = name.to_str()?.strip_prefix(BEGINNING)?.split_once('-')?;
    Pid::from_raw(process.parse().ok().filter(|process| *process > 0)?)
}

/// Whether another process may still be writing this file, which was last changed at `changed`: the process that is named in it lives. A
/// file with another name belongs to no process.
#[must_use]
pub fn is_being_written(name: &OsStr, changed: SystemTime) -> bool {
    process_of(name).is_some_and(|process| {
        // A file with a time in the future was written before the clock was set back.
        let is_old = changed.elapsed().is_ok_and(|age| age > LONGEST);
        let is_there = || !matches!(rustix::process::test_kill_process(process), Err(Errno::SRCH));
        !is_old && process != rustix::process::getpid() && is_there()
    })
}

/// A file that has no lasting name yet. Removed when dropped before [`Temporary::rename`].
#[derive(Debug)]
pub struct Temporary {
    path: Option<PathBuf>,
}

impl Temporary {
    /// Makes an empty file with a name of its own in `folder`, which only its owner may read.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(folder: &Path) -> io::Result<(Self, File)> {
        Self::create_with(folder, 0o600)
    }

    /// As [`Temporary::create`], with these permissions. The file that is open can be written in any case.
    ///
    /// # Errors
    /// As [`Temporary::create`].
    pub fn create_with(folder: &Path, mode: u32) -> io::Result<(Self, File)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let name = format!("{BEGINNING}{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let path = folder.join(name);
            match File::options().read(true).write(true).create_new(true).mode(mode).open(&path) {
                Ok(file) => return Ok((Self { path: Some(path) }, file)),
                // Left by a killed process with the same id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Its present path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new(""))
    }

    /// Gives the file its lasting name, replacing what had it.
    ///
    /// # Errors
    /// It cannot have that name. It is removed then.
    pub fn rename(self, target: &Path) -> io::Result<()> {
        self.rename_by(|path| fs::rename(path, target))
    }

    /// Hands the file over: the caller now has to rename or remove it.
    pub(crate) fn release(mut self) -> Option<PathBuf> {
        self.path.take()
    }

    /// As [`Temporary::rename`], by a rename of the caller's.
    ///
    /// # Errors
    /// As [`Temporary::rename`].
    pub fn rename_by(mut self, rename: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        if let Some(path) = &self.path {
            rename(path)?;
        }
        self.path = None;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // No name refers to it, and the next sweep of the folder finds it.
            fs::remove_file(path).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_a_process_that_lives_is_being_written_and_no_other() {
        let now = SystemTime::now();
        let is = |name: &str, changed| is_being_written(OsStr::new(name), changed);
        let mut over = process::Command::new("true").spawn().unwrap();
        over.wait().unwrap();
        let mut lives = process::Command::new("cat").stdin(process::Stdio::piped()).spawn().unwrap();
        let name = format!(".new-{}-0", lives.id());
        assert!(is(&name, now));
        assert!(is(&name, now + LONGEST));
        assert!(!is(&name, now - LONGEST - LONGEST));
        // The end of its input ends it.
        lives.wait().unwrap();
        assert!(!is(&format!(".new-{}-0", over.id()), now));
        // This process looks before it writes.
        assert!(!is(&format!(".new-{}-0", process::id()), now));
        for other in ["", "theirs", ".new-", ".new-0-1", ".new--1-1", ".new-x-1", ".new-99999999999-1"] {
            assert!(!is(other, now) && !is_temporary(OsStr::new(other)), "{other}");
        }
    }

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_file_without_a_lasting_name_is_gone_and_one_that_got_it_stays() {
        let place = tempfile::tempdir().unwrap();
        let (temporary, _) = Temporary::create(place.path()).unwrap();
        assert!(temporary.path().is_file());
        drop(temporary);
        assert_eq!(names(place.path()), 0);
        let (temporary, mut file) = Temporary::create(place.path()).unwrap();
        file.write_all(b"x").unwrap();
        temporary.rename(&place.path().join("named")).unwrap();
        assert_eq!(fs::read(place.path().join("named")).unwrap(), b"x");
        let (temporary, _) = Temporary::create(place.path()).unwrap();
        assert!(temporary.rename(&place.path().join("no/such/folder")).is_err());
        assert_eq!(names(place.path()), 1, "what could not be named is removed");
    }

    #[test]
    fn of_two_that_are_to_get_one_name_the_first_gets_it_and_nothing_else_stays() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("named");
        for (content, is_named) in [(b"one", true), (b"two", false)] {
            let (temporary, mut file) = Temporary::create(place.path()).unwrap();
            file.write_all(content).unwrap();
            assert_eq!(temporary.publish(&path).unwrap(), is_named);
        }
        assert_eq!((fs::read(&path).unwrap().as_slice(), names(place.path())), (&b"one"[..], 1));
    }

    #[test]
    fn a_link_at_the_temporary_name_is_replaced_and_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("exit.json");
        let victim = place.path().join("victim");
        fs::write(&victim, "as it was").unwrap();
        std::os::unix::fs::symlink(&victim, temp_beside(&path)).unwrap();
        replace(&path, b"{}").unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), fs::read(&victim).unwrap()),
            (b"{}".to_vec(), b"as it was".to_vec())
        );
        for name in [&path, &temp_beside(&path)] {
            fs::remove_file(name).ok();
            std::os::unix::fs::symlink(&victim, name).unwrap();
        }
        renew(&path, b"[]").unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
        assert_eq!(
            (fs::read(&path).unwrap(), fs::read(&victim).unwrap()),
            (b"[]".to_vec(), b"as it was".to_vec())
        );
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(renew(&path, b"{}").is_err());
        assert_eq!(names(place.path()), 2);
    }
}
