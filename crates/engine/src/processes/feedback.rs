//! What a step in a loop is told of the verdict: the critic's text, a line `--- stderr`, the end of its stderr; where a
//! person sent the run back, a line `--- answer` and their words, or their words alone.

use envoi_step::AttemptDir;
use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

/// How much of the critic's stderr is handed on.
const STDERR_BYTES: u64 = 64 * 1024;

/// Writes to `path` what the attempt in `critic` left, and what a `person` said. A stream that is not there counts as empty.
pub(super) fn write(critic: Option<&AttemptDir>, person: Option<&str>, path: &Path) -> io::Result<()> {
    let mut text = critic.map(verdict).transpose()?.unwrap_or_default();
    if let Some(words) = person {
        if critic.is_some() {
            end_line(&mut text);
            text.extend_from_slice(b"--- answer\n");
        }
        text.extend_from_slice(words.as_bytes());
        end_line(&mut text);
    }
    fs::write(path, text)
}

fn verdict(critic: &AttemptDir) -> io::Result<Vec<u8>> {
    let mut text = optional(fs::read(critic.text()))?;
    end_line(&mut text);
    text.extend_from_slice(b"--- stderr\n");
    text.extend(optional(end_of(&critic.stderr()))?);
    Ok(text)
}

fn end_line(text: &mut Vec<u8>) {
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
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
