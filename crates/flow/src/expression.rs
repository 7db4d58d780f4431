//! Checks of expressions before anything runs.
//!
//! Owns which names exist and when: inputs that are declared, steps that can have run, what a step and a run are made of.
//! The language is the kernel's, and so is evaluation.

mod scan;
mod shell;

use crate::{
    diagnostic::{Diagnostic, Problems, Span},
    draft::{Draft, Usage},
    graph::Graph,
    read::{listed, not_yet},
    suggestion::did_you_mean,
};
use envoi_kernel::expression::{Segment, environment, segments};
use minijinja::{Environment, ErrorKind, Value};
use scan::{Found, Kind};
use std::{
    collections::{BTreeSet, HashSet},
    ops::Range,
};

const OPEN: &str = "${{";
const CLOSE: &str = "}}";

const ROOTS: &[&str] = &["inputs", "steps", "run"];
const OF_A_STEP: &[&str] = &["status", "summary", "data", "artifacts", "report"];
const OF_A_RUN: &[&str] = &["id", "flow", "workspace"];
/// Functions of the language that are not built yet.
const LATER: &[&str] = &["success", "failure", "always"];

/// Checks every expression of the draft; `text` is the file's.
pub(crate) fn check(draft: &Draft, graph: &Graph<'_>, text: &str, problems: &mut Problems) {
    let environment = environment();
    let globals: BTreeSet<String> = environment.globals().map(|(name, _)| name.to_owned()).collect();
    for usage in &draft.expressions {
        let checker =
            Checker { draft, graph, text, environment: &environment, globals: &globals, usage, problems };
        checker.check();
    }
}

/// The names that an expression leaves open.
struct Open {
    roots: HashSet<String>,
    paths: HashSet<String>,
}

struct Checker<'c> {
    draft: &'c Draft,
    graph: &'c Graph<'c>,
    text: &'c str,
    environment: &'c Environment<'static>,
    globals: &'c BTreeSet<String>,
    usage: &'c Usage,
    problems: &'c mut Problems,
}

