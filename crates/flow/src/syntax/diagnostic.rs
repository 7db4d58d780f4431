//! What is wrong with a flow file, and where.
//!
//! Owns diagnostics, their order, their places, and their form as text with snippets. It does not decide
//! what is wrong; every reader of this crate adds to [`Problems`] and goes on, so that all mistakes are reported at once.

mod located;
mod render;
mod span;

pub use located::Located;
pub use span::{LineColumn, Span};

use envoi_contract::code::Code;

/// More mistakes than these are counted and not shown: no person reads them, and a broken file of a megabyte has thousands.
const MAX_KEPT: usize = 100;

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// `FLOW_SYNTAX` for a text that is not YAML, `FLOW_INVALID` for one that is and is no flow, their twins of a
    /// configuration, `IMPORT_INVALID`, or `NOT_YET_SUPPORTED` for what this build refuses and never ignores.
    pub code: Code,
    /// What is wrong, on one line.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What would have been accepted there; stands beside the marked text.
    pub expected: Option<String>,
    /// What to do.
    pub help: Option<String>,
    /// Other places that explain it, such as the first of two equal ids.
    pub labels: Vec<Label>,
}

/// A second place that belongs to a [`Diagnostic`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What is there.
    pub text: String,
}

impl Diagnostic {
    /// A mistake of this code at this place.
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

    /// Whether further ones are only counted. Checks whose work grows with the mistakes may then stop.
    pub(crate) fn full(&self) -> bool {
        self.found.len() >= MAX_KEPT
    }

    /// How many were found; a later call tells whether something was added in between.
    pub(crate) fn count(&self) -> usize {
        self.found.len().saturating_add(self.beyond)
    }

    /// Everything found, in the order of the file.
    pub(crate) fn into_report(self, file: &str, text: &str) -> Report {
        let mut diagnostics = self.found;
        diagnostics.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end));
        let file = file.to_owned();
        let text = text.to_owned();
        let wanted = "a flow that can run";
        Report { file, text, wanted, diagnostics, beyond: self.beyond, others: Vec::new() }
    }
}

/// Everything that is wrong with one file, and with those that it names: never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{file}` is not {wanted}: {} found", count(self.found()))]
pub struct Report {
    /// As it was named by the caller.
    pub file: String,
    /// The text that the spans point into.
    pub text: String,
    /// What the file should be, in words.
    pub wanted: &'static str,
    /// In the order of the file; at most 100.
    pub diagnostics: Vec<Diagnostic>,
    /// How many more were found, at least.
    pub beyond: usize,
    /// What is wrong with the files that it names, directly or not. If anything is, this one may have no mistake of its own.
    pub others: Vec<Report>,
}

fn count(problems: usize) -> String {
    if problems == 1 { "1 problem".to_owned() } else { format!("{problems} problems") }
}

/// Whether rendered text carries terminal colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colour {
    /// Plain text.
    #[default]
    Never,
    /// ANSI escapes.
    Always,
}

impl Report {
    /// How many mistakes there are, in all files.
    fn found(&self) -> usize {
        let own = self.diagnostics.len().saturating_add(self.beyond);
        self.others.iter().fold(own, |sum, other| sum.saturating_add(other.found()))
    }

    /// For people: each mistake with its line of the file, and how many there are.
    #[must_use]
    pub fn render(&self, colour: Colour) -> String {
        render::report(self, colour)
    }

    /// Where a diagnostic begins.
    #[must_use]
    pub fn place(&self, diagnostic: &Diagnostic) -> LineColumn {
        LineColumn::of(&self.text, diagnostic.span.start)
    }
}
