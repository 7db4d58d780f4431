//! Files in the folder of an attempt. The program may have put anything there, so links are not followed and reading
//! never blocks.

use envoi_durable::{open_regular_with, read_regular};
use rustix::fs::OFlags;
use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
};

/// Largest file that is read.
const MAX_READ_BYTES: u64 = 16 * 1024 * 1024;

/// Largest events file. Later events are processed, but not kept.
const MAX_EVENTS_BYTES: u64 = 64 * 1024 * 1024;

/// The text of a file, with invalid UTF-8 replaced.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&read_regular(path, MAX_READ_BYTES)?).into_owned())
}

/// Opens a file to append lines; creates it if it does not exist.
pub(crate) fn added_to(path: &Path) -> io::Result<File> {
    open_regular_with(path, OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND)
}

/// The file with the events.
pub(crate) struct KeptEvents {
    file: File,
    left_bytes: u64,
    is_full: bool,
}

impl KeptEvents {
    /// Opens the file at `path` to append to it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::with(path, MAX_EVENTS_BYTES)
    }

    fn with(path: &Path, most_bytes: u64) -> io::Result<Self> {
        let file = added_to(path)?;
        let left_bytes = most_bytes.saturating_sub(file.metadata()?.len());
        Ok(Self { file, left_bytes, is_full: false })
    }

    /// Adds a line. The first line past the limit is replaced by a note that no more events are kept, and that call
    /// returns true.
    pub(crate) fn keep(&mut self, line: &str) -> io::Result<bool> {
        if self.is_full {
            return Ok(false);
        }
        let bytes = u64::try_from(line.len()).unwrap_or(u64::MAX).saturating_add(1);
        self.is_full = bytes > self.left_bytes;
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
        let line =
            if self.is_full { r#"{"type":"envoi","left_out":"the events after this one"}"# } else { line };
        self.file.write_all(format!("{line}\n").as_bytes())?;
        Ok(self.is_full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_past_the_limit_are_left_out_with_one_message() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let mut events = KeptEvents::with(&path, 12).unwrap();
        let said: Vec<bool> =
            ["12345", "12345", "1", "1"].iter().map(|line| events.keep(line).unwrap()).collect();
        assert_eq!(said, [false, false, true, false]);
        assert!(KeptEvents::with(&path, 12).unwrap().keep("1").unwrap(), "what is there counts");
        let kept = text(&path).unwrap();
        let kept: Vec<&str> = kept.lines().collect();
        assert_eq!((&kept[..2], kept.len()), (&["12345", "12345"][..], 4));
        assert!(kept[2].contains("left_out"), "{kept:?}");
    }
}
