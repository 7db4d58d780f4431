//! The folder of a path, opened without following a link.

use crate::model::folders::{BEING_MADE, Folders};
use rustix::{
    fs::{CWD, Mode, OFlags, mkdirat, openat},
    io::Errno,
};
use std::{ffi::OsStr, io, os::fd::OwnedFd, os::unix::ffi::OsStrExt as _, path::Path};

/// A folder in which files change.
#[derive(Clone, Copy)]
pub(super) struct Reach<'r> {
    pub(super) folder: &'r Path,
    /// Folders that get a mode of their own when everything is in them.
    pub(super) back: &'r Folders,
}

impl Reach<'_> {
    /// The folder around a path. With `make`, and those on the way to it that are missing.
    pub(super) fn parent(&self, path: &[u8], make: bool) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut at =
            openat(CWD, self.folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
        for way in ends.filter_map(|end| path.get(..end)) {
            if make {
                match mkdirat(&at, name(way), Mode::from_raw_mode(self.mode_of_new(way, 0o777))) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(errno.into()),
                }
            }
            at = openat(&at, name(way), flags, Mode::empty())?;
        }
        Ok(at)
    }

    /// The mode with which a folder is made.
    pub(super) fn mode_of_new(&self, path: &[u8], otherwise: u32) -> u32 {
        self.back.mode(path).map_or(otherwise, |_| BEING_MADE)
    }
}

/// The last name of a path.
pub(super) fn name(path: &[u8]) -> &OsStr {
    OsStr::from_bytes(path.rsplit(|byte| *byte == b'/').next().unwrap_or_default())
}

/// A folder that is gone, is something else by now, or has something in it.
pub(super) fn is_expected(error: &io::Error) -> bool {
    let expected = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::NOTEMPTY, Errno::EXIST];
    Errno::from_io_error(error).is_some_and(|errno| expected.contains(&errno))
}

/// The file system does not know what was asked of it.
pub(super) fn is_unknown(errno: Errno) -> bool {
    [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP].contains(&errno)
}
