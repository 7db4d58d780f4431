//! Diagnostics with their locations, for callers with their own output format.

use super::{Diagnostic, LineColumn, Report};

/// A mistake with its file and its location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Located<'r> {
    /// The name of the file, as the caller gave it.
    pub file: &'r str,
    /// The beginning of the location.
    pub start: LineColumn,
    /// The end of the location on its first line; exclusive.
    pub end: LineColumn,
    /// The mistake.
    pub diagnostic: &'r Diagnostic,
}

impl Report {
    /// All kept mistakes: those of the file in its order, then those of the files that it names.
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
