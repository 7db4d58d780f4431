//! Splits output into lines. The pieces of output may have any size.
//!
//! A program writes one event per line. A piece may end anywhere, even within a character. A line can be very long,
//! because it may contain a tool's output. The rest of a line past the limit is skipped, so that a program cannot
//! fill the memory.

/// Longest line that is read. No document of Envoi is larger.
pub(crate) const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// See the module documentation.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    begun: Vec<u8>,
    /// True while the rest of a line is skipped.
    skips: bool,
    /// The number of skipped lines.
    pub(crate) skipped: u64,
    /// The number of skipped lines that began as an object and are complete.
    pub(crate) skipped_objects: u64,
    /// True if the line being skipped began as an object.
    is_object: bool,
}

impl Lines {
    /// Takes a piece, and returns the lines that it completes. Invalid UTF-8 is replaced.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut parts = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            self.add(part);
            if parts.peek().is_some() {
                lines.extend(self.end());
            }
        }
        lines
    }

    fn add(&mut self, part: &[u8]) {
        if !self.skips && self.begun.len().saturating_add(part.len()) > MAX_LINE_BYTES {
            self.skips = true;
            self.skipped = self.skipped.saturating_add(1);
            self.is_object =
                self.begun.iter().chain(part).find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
            self.begun = Vec::new();
        }
        if !self.skips {
            self.begun.extend_from_slice(part);
        }
    }

    /// Returns the incomplete last line, if it is not empty.
    pub(crate) fn end(&mut self) -> Option<String> {
        if core::mem::take(&mut self.skips) && self.is_object {
            self.skipped_objects = self.skipped_objects.saturating_add(1);
        }
        let line = core::mem::take(&mut self.begun);
        let text = String::from_utf8_lossy(line.trim_ascii()).into_owned();
        (!text.is_empty()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_may_end_anywhere_and_a_line_too_long_is_skipped_to_its_end() {
        let mut lines = Lines::default();
        let text = "one\r\n\n  zwei ü\nthree".as_bytes();
        let found: Vec<String> = text.chunks(1).flat_map(|piece| lines.push(piece)).collect();
        assert_eq!(found, ["one", "zwei ü"]);
        assert_eq!(lines.end().as_deref(), Some("three"));

        let long = vec![b'x'; MAX_LINE_BYTES + 1];
        assert_eq!(lines.push(&long), Vec::<String>::new());
        assert_eq!(lines.push(&long), Vec::<String>::new());
        assert_eq!(lines.push(b"rest\nnext\n"), ["next"]);
        assert_eq!(lines.skipped, 1);
    }

    #[test]
    fn bytes_that_are_no_text_do_not_end_the_reading() {
        let mut lines = Lines::default();
        assert_eq!(lines.push(b"a\xff\xfe\nb\n"), ["a\u{fffd}\u{fffd}", "b"]);
    }
}
