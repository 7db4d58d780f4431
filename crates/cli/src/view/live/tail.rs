//! The last line that a live attempt has written, read from the end of its files.

use crate::{
    text::columns::{Charset, shown},
    view::file_work,
};
use envoi_step::{AttemptDir, end_of, without_escapes};
use std::path::PathBuf;

/// How many bytes at the end of each file are read. The beginning of a longer line is not shown.
const LOOK_BYTES: u64 = 4 * 1024;

/// The last line of one attempt.
pub(crate) struct Tail {
    dir: AttemptDir,
    seen: [Vec<u8>; 2],
    line: String,
}

impl Tail {
    /// The last line of the attempt in this folder.
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { dir: AttemptDir::new(dir), seen: [Vec::new(), Vec::new()], line: String::new() }
    }

    /// The supervisor's work with many files. Without such work, the last line that is not empty, from the
    /// stream that has changed since the last poll.
    pub(crate) fn look(&mut self) -> String {
        match envoi_step::file_work(&self.dir) {
            Some(work) => file_work::words(work),
            None => self.last_line().to_owned(),
        }
    }

    fn last_line(&mut self) -> &str {
        // stdout is read last: if both have grown, its line is shown.
        for (seen, path) in self.seen.iter_mut().rev().zip([self.dir.stderr(), self.dir.stdout()]) {
            // A file that cannot be read now may be readable at the next poll. Otherwise the engine reports
            // it.
            let end = end_of(&path, LOOK_BYTES).unwrap_or_default();
            if end != *seen {
                self.line = last_line(&end).unwrap_or_else(|| core::mem::take(&mut self.line));
                *seen = end;
            }
        }
        &self.line
    }
}

/// The last line that is not empty. A carriage return starts the line again, as on a terminal.
fn last_line(bytes: &[u8]) -> Option<String> {
    let plain = without_escapes(bytes);
    let text = String::from_utf8_lossy(&plain);
    let mut lines = text.rsplit(['\n', '\r']).map(|line| shown(line, Charset::Unicode));
    lines.find(|line| !line.trim().is_empty()).map(|line| line.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_line_that_was_written_last_is_shown_whichever_stream_it_is_on() {
        let dir = tempfile::tempdir().unwrap();
        let mut tail = Tail::new(dir.path().to_owned());
        assert_eq!(tail.look(), "");
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        write("stdout", "one\ntwo\n");
        assert_eq!(tail.look(), "two");
        write("stderr", "\x1b[31mwarning\x1b[0m\n\n");
        assert_eq!(tail.look(), "warning");
        write("stdout", "one\ntwo\n10 %\r20 %\r");
        assert_eq!(tail.look(), "20 %");
        assert_eq!(tail.look(), "20 %", "nothing new");
        write("stderr", "\x1b[31mwarning\x1b[0m\n\n\n");
        assert_eq!(tail.look(), "warning");
        write("stderr", "both\n");
        write("stdout", "have grown\n");
        assert_eq!(tail.look(), "have grown");
        write("file-work.json", r#"{"doing":"keeping","files":1,"bytes":268435456}"#);
        assert_eq!(tail.look(), "keeping 1 file of 256 MiB as artifacts");
        fs::remove_file(dir.path().join("file-work.json")).unwrap();
        assert_eq!(tail.look(), "have grown");
    }

    #[test]
    fn no_more_than_the_end_of_a_long_output_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let mut tail = Tail::new(dir.path().to_owned());
        fs::write(dir.path().join("stdout"), "x".repeat(100_000)).unwrap();
        assert_eq!(tail.look().len(), 4096);
    }
}
