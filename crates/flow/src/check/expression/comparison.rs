//! Checks comparisons with words: `steps.a.status == 'success'` is never true, because no status has that name.
//!
//! Owns the words that a path can be, and finds the comparisons. Syntax that it does not understand is ignored.

use crate::{
    parse::draft::{Draft, DraftStep},
    syntax::{
        diagnostic::{Diagnostic, Span},
        read::listed,
        suggestion::nearest,
    },
};
use envoi_contract::json::Value;
use envoi_kernel::{
    expression::names::{Found, Kind},
    flow::StepKind,
};
use std::ops::Range;

/// The statuses of a step.
const STATUSES: &[&str] = &["succeeded", "failed", "skipped"];

/// Words of other programs for these statuses.
const OTHER_WORDS: &[(&str, &[&str])] = &[
    ("succeeded", &["success", "successful", "ok", "passed", "pass", "done", "completed", "complete"]),
    ("failed", &["failure", "error", "errored", "fail", "cancelled", "canceled"]),
    ("skipped", &["skip", "omitted"]),
];

/// Each word that is compared with this path and that the path can never be, with its range in the source.
pub(super) fn impossible(draft: &Draft, source: &str, found: &Found) -> Vec<(Range<usize>, Diagnostic)> {
    let Kind::Path { members, .. } = &found.kind else { return Vec::new() };
    let Some(words) = words(draft, &found.name, members) else { return Vec::new() };
    let path = source.get(found.range.clone()).unwrap_or_default();
    let is_status = words == STATUSES;
    let wrong = |literal: &Literal<'_>| !words.contains(&literal.text) && !literal.text.contains('\\');
    let diagnostic = |literal: Literal<'_>| {
        let known = literal.text.to_lowercase();
        let other = OTHER_WORDS.iter().filter(|_| is_status).find(|(_, same)| same.contains(&known.as_str()));
        let meant = other.map(|(word, _)| *word).or_else(|| nearest(literal.text, words.iter().copied()));
        let found = format!("`{path}` is never `{}`", literal.text);
        let diagnostic = Diagnostic::invalid(Span::default(), found).expecting(listed(&words));
        (literal.range, diagnostic.maybe_help(meant.map(|word| format!("did you mean `{word}`?"))))
    };
    compared_with(source, &found.range).into_iter().filter(|literal| wrong(literal)).map(diagnostic).collect()
}

/// The words that a path can be; `None` if it can have other values.
fn words<'d>(draft: &'d Draft, name: &str, members: &[String]) -> Option<Vec<&'d str>> {
    match (name, members) {
        ("steps", [_, status]) if status == "status" => Some(STATUSES.to_vec()),
        ("steps", [id, data, fields @ ..]) if data == "data" => {
            let step = draft.steps.iter().find(|step| step.name() == id.as_str())?;
            of_schema(schema(step)?, fields)
        }
        ("inputs", [input, fields @ ..]) => {
            let input = draft.inputs.iter().find(|declared| declared.name == *input)?;
            of_schema(&input.schema, fields)
        }
        _ => None,
    }
}

/// The schema of a step's data. The data of a `for_each` is a list of such data, so it has none here.
pub(super) fn schema(step: &DraftStep) -> Option<&Value> {
    let step = step.step.as_ref().filter(|_| !step.each)?;
    match &step.kind {
        StepKind::Ask(plan) => plan.schema.as_ref(),
        StepKind::Run(_) | StepKind::Flow(_) | StepKind::A2a(_) | StepKind::Agent(_) | StepKind::Model(_) => {
            step.outputs.as_ref()
        }
    }
}

fn of_schema<'v>(schema: &'v Value, fields: &[String]) -> Option<Vec<&'v str>> {
    let field = |schema: &'v Value, name: &String| schema.get("properties")?.get(name);
    let schema = fields.iter().try_fold(schema, field)?;
    schema.get("enum")?.as_array()?.iter().map(Value::as_str).collect()
}

/// A string literal, without its quotes.
struct Literal<'s> {
    text: &'s str,
    /// The range, including the quotes.
    range: Range<usize>,
}

/// The literals with which the path at `range` is compared: on its right side, on its left side, or in a list.
fn compared_with<'s>(source: &'s str, range: &Range<usize>) -> Vec<Literal<'s>> {
    let after = Cursor { source, at: range.end };
    let right = after.past("==").or_else(|| after.past("!=")).and_then(Cursor::literal);
    let right = right.filter(|(_, after)| after.ends_an_operand());
    let list = after.past("in").or_else(|| after.past("not")?.past("in")).map(Cursor::list);
    let before = source.get(..range.start).unwrap_or_default().trim_end();
    let operands = before.strip_suffix("==").or_else(|| before.strip_suffix("!=")).map(str::trim_end);
    let left = operands.and_then(last_literal).filter(|literal| {
        let is_whole = |before: &str| !before.trim_end().ends_with(['~', '+', '*', '/', '%', '|']);
        after.ends_an_operand() && source.get(..literal.range.start).is_some_and(is_whole)
    });
    right.map(|(literal, _)| literal).into_iter().chain(list.into_iter().flatten()).chain(left).collect()
}

/// The literal at the very end of the text.
fn last_literal(before: &str) -> Option<Literal<'_>> {
    let quote = before.chars().next_back().filter(|letter| matches!(letter, '\'' | '"'))?;
    let inside = before.get(..before.len().checked_sub(1)?)?;
    let start = inside.rfind(quote)?;
    Some(Literal { text: inside.get(start.checked_add(1)?..)?, range: start..before.len() })
}

/// A position in the source.
#[derive(Clone, Copy)]
struct Cursor<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> Cursor<'s> {
    /// True if no operator or access follows that would change the value of the operand before.
    fn ends_an_operand(self) -> bool {
        let rest = self.source.get(self.at..).unwrap_or_default().trim_start();
        !rest.starts_with(['~', '+', '-', '*', '/', '%', '|', '[', '.', '('])
    }

    /// The position after spaces and `sign`. A sign that is a word must be a whole word.
    fn past(self, sign: &str) -> Option<Self> {
        let rest = self.source.get(self.at..)?;
        let trimmed = rest.trim_start();
        let after = trimmed.strip_prefix(sign)?;
        let is_word = sign.starts_with(|letter: char| letter.is_ascii_alphabetic());
        let goes_on = after.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
        (!is_word || !goes_on).then(|| Self { at: self.source.len().saturating_sub(after.len()), ..self })
    }

    /// The literal at this position, and the position after it.
    fn literal(self) -> Option<(Literal<'s>, Self)> {
        let rest = self.source.get(self.at..)?;
        let trimmed = rest.trim_start();
        let start = self.source.len().checked_sub(trimmed.len())?;
        let quote = trimmed.chars().next().filter(|letter| matches!(letter, '\'' | '"'))?;
        let text = trimmed.get(1..)?.split(quote).next()?;
        let end = start.checked_add(text.len())?.checked_add(2)?;
        let is_closed = end <= self.source.len();
        is_closed.then_some((Literal { text, range: start..end }, Self { at: end, ..self }))
    }

    /// The literals of a list that begins here. It stops at the first element that is not a literal.
    fn list(self) -> Vec<Literal<'s>> {
        let mut found = Vec::new();
        let Some(mut place) = self.past("[").or_else(|| self.past("(")) else { return found };
        while let Some((literal, after)) = place.literal() {
            found.push(literal);
            match after.past(",") {
                Some(next) => place = next,
                None => break,
            }
        }
        found
    }
}
