//! Files in the folder of an attempt.

use std::{fs, io, path::Path};

/// Writes a file that readers see whole or not at all.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("new");
    fs::write(&temporary, bytes)?;
    fs::rename(&temporary, path)
}

/// The text of a file, with bytes that are no UTF-8 replaced.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}
