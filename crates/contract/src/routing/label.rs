//! Labelled statuses: finds the colons of a line that end a label, and interprets the values after them.
//!
//! The scanners work on ASCII and start from the colon, because a text has few colons.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use super::scan::has;

/// A status that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stated {
    /// True for `NOT X` and `NOT YET X`, which are never a success.
    pub(super) negated: bool,
    /// The word, as written.
    pub(super) word: String,
}

impl Stated {
    /// True if both are the same status, ignoring case.
    pub(super) fn agrees_with(&self, other: &Stated) -> bool {
        self.negated == other.negated && self.word.eq_ignore_ascii_case(&other.word)
    }

    /// A key that is equal for statuses that agree.
    pub(super) fn key(&self) -> (bool, String) {
        (self.negated, self.word.to_ascii_lowercase())
    }

    /// Its name in a reason.
    pub(super) fn shown(&self) -> String {
        if self.negated { format!("not {}", self.word) } else { self.word.clone() }
    }
}

/// The value after a status label.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A status.
    Status(Stated),
    /// An echoed template: `VERIFIED | UNVERIFIED`, `<status>`.
    Template,
    /// No word.
    Nothing,
}

/// A label of a line and its value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// `Status: …`.
    Status(Value),
    /// `Can further iteration help: …`; `denied` is true if its value is no.
    Help { denied: bool },
}

/// The labels of one line, in order.
pub(super) fn labels(line: &str) -> impl Iterator<Item = Label> {
    colons(line).filter_map(|(before, after)| {
        let before = before.trim_ascii_end().trim_end_matches(is_markup).trim_ascii_end();
        // Most colons end no label; the last letter before the colon is a quick check.
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

/// True if a value of the help label means no.
pub(super) fn is_no(word: &str) -> bool {
    word.eq_ignore_ascii_case("no") || word.eq_ignore_ascii_case("false")
}

/// Each colon of a line, as the text before it and the text after it.
fn colons(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let line = if has(line, b':') { line } else { "" };
    line.match_indices(':').filter_map(|(at, _)| Some((line.get(..at)?, line.get(at + 1..)?)))
}

/// The length of a label at the end of a text, if there is one.
type LabelEnd = fn(&str) -> Option<usize>;

fn is_status(text: &str) -> Option<usize> {
    ends_with_ignoring_case(text, "status").then_some(6)
}

fn is_help(text: &str) -> Option<usize> {
    let spellings = ["can further iteration help", "can_further_iteration_help"];
    spellings.iter().find(|label| ends_with_ignoring_case(text, label)).map(|label| label.len())
}

/// True if `text` is the label of [`is_status`], ignoring case.
pub(super) fn names_status(text: &str) -> bool {
    text.eq_ignore_ascii_case("status")
}

/// True if `text` is a label of [`is_help`], ignoring case.
pub(super) fn names_help(text: &str) -> bool {
    is_help(text) == Some(text.len())
}

fn ends_with_ignoring_case(text: &str, end: &str) -> bool {
    let start = text.len().checked_sub(end.len());
    start.and_then(|start| text.get(start..)).is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

/// True if the text ends with a label that is not the end of a longer name: `Exit status` and `http_status` are other
/// labels.
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

/// True for markup around a word.
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

/// Reads `NOT X` or `NOT YET X`: the denied word, and the text after it.
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

/// The word at the beginning of `text`, and the text after it. Adjacent letters of any script belong to the word, so
/// that the whole word is compared and never a part of it.
fn word(text: &str) -> Option<(&str, &str)> {
    text.starts_with(|first: char| first.is_ascii_alphabetic()).then_some(())?;
    let end = text.find(|scalar: char| !is_word_part(scalar)).unwrap_or(text.len());
    // Underscores around a word are markup: `_VERIFIED_`.
    let bare = text.get(..end)?.trim_end_matches('_');
    Some((bare, text.get(bare.len()..)?))
}

/// True if a scalar can be inside a word.
pub(super) fn is_word_part(scalar: char) -> bool {
    scalar == '_' || scalar == '-' || scalar.is_alphanumeric()
}

/// True if a word is followed by `|`, `/` or `or` and another word.
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
