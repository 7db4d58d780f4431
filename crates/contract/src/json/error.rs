//! The reason why bytes are not a document, and its location.

use alloc::string::String;
use core::fmt;

/// A location in a text: 1-based, with the column in Unicode scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1; lines end at `\n`.
    pub line: u32,
    /// Column, from 1, counted in Unicode scalars (in bytes where the text is not UTF-8).
    pub column: u32,
}

impl Position {
    /// The location of the byte `offset` in `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8], offset: usize) -> Position {
        let before = bytes.get(..offset).unwrap_or(bytes);
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.get(line_start..).map_or(0, count_scalars) + 1;
        Position { line: saturate(line), column: saturate(column) }
    }
}

fn count_scalars(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte & 0xC0) != 0x80).count()
}

fn saturate(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The expected input after a document.
pub(super) const END_WORDS: &str = "the end of the document";
/// The expected size of a document, for documents that are too large.
pub(super) const MAX_BYTES_WORDS: &str = "a document of at most 16 MiB";
/// The expected depth of a document, for documents that are too deep.
pub(super) const MAX_DEPTH_WORDS: &str = "at most 127 levels of nesting";

/// Bytes that are not one strict JSON document.
///
/// JSON, or rule 0 of the contracts, does not allow the found text at this location. The document has to be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// JSON Pointer of the value that was being read.
    pub pointer: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, in Unicode scalars.
    pub column: u32,
    /// The allowed input.
    pub expected: String,
    /// The found input, shortened.
    pub found: String,
}

impl Error {
    /// True if the document was refused for its size or depth, and not for its content.
    #[must_use]
    pub fn is_limit(&self) -> bool {
        [MAX_BYTES_WORDS, MAX_DEPTH_WORDS].contains(&self.expected.as_str())
    }

    /// True if there is a complete document before the location.
    #[must_use]
    pub fn is_behind_a_document(&self) -> bool {
        self.expected == END_WORDS
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Error { pointer, line, column, expected, found } = self;
        write!(f, "line {line}, column {column}")?;
        if !pointer.is_empty() {
            write!(f, ", at `{pointer}`")?;
        }
        write!(f, ": expected {expected}, found {found}")
    }
}

impl core::error::Error for Error {}
