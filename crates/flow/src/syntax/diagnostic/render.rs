//! Diagnostics as text for people.

use super::{Colour, Diagnostic, Label, LineColumn, Report, Span, count};
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};

/// Largest size of the lines that are shown for one diagnostic. For a longer line only the location is shown.
const LONGEST_SNIPPET: usize = 64 * 1024;

pub(super) fn report(report: &Report, colour: Colour) -> String {
    let mut text = String::new();
    if !report.diagnostics.is_empty() {
        own(report, colour, &mut text);
    }
    text.extend(report.others.iter().map(|other| self::report(other, colour)));
    text
}

fn own(report: &Report, colour: Colour, text: &mut String) {
    let renderer = match colour {
        Colour::Never => Renderer::plain(),
        Colour::Always => Renderer::styled(),
    };
    let file = name(&report.file);
    for diagnostic in &report.diagnostics {
        text.push_str(&renderer.render(&[group(report, &file, diagnostic)]));
        text.push_str("\n\n");
    }
    text.push_str(&format!(
        "{file}: {} found",
        count(report.diagnostics.len().saturating_add(report.beyond))
    ));
    if report.beyond > 0 {
        text.push_str(&format!(", the first {} shown", report.diagnostics.len()));
    }
    text.push('\n');
}

/// The name of a file, with terminal control characters escaped.
fn name(file: &str) -> String {
    file.chars().fold(String::with_capacity(file.len()), |mut name, scalar| {
        match scalar.is_control() {
            true => name.extend(scalar.escape_default()),
            false => name.push(scalar),
        }
        name
    })
}

fn group<'a>(report: &'a Report, file: &'a str, diagnostic: &'a Diagnostic) -> Group<'a> {
    let title = Level::ERROR.primary_title(diagnostic.message.as_str()).id(diagnostic.code.as_str());
    let window = Window::around(&report.text, diagnostic);
    let group = if window.text.len() <= LONGEST_SNIPPET {
        title.element(snippet(file, diagnostic, &window))
    } else {
        let LineColumn { line, column } = report.place(diagnostic);
        title.element(Origin::path(file).line(line).char_column(column))
    };
    match &diagnostic.help {
        Some(help) => group.element(Level::HELP.message(help.as_str())),
        None => group,
    }
}

fn snippet<'a>(file: &'a str, diagnostic: &Diagnostic, window: &Window<'a>) -> Snippet<'a, Annotation<'a>> {
    let primary = window.annotation(AnnotationKind::Primary, diagnostic.span, expected(diagnostic));
    let others = diagnostic
        .labels
        .iter()
        .map(|Label { span, text }| window.annotation(AnnotationKind::Context, *span, Some(text.clone())));
    Snippet::source(window.text)
        .line_start(window.first_line)
        .path(file)
        .annotation(primary)
        .annotations(others)
}

/// The text beside the marked location, unless the message already contains it.
fn expected(diagnostic: &Diagnostic) -> Option<String> {
    let expected = diagnostic.expected.as_ref().filter(|expected| !diagnostic.message.contains(*expected))?;
    Some(format!("expected {expected}"))
}

/// The lines of a diagnostic. Otherwise the renderer would scan the whole file for each diagnostic.
struct Window<'a> {
    whole: &'a str,
    text: &'a str,
    start: usize,
    first_line: usize,
}

impl<'a> Window<'a> {
    fn around(whole: &'a str, diagnostic: &Diagnostic) -> Self {
        let spans = || {
            diagnostic.labels.iter().map(|label| label.span).chain([diagnostic.span]).map(|s| s.shown(whole))
        };
        let first = spans().map(|span| span.start).min().unwrap_or(0);
        let last = spans().map(|span| span.end).max().unwrap_or(first);
        let start =
            whole.get(..first).and_then(|before| before.rfind('\n')).map_or(0, |at| at.saturating_add(1));
        let end = whole
            .get(last..)
            .and_then(|after| after.find('\n'))
            .map_or(whole.len(), |at| last.saturating_add(at));
        let text = whole.get(start..end).unwrap_or_default();
        Self { whole, text, start, first_line: LineColumn::of(whole, start).line }
    }

    fn annotation(&self, kind: AnnotationKind, span: Span, text: Option<String>) -> Annotation<'a> {
        let span = span.shown(self.whole);
        let range = span.start.saturating_sub(self.start)..span.end.saturating_sub(self.start);
        kind.span(range).label(text)
    }
}
