//! Labelled statuses: which colons of a line end a label, and what the value after one means.
//!
//! ASCII scanners that start from the colon, because a text has few of them.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use super::scan::has;

/// A status as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stated {
    /// `NOT X` and `NOT YET X`: never a success.
    pub(super) negated: bool,
    /// The word, as written.
    pub(super) word: String,
}

impl Stated {
    /// Whether both are the same status, ignoring case.
    pub(super) fn agrees_with(&self, other: &Stated) -> bool {
        self.negated == other.negated && self.word.eq_ignore_ascii_case(&other.word)
    }

    /// What statuses that agree have in common.
    pub(super) fn key(&self) -> (bool, String) {
        (self.negated, self.word.to_ascii_lowercase())
    }

    /// Its name in a reason.
    pub(super) fn shown(&self) -> String {
        if self.negated { format!("not {}", self.word) } else { self.word.clone() }
    }
}

/// What follows a status label.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A status.
    Status(Stated),
    /// A template that was echoed: `VERIFIED | UNVERIFIED`, `<status>`.
    Template,
    /// No word at all.
    Nothing,
}

/// A label of a line and its value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// `Status: …`.
    Status(Value),
    /// `Can further iteration help: …`, and whether its value is no.
    Help { denied: bool },
}

/// The labels of one line, in order.
pub(super) fn labels(line: &str) -> impl Iterator<Item = Label> {
    colons(line).filter_map(|(before, after)| {
        let before = before.trim_ascii_end().trim_end_matches(is_markup).trim_ascii_end();
        // Most colons end no label; the last letter shows it.
        match before.as_bytes().last()? {
            b's' | b'S' if ends_with_label(before, is_status) => Some(Label::Status(value(after))),
            b'p' | b'P' if ends_with_label(before, is_help) => {
                Some(Label::Help { denied: denies(&value(after)) })
            }
            _ => None,
        }
    })
}

/// The values of the status labels of one line, in order.
pub(super) fn statuses(line: &str) -> impl Iterator<Item = Value> {
    labels(line).filter_map(|label| match label {
        Label::Status(value) => Some(value),
        Label::Help { .. } => None,
    })
}

fn denies(value: &Value) -> bool {
    matches!(value, Value::Status(Stated { negated: false, word }) if is_no(word))
}

/// Whether a value of the help label means no.
pub(super) fn is_no(word: &str) -> bool {
    word.eq_ignore_ascii_case("no") || word.eq_ignore_ascii_case("false")
}

/// Each colon of a line: what stands before it, what after.
fn colons(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let line = if has(line, b':') { line } else { "" };
    line.match_indices(':').filter_map(|(at, _)| Some((line.get(..at)?, line.get(at + 1..)?)))
}

/// The length of a label at the end of a text, if one stands there.
type LabelEnd = fn(&str) -> Option<usize>;

fn is_status(text: &str) -> Option<usize> {
    ends_with_ignoring_case(text, "status").then_some(6)
}

fn is_help(text: &str) -> Option<usize> {
    let spellings = ["can further iteration help", "can_further_iteration_help"];
    spellings.iter().find(|label| ends_with_ignoring_case(text, label)).map(|label| label.len())
}

/// Whether `text` is the label of [`is_status`], in any case.
pub(super) fn names_status(text: &str) -> bool {
    text.eq_ignore_ascii_case("status")
}

/// Whether `text` is a label of [`is_help`], in any case.
pub(super) fn names_help(text: &str) -> bool {
    is_help(text) == Some(text.len())
}

fn ends_with_ignoring_case(text: &str, end: &str) -> bool {
    let start = text.len().checked_sub(end.len());
    start.and_then(|start| text.get(start..)).is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

/// Whether a label ends here and is not the end of a longer name: `Exit status` and `http_status` are other labels.
fn ends_with_label(before: &str, label: LabelEnd) -> bool {
    let Some(length) = label(before) else { return false };
    let prefix = before.get(..before.len() - length).unwrap_or_default().trim_end_matches(is_markup);
    let spaced = prefix.trim_ascii_end();
    match spaced.chars().next_back() {
        None => true,
        Some(last) if spaced.len() < prefix.len() => !last.is_alphanumeric(),
        Some(last) => matches!(last, '(' | '[' | '{' | ',' | ';' | '|' | '#' | '—' | '–'),
    }
}

/// Markup around a word.
const fn is_markup(scalar: char) -> bool {
    matches!(scalar, '*' | '_' | '"' | '\'' | '`')
}

const fn is_dress(scalar: char) -> bool {
    is_markup(scalar) || matches!(scalar, ' ' | '\t')
}

/// Reads the value at the beginning of `text`.
pub(super) fn value(text: &str) -> Value {
    let text = text.trim_start_matches(is_dress);
    let Some((first, after_first)) = word(text) else {
        let bracketed = text.starts_with(['<', '[', '{', '(']);
        return if bracketed { Value::Template } else { Value::Nothing };
    };
    let (negated, stated, after) = negation(first, after_first)
        .map_or_else(|| (false, first, after_first), |(denied, after)| (true, denied, after));
    if goes_on_with_alternative(after) {
        return Value::Template;
    }
    Value::Status(Stated { negated, word: stated.to_owned() })
}

/// `NOT X`, `NOT YET X`: what is denied, and what follows.
fn negation<'a>(first: &str, after: &'a str) -> Option<(&'a str, &'a str)> {
    if !first.eq_ignore_ascii_case("not") {
        return None;
    }
    let (second, after_second) = next_word(after)?;
    if second.eq_ignore_ascii_case("yet") {
        return Some(next_word(after_second).unwrap_or((second, after_second)));
    }
    Some((second, after_second))
}

/// The word after white space and markup.
fn next_word(text: &str) -> Option<(&str, &str)> {
    let start = text.trim_start_matches(is_dress);
    if start.len() < text.len() { word(start) } else { None }
}

/// The word at the beginning of `text`, and what follows. A letter of any script that touches it belongs to it, so that
/// the whole word is compared and never a part.
fn word(text: &str) -> Option<(&str, &str)> {
    text.starts_with(|first: char| first.is_ascii_alphabetic()).then_some(())?;
    let end = text.find(|scalar: char| !is_word_part(scalar)).unwrap_or(text.len());
    // Underscores around a word are markup: `_VERIFIED_`.
    let bare = text.get(..end)?.trim_end_matches('_');
    Some((bare, text.get(bare.len()..)?))
}

/// Whether a scalar can stand inside a word.
pub(super) fn is_word_part(scalar: char) -> bool {
    scalar == '_' || scalar == '-' || scalar.is_alphanumeric()
}

/// Whether a word is followed by `|`, `/` or `or` and another word.
pub(super) fn goes_on_with_alternative(after: &str) -> bool {
    let after = after.trim_start_matches(is_dress);
    let other = after.strip_prefix(['|', '/']).or_else(|| {
        let (or, rest) = word(after)?;
        (or.eq_ignore_ascii_case("or") && rest.starts_with([' ', '\t'])).then_some(rest)
    });
    let begins_word = |text: &str| {
        text.trim_start_matches(is_dress).starts_with(|scalar: char| scalar.is_ascii_alphabetic())
    };
    other.is_some_and(begins_word)
}
