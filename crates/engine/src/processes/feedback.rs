//! What a step in a loop is told of the critic's verdict: its text, a line `--- stderr`, the end of its stderr.

use envoi_step::AttemptDir;
use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

/// How much of the critic's stderr is handed on.
const STDERR_BYTES: u64 = 64 * 1024;

/// Writes the feedback of the attempt in `critic` to `path`. A stream that is not there counts as empty.
pub(super) fn write(critic: &AttemptDir, path: &Path) -> io::Result<()> {
    let mut text = optional(fs::read(critic.text()))?;
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text.extend_from_slice(b"--- stderr\n");
    text.extend(optional(end_of(&critic.stderr()))?);
    fs::write(path, text)
}

fn end_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(bytes.saturating_sub(STDERR_BYTES)))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    Ok(end)
}

fn optional(read: io::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other,
    }
}
