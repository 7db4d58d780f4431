//! Files that the person names: how they are read, and how new ones are written.

use crate::process::failure::Failure;
use envoi_contract::code::Code;
use std::{fs, io, path::Path};

/// Names of the files that this process was given open, such as standard input or what a shell substitutes for `<(…)`.
const GIVEN: [&str; 3] = ["/dev/stdin", "/dev/fd/", "/proc/self/fd/"];

/// The whole of a file. A named pipe or a device is refused: reading it could wait for ever. What this process was given open is read.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    let is_given = path.to_str().is_some_and(|path| GIVEN.iter().any(|given| path.starts_with(given)));
    // A folder has an error of its own.
    if found.is_file() || found.is_dir() || is_given {
        return fs::read(path);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
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
