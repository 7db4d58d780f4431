//! Checks expressions before anything runs.
//!
//! Checks that they parse and that the names in them exist, and finds their locations in the file. The kernel owns
//! the language and evaluates it.

mod comparison;
mod python;
mod reads;
mod shell;
mod verdict;

use crate::{
    check::graph::Graph,
    parse::{
        draft::{Draft, Usage},
        shell::ScriptKind,
    },
    syntax::{
        diagnostic::{Diagnostic, Problems, Span},
        suggestion::did_you_mean,
    },
};
use envoi_kernel::expression::{
    Segment, filter_names,
    names::{self as expression_names, Call, Found, Kind},
    segments, test_names, variables as variables_of,
};
use std::{collections::BTreeSet, ops::Range};
use verdict::Names;

pub(crate) use reads::reads;

const OPEN: &str = "${{";
const CLOSE: &str = "}}";

/// Longest expression. An expression such as `---1` nests at every byte when it is compiled, and the stack of a
/// thread is 2 MiB.
const MAX_BYTES: usize = 1024;

/// Functions of earlier versions. A run that is pinned to a flow with one of them fails when the function is
/// evaluated.
const FORMER: &[&str] = &["dict", "debug", "namespace"];

/// Checks every expression of the draft. `text` is the text of the file.
pub(crate) fn check(draft: &Draft, graph: &Graph<'_>, text: &str, problems: &mut Problems) {
    check_all(&draft.expressions, draft, graph, text, problems);
    for outputs in &draft.outputs {
        // That flow was already checked, so checking its graph again reports nothing.
        let inner = &outputs.of.draft;
        let graph = Graph::check(&inner.steps, None, &mut Problems::default());
        check_all(&outputs.expressions, inner, &graph, text, problems);
    }
}

/// Checks expressions in `text` against the names in `draft`.
fn check_all(usages: &[Usage], draft: &Draft, graph: &Graph<'_>, text: &str, problems: &mut Problems) {
    for usage in usages {
        if problems.full() {
            return;
        }
        Checker { draft, graph, text, usage, problems }.check();
    }
}

/// The expressions of a text.
fn sources(usage: &Usage) -> Vec<&str> {
    if usage.bare {
        return vec![&usage.source];
    }
    let inside = |segment| match segment {
        Segment::Expression(source) => Some(source),
        Segment::Text(_) | Segment::Unclosed(_) => None,
    };
    segments(&usage.source).into_iter().filter_map(inside).collect()
}

/// The ranges of the expressions in a text, without `${{` and `}}`.
fn ranges(usage: &Usage) -> Vec<Range<usize>> {
    if usage.bare {
        let whole = 0..usage.source.len();
        return core::iter::once(whole).collect();
    }
    let inside =
        |range: Range<usize>| range.start.saturating_add(OPEN.len())..range.end.saturating_sub(CLOSE.len());
    all_expressions(&usage.source).into_iter().map(inside).collect()
}

/// The variables that the expressions of a file read: `env.NAME`.
pub(crate) fn variables(draft: &Draft) -> BTreeSet<String> {
    let of_env =
        |(name, members): (String, Vec<String>)| (name == "env").then(|| members.into_iter().next())?;
    paths(draft).filter_map(of_env).collect()
}

/// True if an expression of a file reads the whole text of a step, or the step as a whole.
pub(crate) fn reads_text(draft: &Draft) -> bool {
    paths(draft)
        .any(|(name, members)| name == "steps" && members.get(1).is_none_or(|member| member == "text"))
}

/// All paths in the expressions of a file, as name and members.
fn paths(draft: &Draft) -> impl Iterator<Item = (String, Vec<String>)> {
    let returns = draft.outputs.iter().flat_map(|outputs| &outputs.expressions);
    let found = draft.expressions.iter().chain(returns).flat_map(sources).flat_map(expression_names::names);
    found.filter_map(|found| match found.kind {
        Kind::Path { members, .. } => Some((found.name, members)),
        Kind::Filter | Kind::Test => None,
    })
}

/// The ranges of all `${{ … }}`.
fn all_expressions(source: &str) -> Vec<Range<usize>> {
    let mut at = 0_usize;
    let mut found = Vec::new();
    for segment in segments(source) {
        match segment {
            Segment::Text(text) => at = at.saturating_add(text.len()),
            Segment::Expression(inside) => {
                let end = at.saturating_add(inside.len()).saturating_add(OPEN.len() + CLOSE.len());
                found.push(at..end);
                at = end;
            }
            Segment::Unclosed(_) => {}
        }
    }
    found
}

struct Checker<'c> {
    draft: &'c Draft,
    graph: &'c Graph<'c>,
    text: &'c str,
    usage: &'c Usage,
    problems: &'c mut Problems,
}

