//! Files in the folder of an attempt.

use std::{fs, io, path::Path};

/// The text of a file, with bytes that are no UTF-8 replaced.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}
