//! Files that the person names: how they are read, and how new ones are written.

use crate::process::failure::Failure;
use envoi_contract::code::Code;
use rustix::fs::OFlags;
use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// A pipe is opened at once, and a terminal does not become that of this process.
const NO_WAIT: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

/// Names of the files that this process was given open, such as standard input or what a shell substitutes for `<(…)`.
const GIVEN: [&str; 3] = ["/dev/stdin", "/dev/fd/", "/proc/self/fd/"];

/// The most that is read of a file that is read whole. What each kind of file may have is less, and its reader says so.
const MOST_BYTES: u64 = 32 * 1024 * 1024;

/// Opens a file for reading. A named pipe or a device is refused, and a folder: reading them could wait for ever. What this process was given
/// open is opened again as it is.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let is_given = path.to_str().is_some_and(|path| GIVEN.iter().any(|given| path.starts_with(given)));
    if is_given {
        return File::open(path);
    }
    // Opening a device can already do something; and what is there may be another thing after it has been looked at.
    regular(&fs::metadata(path)?)?;
    let file = OpenOptions::new().read(true).custom_flags(NO_WAIT.bits().cast_signed()).open(path)?;
    regular(&file.metadata()?).map(|()| file)
}

fn regular(found: &Metadata) -> io::Result<()> {
    let reason = match (found.is_file(), found.is_dir()) {
        (true, _) => return Ok(()),
        (false, true) => "it is a folder",
        (false, false) => "it is no regular file",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, reason))
}

/// The whole of a file, as [`open`] opens it; of [`MOST_BYTES`] at most.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    bounded(open(path)?)
}

/// All that comes, of [`MOST_BYTES`] at most.
pub(crate) fn bounded(from: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MOST_BYTES.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= MOST_BYTES) {
        return Ok(bytes);
    }
    let reason = format!("it has more than {} MiB", MOST_BYTES >> 20);
    Err(io::Error::new(io::ErrorKind::InvalidData, reason))
}

/// As [`read`], of a text.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Writes a new file, durably. What is there is not touched: `another` says how to name another place. Half a file does not stay.
pub(crate) fn write_new(path: &Path, bytes: &[u8], another: &str) -> Result<(), Failure> {
    match envoi_durable::write_new(path, bytes) {
        Ok(true) => Ok(()),
        Ok(false) => {
            let message = format!("`{}` is there already; nothing was written", path.display());
            Err(Failure::new(Code::FileExists, message).hint(another))
        }
        Err(error) => Err(Failure::machine(format!("`{}`", path.display()), error)),
    }
}
