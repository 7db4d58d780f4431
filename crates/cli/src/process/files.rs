//! Reads files that the person names, and writes new ones.

use crate::process::failure::Failure;
use envoi_contract::code::Code;
use rustix::fs::OFlags;
use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Opening a pipe does not block, and a terminal does not become the controlling terminal of this process.
const NO_WAIT: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

/// Paths of files that the process inherited open, such as standard input or a shell's `<(…)`.
const GIVEN: [&str; 3] = ["/dev/stdin", "/dev/fd/", "/proc/self/fd/"];

/// The most bytes that are read of a whole file. Each kind of file has a smaller limit, which its reader
/// checks.
const MOST_BYTES: u64 = 32 * 1024 * 1024;

/// Opens a file for reading. Refuses a folder, a named pipe and a device, because reading them could block
/// forever. A file that the process inherited open is accepted as it is.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let is_given = path.to_str().is_some_and(|path| GIVEN.iter().any(|given| path.starts_with(given)));
    if is_given {
        return File::open(path);
    }
    // Check before opening, because opening a device can have effects. Check again after opening, because the
    // file may have been replaced.
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

/// Reads a whole file, opened with [`open`], up to [`MOST_BYTES`].
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    bounded(open(path)?)
}

/// Reads everything, up to [`MOST_BYTES`].
pub(crate) fn bounded(from: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MOST_BYTES.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= MOST_BYTES) {
        return Ok(bytes);
    }
    let reason = format!("it has more than {} MiB", MOST_BYTES >> 20);
    Err(io::Error::new(io::ErrorKind::InvalidData, reason))
}

/// As [`read`], for text.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Writes a new file durably. An existing file is not changed: the hint `another` shows how to choose another
/// path. No partial file is left.
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
