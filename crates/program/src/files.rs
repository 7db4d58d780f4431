//! Files in the folder of an attempt.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

/// Writes a file that is there whole or not at all, also after a loss of power.
pub(crate) fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("new");
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

/// The text of a file, with bytes that are no UTF-8 replaced.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}
