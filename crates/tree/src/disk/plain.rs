//! How files are opened and read that a step may have made.

use rustix::fs::{Mode, OFlags};
use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

/// Opens a regular file: no link, no wait, nothing but a file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    // Opening a device can already do something.
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file"));
    }
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file")),
    }
}

/// The whole of a regular file of no more than `most_bytes`.
pub(crate) fn read(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()).is_ok_and(|length| length <= most_bytes) {
        true => Ok(bytes),
        false => {
            Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most_bytes} bytes")))
        }
    }
}
