//! Opening files that a step may have put there: regular files only.
//!
//! A step can put a pipe, a link or a device in the place of any file. An open must neither wait nor lead elsewhere.

use rustix::{
    fd::AsFd,
    fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat},
    io::Errno,
};
use std::{fs::File, io, path::Path};

/// What is there is no regular file.
#[derive(Debug, thiserror::Error)]
#[error("it is not a regular file")]
struct NotRegular;

/// Opens the regular file at `path` for reading.
///
/// # Errors
/// It cannot be opened, or is something else than a regular file ([`is_not_regular`]).
pub(crate) fn open(path: &Path) -> io::Result<File> {
    open_at(CWD, path)
}

/// Opens the regular file at `path` for reading and writing, and makes it if nothing is there. Its content stays.
///
/// # Errors
/// As [`open`]. A folder is the error of the machine.
pub(crate) fn open_or_create(path: &Path) -> io::Result<File> {
    match statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).map(|found| FileType::from_raw_mode(found.st_mode)) {
        // The machine's own error says best that a folder is there.
        Ok(kind) if !kind.is_file() && !kind.is_dir() => return Err(not_regular()),
        Ok(_) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    let flags = OFlags::RDWR
        | OFlags::CREATE
        | OFlags::CLOEXEC
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::NOCTTY;
    let file = match openat(CWD, path, flags, Mode::from_raw_mode(0o666)) {
        Ok(fd) => File::from(fd),
        // A link or a socket: put there after the look.
        Err(Errno::LOOP | Errno::NXIO) => return Err(not_regular()),
        Err(errno) => return Err(errno.into()),
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

/// As [`open`]; `path` is relative to an open folder.
pub(crate) fn open_at(folder: impl AsFd, path: impl AsRef<Path>) -> io::Result<File> {
    let path = path.as_ref();
    // Opening a device can already do something, so nothing but a regular file is even tried.
    let found = statat(&folder, path, AtFlags::SYMLINK_NOFOLLOW)?;
    if !FileType::from_raw_mode(found.st_mode).is_file() {
        return Err(not_regular());
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match openat(&folder, path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        // A link or a socket: put there after the look.
        Err(Errno::LOOP | Errno::NXIO) => return Err(not_regular()),
        Err(errno) => return Err(errno.into()),
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

/// Whether an open failed because of what kind of file is there.
pub(crate) fn is_not_regular(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<NotRegular>())
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, NotRegular)
}
