//! The mistakes of a flow file, with their locations.
//!
//! Owns diagnostics, their order, their locations, and their form as text with snippets. It does not find mistakes:
//! every reader of this crate adds to [`Problems`] and continues, so that all mistakes are reported at once.

mod located;
mod render;
mod span;

pub use located::Located;
pub use span::{LineColumn, Span};

use envoi_contract::code::Code;

/// Further mistakes are counted and not shown. A broken file of a megabyte has thousands, and no person reads them.
const MAX_KEPT: usize = 100;

/// A mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// `FLOW_SYNTAX` for a text that is not YAML; `FLOW_INVALID` for YAML that is not a valid flow; the corresponding
    /// codes of a configuration; `IMPORT_INVALID`; or `NOT_YET_SUPPORTED` for a construct that this build refuses and
    /// does not ignore.
    pub code: Code,
    /// The mistake, on one line.
    pub message: String,
    /// The location.
    pub span: Span,
    /// The accepted values, shown beside the marked text.
    pub expected: Option<String>,
    /// Advice.
    pub help: Option<String>,
    /// Other locations that explain the mistake, such as the first of two equal ids.
    pub labels: Vec<Label>,
}

/// A second location of a [`Diagnostic`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The location.
    pub span: Span,
    /// An explanation of this location.
    pub text: String,
}

impl Diagnostic {
    /// A mistake with this code at this location.
    #[must_use]
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), span, expected: None, help: None, labels: Vec::new() }
    }

    pub(crate) fn invalid(span: Span, message: impl Into<String>) -> Self {
        Self::new(Code::FlowInvalid, span, message)
    }

    pub(crate) fn syntax(span: Span, message: impl Into<String>) -> Self {
        Self::new(Code::FlowSyntax, span, message)
    }

    pub(crate) fn expecting(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = help.or(self.help);
        self
    }

    pub(crate) fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }
}

/// The mistakes found so far.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    found: Vec<Diagnostic>,
    beyond: usize,
}

impl Problems {
    pub(crate) fn add(&mut self, diagnostic: Diagnostic) {
        if self.found.len() < MAX_KEPT {
            self.found.push(diagnostic);
        } else {
            self.beyond = self.beyond.saturating_add(1);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// True if further mistakes are only counted. Checks whose work grows with the mistakes may then stop.
    pub(crate) fn full(&self) -> bool {
        self.found.len() >= MAX_KEPT
    }

    /// The number of mistakes so far. A caller can compare two results to detect new mistakes.
    pub(crate) fn count(&self) -> usize {
        self.found.len().saturating_add(self.beyond)
    }

    /// All mistakes, in the order of the file.
    pub(crate) fn into_report(self, file: &str, text: &str) -> Report {
        let mut diagnostics = self.found;
        diagnostics.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end));
        let file = file.to_owned();
        let text = text.to_owned();
        let wanted = "a flow that can run";
        Report { file, text, wanted, diagnostics, beyond: self.beyond, others: Vec::new() }
    }
}

/// All mistakes of one file and of the files that it names. Never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{file}` is not {wanted}: {} found", count(self.found()))]
pub struct Report {
    /// The name of the file, as the caller gave it.
    pub file: String,
    /// The text to which the spans refer.
    pub text: String,
    /// The expected kind of file, in words.
    pub wanted: &'static str,
    /// The mistakes in the order of the file; at most 100.
    pub diagnostics: Vec<Diagnostic>,
    /// The number of further mistakes; a lower bound.
    pub beyond: usize,
    /// The mistakes of the files that it names, directly or indirectly. If there are any, this file may have no
    /// mistake of its own.
    pub others: Vec<Report>,
}

fn count(problems: usize) -> String {
    if problems == 1 { "1 problem".to_owned() } else { format!("{problems} problems") }
}

/// Whether rendered text has terminal colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colour {
    /// Plain text.
    #[default]
    Never,
    /// ANSI escapes.
    Always,
}

impl Report {
    /// The number of mistakes in all files.
    fn found(&self) -> usize {
        let own = self.diagnostics.len().saturating_add(self.beyond);
        self.others.iter().fold(own, |sum, other| sum.saturating_add(other.found()))
    }

    /// The report as text for people: each mistake with its line of the file, and the number of mistakes.
    #[must_use]
    pub fn render(&self, colour: Colour) -> String {
        render::report(self, colour)
    }

    /// The location of a diagnostic.
    #[must_use]
    pub fn place(&self, diagnostic: &Diagnostic) -> LineColumn {
        LineColumn::of(&self.text, diagnostic.span.start)
    }
}