impl Checker<'_> {
    fn check(mut self) {
        if self.usage.bare {
            return self.expression(0, &self.usage.source);
        }
        if let Some(kind) = self.usage.script {
            self.script(kind);
        }
        let mut at = 0_usize;
        for segment in segments(&self.usage.source) {
            if self.problems.full() {
                return;
            }
            match segment {
                Segment::Text(text) => at = at.saturating_add(text.len()),
                Segment::Expression(source) => {
                    self.expression(at.saturating_add(OPEN.len()), source);
                    at = at.saturating_add(source.len()).saturating_add(OPEN.len() + CLOSE.len());
                }
                Segment::Unclosed(_) => {
                    let span = self.span(at..at.saturating_add(OPEN.len()));
                    self.problems.add(Diagnostic::invalid(span, "`${{` has no `}}`"));
                }
            }
        }
    }

    /// Checks expressions in a script. Each becomes a variable, so it must be where the interpreter reads a variable.
    fn script(&mut self, kind: ScriptKind) {
        let source = &self.usage.source;
        let (ranges, message, help) = match kind {
            ScriptKind::Shell => (
                shell::quoted_expressions(source),
                "this expression stands in single quotes, where the shell fills nothing in",
                "put double quotes around it, or write `run` as a list",
            ),
            ScriptKind::Python => (
                python::quoted_expressions(source),
                "this expression stands in a string of Python, where nothing is filled in",
                "an expression is a string by itself, without quotes: `print(${{ run.id }})`",
            ),
            ScriptKind::Other => (
                all_expressions(source),
                "Envoi does not know how this program reads a variable, so it fills nothing into its script",
                "give the value to `env` of the step, and let the script read that variable",
            ),
        };
        for range in ranges {
            let span = self.span(range);
            self.problems.add(Diagnostic::invalid(span, message).help(help));
        }
    }

    /// Checks one expression that begins at byte `start` of the usage.
    fn expression(&mut self, start: usize, source: &str) {
        let Some(open) = self.open_names(start, source) else { return };
        let mut reported = 0..0;
        for mut found in expression_names::names(source) {
            if self.problems.full() {
                return;
            }
            found.range = found.range.start.saturating_add(start)..found.range.end.saturating_add(start);
            if reported.contains(&found.range.start) {
                continue;
            }
            match &found.kind {
                Kind::Filter | Kind::Test => self.callable(&found),
                Kind::Path { members, call } => {
                    let was_there = self.draft.pinned && FORMER.contains(&found.name.as_str());
                    let is_function = found.name == "range" && *call == Call::WithArguments;
                    if open.contains(&found.name) && !was_there && !is_function {
                        let before = self.problems.count();
                        reported = self.path(&found, members, *call);
                        if self.problems.count() == before && !self.draft.pinned {
                            self.comparisons(start, source, &found);
                        }
                    }
                }
            }
        }
    }

    /// The variables that an expression reads. `None` if it does not parse; that problem is reported.
    fn open_names(&mut self, start: usize, source: &str) -> Option<BTreeSet<String>> {
        if source.len() > MAX_BYTES {
            let span = self.span(start..start.saturating_add(source.len()));
            let message =
                format!("an expression has at most {MAX_BYTES} bytes; this one has {}", source.len());
            self.problems.add(Diagnostic::invalid(span, message));
            return None;
        }
        match variables_of(source) {
            Ok(variables) => Some(variables),
            Err(error) => {
                let reason = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
                let begin = start.saturating_add(source.len().saturating_sub(source.trim_start().len()));
                let span = self.span(begin..begin.saturating_add(source.trim().len()));
                self.problems
                    .add(Diagnostic::invalid(span, format!("the expression does not parse: {reason}")));
                None
            }
        }
    }

    /// Checks the words with which a path is compared. The expression begins at byte `start` of the usage.
    fn comparisons(&mut self, start: usize, source: &str, found: &Found) {
        let range = found.range.start.saturating_sub(start)..found.range.end.saturating_sub(start);
        let found = Found { range, ..found.clone() };
        for (place, diagnostic) in comparison::impossible(self.draft, source, &found) {
            let place = place.start.saturating_add(start)..place.end.saturating_add(start);
            let span = self.span(place);
            self.problems.add(Diagnostic { span, ..diagnostic });
        }
    }

    /// Checks one path. Returns the part of the source that this check covers.
    fn path(&mut self, found: &Found, members: &[String], call: Call) -> Range<usize> {
        let names = Names { draft: self.draft, graph: self.graph, usage: self.usage };
        let verdict = names.judge(found, members, call);
        for diagnostic in verdict.wrong {
            let span = self.span(found.range.clone());
            self.problems.add(Diagnostic { span, ..diagnostic });
        }
        verdict.covers
    }

    /// Reports a filter or test that does not exist. A run that is pinned to such a flow fails when it is evaluated.
    fn callable(&mut self, found: &Found) {
        let (known, what) = match found.kind {
            Kind::Filter => (filter_names(), "filter"),
            _ => (test_names(), "test"),
        };
        if self.draft.pinned || known.contains(&found.name.as_str()) {
            return;
        }
        let help = did_you_mean(&found.name, known.iter().copied())
            .unwrap_or_else(|| format!("there are: {}", known.join(", ")));
        let span = self.span(found.range.clone());
        self.problems
            .add(Diagnostic::invalid(span, format!("there is no {what} `{}`", found.name)).help(help));
    }

    /// The location of a name in the file: the same occurrence of its text within the scalar. If the scalar has
    /// escapes and does not contain that text, the whole scalar.
    fn span(&self, range: Range<usize>) -> Span {
        place_of(self.usage, self.text, range)
    }
}

fn place_of(usage: &Usage, text: &str, range: Range<usize>) -> Span {
    let place = || {
        let name = usage.source.get(range.clone())?;
        let before = usage.source.get(..range.start)?.matches(name).count();
        let written = text.get(usage.span.start..usage.span.end)?;
        let (at, _) = written.match_indices(name).nth(before)?;
        let start = usage.span.start.checked_add(at)?;
        Some(Span::new(start, start.checked_add(name.len())?))
    };
    if range.is_empty() { usage.span } else { place().unwrap_or(usage.span) }
}
