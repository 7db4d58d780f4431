//! The way to a file of the store: no link is followed below the store's own folder.
//!
//! A step can put a link in the place of any folder of its run, and of the store. So each folder is opened from the one above
//! it, and files are renamed and removed relative to the folder that is open.

use crate::{
    folder::layout::Layout,
    model::error::{BlobError, FileError},
};
use envoi_durable::Temporary;
use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, linkat, mkdirat, open, openat, renameat, unlinkat},
    io::Errno,
};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    path::{Component, Path, PathBuf},
};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY);

/// Something else is in the place of a folder.
#[derive(Debug, thiserror::Error)]
#[error("a folder belongs there, and what is there is a link or a file")]
struct NotAFolder;

/// A file or folder that cannot be used, and why.
#[derive(Debug)]
pub(crate) struct Blocked {
    pub(crate) path: PathBuf,
    pub(crate) source: io::Error,
}

impl From<Blocked> for FileError {
    fn from(blocked: Blocked) -> Self {
        Self::Io { path: blocked.path, source: blocked.source }
    }
}

impl From<Blocked> for BlobError {
    fn from(blocked: Blocked) -> Self {
        Self::Io { path: blocked.path, source: blocked.source }
    }
}

/// The place of a file that exists or will be made: its folder, which is open, and its name.
pub(crate) struct PathBeneath<'a> {
    folder: File,
    name: &'a OsStr,
}

impl<'a> PathBeneath<'a> {
    /// The place of `target`, which lies below `root`, the folder of the store. That one may be a link.
    ///
    /// # Errors
    /// [`Blocked`] names the folder that is missing, or that is a link or a file.
    pub(crate) fn find(root: &Path, target: &'a Path) -> Result<Self, Blocked> {
        Self::walk(root, target, false)
    }

    /// As [`PathBeneath::find`]; makes the folders that are missing.
    pub(crate) fn make(root: &Path, target: &'a Path) -> Result<Self, Blocked> {
        // A path that is too long for one call could be made folder by folder, but could not be opened.
        match fs::symlink_metadata(target) {
            Err(source) if source.kind() == io::ErrorKind::InvalidFilename => Err(failed(target, source)),
            _ => Self::walk(root, target, true),
        }
    }

    fn walk(root: &Path, target: &'a Path, make: bool) -> Result<Self, Blocked> {
        let outside = || failed(target, io::ErrorKind::InvalidInput.into());
        let below = target.strip_prefix(root).map_err(|_| outside())?;
        let (folders, name) = below.parent().zip(below.file_name()).ok_or_else(outside)?;
        let opened = open(root, FOLDER, Mode::empty());
        let mut folder = File::from(opened.map_err(|errno| failed(root, errno.into()))?);
        if let Some(folder) = enter_all(&folder, folders) {
            return Ok(Self { folder, name });
        }
        let mut path = root.to_owned();
        for component in folders.components() {
            let Component::Normal(name) = component else { return Err(outside()) };
            path.push(name);
            folder = enter(&folder, name, make).map_err(|source| failed(&path, source))?;
        }
        Ok(Self { folder, name })
    }

    /// Opens the regular file there.
    pub(crate) fn open(&self) -> io::Result<File> {
        envoi_durable::open_regular_at(&self.folder, self.name)
    }

    /// Gives the file at `from` this place, instead of what has it.
    pub(crate) fn take_path(&self, from: &Path) -> io::Result<()> {
        Ok(renameat(CWD, from, &self.folder, self.name)?)
    }

    /// As [`PathBeneath::take_path`], for the place of another name in the same folder.
    pub(crate) fn take_path_beside(&self, name: &OsStr, from: &Path) -> io::Result<()> {
        Ok(renameat(CWD, from, &self.folder, name)?)
    }

    /// As [`PathBeneath::take_path`], of a file in another place.
    pub(crate) fn take(&self, from: &Self) -> io::Result<()> {
        Ok(renameat(&from.folder, from.name, &self.folder, self.name)?)
    }

    /// Makes what was renamed to this place, or removed from it, durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.folder.sync_all()
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

/// An empty file that has no lasting name yet, in the folder of such files. That folder is made if it is missing.
pub(crate) fn temporary(layout: &Layout) -> Result<(Temporary, File), Blocked> {
    temporary_of(layout, 0o600)
}

/// As [`temporary`], with these permissions.
pub(crate) fn temporary_of(layout: &Layout, mode: u32) -> Result<(Temporary, File), Blocked> {
    let folder = layout.temporary();
    PathBeneath::make(layout.root(), &folder.join("new"))?;
    Temporary::create_with(&folder, mode).map_err(|source| failed(&folder, source))
}

/// The folder at `path` below `at`, in one call. None if anything is in the way, or the system cannot: going folder by folder finds
/// out what.
#[cfg(target_os = "linux")]
fn enter_all(at: &File, path: &Path) -> Option<File> {
    use rustix::fs::{ResolveFlags, openat2};
    let is_plain = path.components().all(|component| matches!(component, Component::Normal(_)));
    let resolve = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS);
    let opened = is_plain.then(|| openat2(at, path, FOLDER, Mode::empty(), resolve));
    opened?.ok().map(File::from)
}

#[cfg(not(target_os = "linux"))]
fn enter_all(_: &File, _: &Path) -> Option<File> {
    None
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

fn failed(path: &Path, source: io::Error) -> Blocked {
    Blocked { path: path.to_owned(), source }
}
