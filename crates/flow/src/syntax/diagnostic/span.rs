//! Locations in a text.

/// A range of bytes of the file's text: `start` inclusive, `end` exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
}

impl Span {
    /// The range `start..end`.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end: end.max(start) }
    }

    /// The part of the span on its first line, limited to the text and to character boundaries, so that it can always
    /// be shown.
    pub(crate) fn shown(self, text: &str) -> Self {
        let start = floor(text, self.start);
        let end = floor(text, self.end).max(start);
        let inside = text.get(start..end).unwrap_or_default();
        let line = inside.split_once(['\n', '\r']).map_or(inside, |(first, _)| first);
        Self { start, end: start.saturating_add(line.len()) }
    }
}

/// The nearest character boundary at or before `offset`.
fn floor(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at = at.saturating_sub(1);
    }
    at
}

/// A line and a column, both from 1; columns count Unicode scalar values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineColumn {
    /// From 1.
    pub line: usize,
    /// From 1.
    pub column: usize,
}

impl LineColumn {
    /// The location of a byte of `text`.
    #[must_use]
    pub fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..floor(text, offset)).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline.saturating_add(1));
        Self {
            line: before.bytes().filter(|byte| *byte == b'\n').count().saturating_add(1),
            column: before.get(line_start..).unwrap_or_default().chars().count().saturating_add(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let text = "aé\nb";
        for (offset, line, column) in
            [(0, 1, 1), (1, 1, 2), (2, 1, 2), (3, 1, 3), (4, 2, 1), (5, 2, 2), (99, 2, 2)]
        {
            assert_eq!(LineColumn::of(text, offset), LineColumn { line, column }, "{offset}");
        }
    }

    #[test]
    fn what_is_shown_ends_with_its_line() {
        assert_eq!(Span::new(1, 9).shown("ab\r\ncd"), Span::new(1, 2));
        assert_eq!(Span::new(2, 2).shown("é"), Span::new(2, 2));
        assert_eq!(Span::new(1, 2).shown("é"), Span::new(0, 2));
    }
}
