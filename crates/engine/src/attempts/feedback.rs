//! The feedback for a step in a loop: the critic's text, a line `--- stderr`, the end of its stderr; if a
//! person sent the run back, a line `--- answer` and their words, or their words alone.

use envoi_step::{AttemptDir, Spec, plain};
use std::{
    io,
    path::{Path, PathBuf},
};

/// How much of the critic's stderr is handed on.
const STDERR_BYTES: u64 = 64 * 1024;

/// The path of the feedback.
pub(super) fn place_of_feedback(dir: &AttemptDir) -> PathBuf {
    dir.path().join("feedback.txt")
}

/// Writes to `path` what the attempt in `critic` left, and the words of a `person`. A stream that is not there counts as empty.
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
    plain::write(path, &text)
}

fn verdict(critic: &AttemptDir) -> io::Result<Vec<u8>> {
    let text = critic.place_of_text().map(|path| end_of(&path, Spec::TEXT_CAP_BYTES));
    let mut text = text.transpose()?.unwrap_or_default();
    end_line(&mut text);
    text.extend_from_slice(b"--- stderr\n");
    text.extend(end_of(&critic.stderr(), STDERR_BYTES)?);
    Ok(text)
}

/// The end of a file; nothing where there is no file that can be read.
fn end_of(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    match envoi_step::end_of(path, most_bytes) {
        Err(error) if !plain::is_of_machine(&error) => Ok(Vec::new()),
        other => other,
    }
}

fn end_line(text: &mut Vec<u8>) {
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
}
