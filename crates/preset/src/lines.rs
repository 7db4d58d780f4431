//! Lines from pieces of any size.
//!
//! A program writes one event a line. A piece may end anywhere, also within a character. A line may be long: a tool's output is
//! one. Past a bound its rest is skipped, so that a program cannot fill the memory.

/// The longest line that is read. No document of ours is larger.
pub(crate) const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    begun: Vec<u8>,
    /// The rest of the line is skipped.
    skips: bool,
    /// Lines that were skipped.
    pub(crate) skipped: u64,
    /// Those of them that began as an object and have come to their end.
    pub(crate) skipped_objects: u64,
    /// The line that is skipped began as an object.
    is_object: bool,
}

impl Lines {
    /// Takes a piece, and returns the lines that it ends; bytes that are no UTF-8 are replaced.
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

    /// The line that was begun, if it has anything in it.
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
