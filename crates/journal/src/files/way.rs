//! The way to a file of a run: no link is followed below the run's own folder.
//!
//! A step can put a link in the place of any folder of its run. So each folder is opened from the one above it, and files
//! are renamed and removed relative to the folder that is open.

use crate::{blobs, error::FileError, plain};
use envoi_contract::digest::Digest;
use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, linkat, mkdirat, open, openat, renameat, unlinkat},
    io::Errno,
};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    path::{Component, Path},
};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY);

/// What is in the place of a folder is none.
#[derive(Debug, thiserror::Error)]
#[error("a folder belongs there, and what is there is a link or a file")]
struct NotAFolder;

/// Where a file lies or will lie: its folder, which is open, and its name.
pub(crate) struct Spot<'a> {
    folder: File,
    name: &'a OsStr,
}

impl<'a> Spot<'a> {
    /// The place of `target`, which lies below the folder of a run.
    ///
    /// # Errors
    /// [`FileError::Io`] with the folder that is missing, or that is a link or a file.
    pub(crate) fn find(run: &Path, target: &'a Path) -> Result<Self, FileError> {
        Self::walk(run, target, false)
    }

    /// As [`Spot::find`]; makes the folders that are missing.
    pub(crate) fn make(run: &Path, target: &'a Path) -> Result<Self, FileError> {
        // A path that is too long for one call could be made folder by folder, but nobody could open it.
        match fs::symlink_metadata(target) {
            Err(source) if source.kind() == io::ErrorKind::InvalidFilename => Err(failed(target, source)),
            _ => fs::create_dir_all(run).map_err(|source| failed(run, source)),
        }?;
        Self::walk(run, target, true)
    }

    fn walk(run: &Path, target: &'a Path, make: bool) -> Result<Self, FileError> {
        let outside = || failed(target, io::ErrorKind::InvalidInput.into());
        let below = target.strip_prefix(run).map_err(|_| outside())?;
        let (folders, name) = below.parent().zip(below.file_name()).ok_or_else(outside)?;
        let opened = open(run, FOLDER, Mode::empty());
        let mut folder = File::from(opened.map_err(|errno| failed(run, errno.into()))?);
        let mut path = run.to_owned();
        for component in folders.components() {
            let Component::Normal(name) = component else { return Err(outside()) };
            path.push(name);
            folder = enter(&folder, name, make).map_err(|source| failed(&path, source))?;
        }
        Ok(Self { folder, name })
    }

    /// Opens the regular file there.
    pub(crate) fn open(&self) -> io::Result<File> {
        plain::open_at(&self.folder, self.name)
    }

    /// Gives the file at `from` this place, instead of what has it.
    pub(crate) fn take_path(&self, from: &Path) -> io::Result<()> {
        Ok(renameat(CWD, from, &self.folder, self.name)?)
    }

    /// As [`Spot::take_path`], of a file in another place.
    pub(crate) fn take(&self, from: &Self) -> io::Result<()> {
        Ok(renameat(&from.folder, from.name, &self.folder, self.name)?)
    }

    /// Makes this a second name of the file in another place, if nothing is here.
    pub(crate) fn link(&self, from: &Self) -> io::Result<()> {
        Ok(linkat(&from.folder, from.name, &self.folder, self.name, AtFlags::empty())?)
    }

    /// Removes the file.
    pub(crate) fn remove(&self) -> io::Result<()> {
        Ok(unlinkat(&self.folder, self.name, AtFlags::empty())?)
    }

    /// Removes the folder, if it is empty.
    pub(crate) fn remove_folder(&self) -> io::Result<()> {
        Ok(unlinkat(&self.folder, self.name, AtFlags::REMOVEDIR)?)
    }
}

/// The digest of the regular file at `target`, if it can be reached and read.
pub(crate) fn digest_below(run: &Path, target: &Path) -> Option<Digest> {
    let file = Spot::find(run, target).ok()?.open().ok()?;
    blobs::copy(file, &mut io::sink()).ok().map(|(digest, _)| digest)
}

fn enter(at: &File, name: &OsStr, make: bool) -> io::Result<File> {
    let enter = || openat(at, name, FOLDER | OFlags::NOFOLLOW, Mode::empty());
    let mut opened = enter();
    if make && matches!(opened, Err(Errno::NOENT)) {
        match mkdirat(at, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
            Ok(()) | Err(Errno::EXIST) => opened = enter(),
            Err(errno) => return Err(errno.into()),
        }
    }
    match opened {
        Ok(fd) => Ok(File::from(fd)),
        // Which of the two a link gives differs between systems.
        Err(Errno::LOOP | Errno::NOTDIR) => Err(io::Error::new(io::ErrorKind::NotADirectory, NotAFolder)),
        Err(errno) => Err(errno.into()),
    }
}

fn failed(path: &Path, source: io::Error) -> FileError {
    FileError::Io { path: path.to_owned(), source }
}
