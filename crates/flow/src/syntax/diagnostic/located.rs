//! Diagnostics with their places, for callers that show them in a form of their own.

use super::{Diagnostic, LineColumn, Report};

/// A mistake, the file that it is in, and where it stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Located<'r> {
    /// The file, as it was named.
    pub file: &'r str,
    /// Where it begins.
    pub start: LineColumn,
    /// Where the part of it on its first line ends; exclusive.
    pub end: LineColumn,
    /// The mistake.
    pub diagnostic: &'r Diagnostic,
}

impl Report {
    /// All mistakes that are kept: its own in the order of the file, then those of the files that it names.
    #[must_use]
    pub fn located(&self) -> Vec<Located<'_>> {
        let own = self.diagnostics.iter().map(|diagnostic| {
            let span = diagnostic.span.shown(&self.text);
            Located {
                file: &self.file,
                start: LineColumn::of(&self.text, span.start),
                end: LineColumn::of(&self.text, span.end),
                diagnostic,
            }
        });
        own.chain(self.others.iter().flat_map(Report::located)).collect()
    }
}