impl Checker<'_> {
    fn check(mut self) {
        if self.usage.bare {
            return self.expression(0, &self.usage.source);
        }
        if self.usage.shell {
            self.shell_quotes();
        }
        let mut at = 0_usize;
        for segment in segments(&self.usage.source) {
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

    /// In a shell script an expression becomes a variable, which single quotes would keep from being read.
    fn shell_quotes(&mut self) {
        for range in shell::quoted_expressions(&self.usage.source) {
            let span = self.span(range);
            self.problems.add(
                Diagnostic::invalid(
                    span,
                    "this expression stands in single quotes, where the shell fills nothing in",
                )
                .help("put double quotes around it, or write `run` as a list"),
            );
        }
    }

    /// One expression that begins at byte `start` of the usage.
    fn expression(&mut self, start: usize, source: &str) {
        let Some(open) = self.open_names(start, source) else { return };
        let mut told = 0..0;
        for mut found in scan::names(source) {
            found.range = found.range.start.saturating_add(start)..found.range.end.saturating_add(start);
            if told.contains(&found.range.start) {
                continue;
            }
            match &found.kind {
                Kind::Filter | Kind::Test => self.callable(&found),
                Kind::Path { members, called, .. } => {
                    let open = open.roots.contains(&found.name) && open.paths.contains(&found.dotted());
                    if open && !self.globals.contains(&found.name) {
                        told = self.path(&found, members, *called);
                    }
                }
            }
        }
    }

    /// `None`: it does not parse, and the problem is told.
    fn open_names(&mut self, start: usize, source: &str) -> Option<Open> {
        match self.environment.compile_expression(source) {
            Ok(parsed) => Some(Open {
                roots: parsed.undeclared_variables(false),
                paths: parsed.undeclared_variables(true),
            }),
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

    /// Checks one path. Answers the part of the source about which nothing more is to be said.
    fn path(&mut self, found: &Found, members: &[String], called: bool) -> Range<usize> {
        let span = self.span(found.range.clone());
        let first = members.first().map(String::as_str);
        match (found.name.as_str(), first) {
            ("inputs", Some(name)) => self.input(span, name, found),
            ("run", Some(name)) if !OF_A_RUN.contains(&name) => {
                let message = format!("a run has no `{name}`");
                let help = did_you_mean(name, OF_A_RUN.iter().copied());
                self.problems.add(
                    Diagnostic::invalid(span, message)
                        .maybe_help(help.or_else(|| Some(format!("it has {}", listed(OF_A_RUN))))),
                );
                found.range.clone()
            }
            ("steps", Some(id)) => self.step(span, id, members.get(1).map(String::as_str), found),
            (root, _) if ROOTS.contains(&root) => found.range.clone(),
            (root, _) if called && LATER.contains(&root) => {
                self.problems.add(not_yet(span, &format!("`{root}()`")));
                found.range.clone()
            }
            (root, _) => {
                self.problems.add(unknown_root(span, root));
                found.range.clone()
            }
        }
    }

    fn input(&mut self, span: Span, name: &str, found: &Found) -> Range<usize> {
        let names = || self.draft.input_names.iter().map(String::as_str);
        if names().any(|declared| declared == name) {
            return found.range.clone();
        }
        if let Some((whole, range)) = self.hyphenated(found, name, |word| names().any(|known| known == word))
        {
            self.problems.add(
                Diagnostic::invalid(span, format!("`inputs.{whole}` is read as a subtraction"))
                    .help(format!("write `inputs['{whole}']`")),
            );
            return range;
        }
        let help = did_you_mean(name, names())
            .unwrap_or_else(|| format!("declare it: `inputs: {{ {name}: {{ type: string }} }}`"));
        self.problems.add(Diagnostic::invalid(span, format!("there is no input `{name}`")).help(help));
        found.range.clone()
    }

    fn step(&mut self, span: Span, id: &str, member: Option<&str>, found: &Found) -> Range<usize> {
        let Some(place) = self.graph.place(id) else {
            if let Some((whole, range)) = self.hyphenated(found, id, |word| self.graph.place(word).is_some())
            {
                self.problems.add(
                    Diagnostic::invalid(span, format!("`steps.{whole}` is read as a subtraction"))
                        .help(format!("write `steps['{whole}']`")),
                );
                return range;
            }
            let help = did_you_mean(id, self.graph.ids());
            self.problems.add(Diagnostic::invalid(span, format!("there is no step `{id}`")).maybe_help(help));
            return found.range.clone();
        };
        if let Some(member) = member.filter(|member| !OF_A_STEP.contains(member)) {
            let help = did_you_mean(member, OF_A_STEP.iter().copied())
                .unwrap_or_else(|| format!("it has {}", listed(OF_A_STEP)));
            self.problems.add(Diagnostic::invalid(span, format!("a step has no `{member}`")).help(help));
        }
        self.order(span, id, place);
        found.range.clone()
    }

    /// A step can be read only where it can have run.
    fn order(&mut self, span: Span, id: &str, read: usize) {
        let Some(reader) = self.usage.step else {
            let message =
                format!("`env` of the flow cannot read step `{id}`: it is filled in for every step");
            self.problems.add(Diagnostic::invalid(span, message).help("give it to the steps that need it"));
            return;
        };
        if self.graph.may_precede(read, reader) {
            return;
        }
        let message = if read == reader {
            format!("step `{id}` reads its own result, which is not there before it has run")
        } else {
            format!("step `{id}` runs later: nothing leads from it to here")
        };
        self.problems.add(Diagnostic::invalid(span, message));
    }

    /// `steps.fix-it.status` is `steps.fix` minus `it.status`: the id that was meant, and all of what was written.
    fn hyphenated(
        &self,
        found: &Found,
        member: &str,
        known: impl Fn(&str) -> bool,
    ) -> Option<(String, Range<usize>)> {
        let start = found.range.start.checked_add(found.name.len())?.checked_add(1)?;
        let written = self.usage.source.get(start..)?;
        if !written.starts_with(member) {
            return None;
        }
        let end =
            written.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_' && letter != '-');
        let word = written.get(..end.unwrap_or(written.len()))?;
        let range = found.range.start..start.checked_add(word.len())?;
        known(word).then(|| (word.to_owned(), range))
    }

    fn callable(&mut self, found: &Found) {
        let mut state = self.environment.empty_state();
        let (unknown, what) = match found.kind {
            Kind::Filter => {
                let outcome = state.apply_filter(&found.name, &[Value::from("")]);
                (outcome.is_err_and(|error| error.kind() == ErrorKind::UnknownFilter), "filter")
            }
            _ => {
                let outcome = state.perform_test(&found.name, &[Value::from("")]);
                (outcome.is_err_and(|error| error.kind() == ErrorKind::UnknownTest), "test")
            }
        };
        if unknown {
            let span = self.span(found.range.clone());
            self.problems.add(Diagnostic::invalid(span, format!("there is no {what} `{}`", found.name)));
        }
    }

    /// Where a name stands in the file: the same occurrence of its text within the scalar. A text with escapes may not
    /// contain it; then it is the scalar.
    fn span(&self, range: Range<usize>) -> Span {
        let place = || {
            let name = self.usage.source.get(range.clone())?;
            let before = self.usage.source.get(..range.start)?.matches(name).count();
            let written = self.text.get(self.usage.span.start..self.usage.span.end)?;
            let (at, _) = written.match_indices(name).nth(before)?;
            let start = self.usage.span.start.checked_add(at)?;
            Some(Span::new(start, start.checked_add(name.len())?))
        };
        if range.is_empty() { self.usage.span } else { place().unwrap_or(self.usage.span) }
    }
}

fn unknown_root(span: Span, name: &str) -> Diagnostic {
    let help = match name {
        "secrets" => Some("a command reads a secret from the environment variable of that name".to_owned()),
        "env" => Some("a command reads `env` from its environment".to_owned()),
        _ => did_you_mean(name, ROOTS.iter().copied()),
    };
    Diagnostic::invalid(span, format!("unknown name `{name}`")).expecting(listed(ROOTS)).maybe_help(help)
}
