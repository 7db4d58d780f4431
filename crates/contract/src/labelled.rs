//! The labelled text of the seeds: `Label: value` lines, `name=value` pairs, `[a, b]` lists.
//!
//! Converts the text into the JSON form. The decoder of that form checks the members, so both forms share the checks.

use crate::code::Code;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::error::Diagnostic;
use crate::json::{MAX_BYTES, Number, Position, Value};
use crate::suggestion::nearest;

/// True if an input is meant as JSON: its first byte that is not white space begins an object or array.
pub(crate) fn is_json(bytes: &[u8]) -> bool {
    matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// The labels of a text.
pub(crate) struct Labels {
    pub(crate) code: Code,
    /// The labels as they are shown. Case is ignored when they are read.
    pub(crate) names: &'static [&'static str],
    /// Labels whose value continues on the following lines, up to the next label.
    pub(crate) free_text: &'static [&'static str],
    /// Labels that must not be lost by a typo: a line with a similar label is refused.
    pub(crate) guarded: &'static [&'static str],
}

impl Labels {
    /// The labels with their values, unquoted, in order.
    pub(crate) fn read(&self, bytes: &[u8]) -> Result<Vec<Labelled>, Diagnostic> {
        let mut lines = Lines { rest: self.text(bytes)?, offset: 0 };
        let mut entries: Vec<Entry> = Vec::new();
        while let Some((start, line)) = lines.next() {
            if let Some((label, value)) = self.labelled(line) {
                if entries.iter().any(|earlier| earlier.label == label) {
                    return Err(self.refusal(
                        bytes,
                        start,
                        "each label once",
                        &format!("a second `{label}`"),
                    ));
                }
                entries.push(self.entry((start, label), value, &mut lines));
            } else if let Some((label, meant)) = self.misspelt(line) {
                let expected = format!("one of the labels {}", self.names.join(", "));
                let refusal = self.refusal(bytes, start, &expected, &crate::quoted::shorten(label, 40));
                return Err(refusal.with_hint(format!("did you mean `{meant}`?")));
            } else if let Some(open) = entries.last_mut().filter(|entry| entry.goes_on) {
                open.value.push('\n');
                open.value.push_str(line.trim_end_matches(['\n', '\r']));
            } else if !line.trim_ascii().is_empty() {
                let expected = format!("one of the labels {}", self.names.join(", "));
                let found = crate::quoted::shorten(line.trim_ascii(), 40);
                return Err(self.refusal(bytes, start, &expected, &found));
            }
        }
        Ok(entries.into_iter().map(Entry::closed).collect())
    }

    /// The value of a label: a quoted value up to its end, else the rest of the line. Free text may continue on the
    /// next lines.
    fn entry(&self, (start, label): (usize, &'static str), value: &str, lines: &mut Lines<'_>) -> Entry {
        match opened_quote(value) {
            Some(opened) => Entry { start, label, value: quoted(opened, lines), goes_on: false },
            None => {
                let goes_on = self.free_text.contains(&label);
                Entry { start, label, value: value.trim_ascii().to_owned(), goes_on }
            }
        }
    }

    fn text<'a>(&self, bytes: &'a [u8]) -> Result<&'a str, Diagnostic> {
        if bytes.len() > MAX_BYTES {
            let found = format!("{} bytes", bytes.len());
            return Err(Diagnostic::new(self.code, "", "an input of at most 16 MiB", &found));
        }
        let text = core::str::from_utf8(bytes)
            .map_err(|cause| self.refusal(bytes, cause.valid_up_to(), "UTF-8 text", "another byte"))?;
        if text.trim_ascii().is_empty() {
            return Err(self.refusal(bytes, 0, "a JSON object or labelled text", "nothing"));
        }
        Ok(text)
    }

    fn refusal(&self, bytes: &[u8], offset: usize, expected: &str, found: &str) -> Diagnostic {
        let Position { line, column } = Position::of(bytes, offset);
        let place = Diagnostic::new(self.code, "", expected, found);
        Diagnostic { line: Some(line), column: Some(column), ..place }
            .with_hint("give a JSON object, or lines of the form `Label: value`")
    }

    /// The beginning of a line, and the guarded label that it probably means. Such a line does not continue a text.
    fn misspelt<'a>(&self, line: &'a str) -> Option<(&'a str, &'static str)> {
        let (label, _) = line.split_once(':')?;
        let label = label.trim_ascii();
        Some((label, nearest(label, self.guarded, false)?))
    }

    fn labelled<'a>(&self, line: &'a str) -> Option<(&'static str, &'a str)> {
        let (label, value) = line.split_once(':')?;
        let known = self.names.iter().find(|name| name.eq_ignore_ascii_case(label.trim_ascii()))?;
        Some((known, value))
    }
}

/// A label and its value.
pub(crate) struct Labelled {
    pub(crate) label: &'static str,
    pub(crate) value: String,
    /// The offset of its line, in bytes.
    pub(crate) start: usize,
}

/// The locations of the JSON form's members in the labelled text; empty if the input was JSON.
#[derive(Default)]
pub(crate) struct Places(Vec<(&'static str, usize)>);

impl Places {
    pub(crate) fn add(&mut self, member: &'static str, start: usize) {
        self.0.push((member, start));
    }

    /// Adds to the refusal the line of the label, or its location in the JSON.
    pub(crate) fn locate(&self, refusal: Diagnostic, bytes: &[u8]) -> Diagnostic {
        let member = refusal.pointer.split('/').nth(1).unwrap_or_default();
        match self.0.iter().find(|(name, _)| *name == member) {
            Some((_, start)) => {
                let Position { line, column } = Position::of(bytes, *start);
                Diagnostic { line: Some(line), column: Some(column), ..refusal }
            }
            None => refusal.located(bytes),
        }
    }
}

/// A label and its value so far.
struct Entry {
    start: usize,
    label: &'static str,
    value: String,
    /// True if lines without a label belong to it.
    goes_on: bool,
}

impl Entry {
    fn closed(mut self) -> Labelled {
        if self.goes_on {
            self.value.truncate(self.value.trim_ascii_end().len());
        }
        Labelled { label: self.label, value: self.value, start: self.start }
    }
}

/// The lines of a text, with their offsets.
struct Lines<'a> {
    rest: &'a str,
    offset: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.rest.split_inclusive('\n').next()?;
        let start = self.offset;
        self.offset += line.len();
        self.rest = self.rest.get(line.len()..)?;
        Some((start, line))
    }
}

/// The text after an opening quote.
fn opened_quote(value: &str) -> Option<&str> {
    value.trim_ascii_start().strip_prefix('"')
}

/// A quoted value. It ends with a quote at the end of this or a later line; without one it takes the rest of the
/// text.
fn quoted(opened: &str, lines: &mut Lines<'_>) -> String {
    let mut text = opened.to_owned();
    loop {
        if let Some(inner) = text.trim_ascii_end().strip_suffix('"') {
            return unescaped(inner);
        }
        let Some((_, line)) = lines.next() else { return text.trim_ascii_end().to_owned() };
        text.push_str(line);
    }
}

/// The text itself, or its unescaped form if it has escapes and is a JSON string.
fn unescaped(inner: &str) -> String {
    if !inner.contains('\\') {
        return inner.to_owned();
    }
    match Value::parse_str(&format!("\"{inner}\"")) {
        Ok(Value::String(text)) => text,
        _ => inner.to_owned(),
    }
}

/// Reads `name=value, name=value`. A piece without `=`, as in `[a, b]`, belongs to the value before it.
pub(crate) fn pairs(text: &str) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for piece in text.split(',').filter(|piece| !piece.trim_ascii().is_empty()) {
        match (piece.split_once('='), pairs.last_mut()) {
            (Some((name, value)), _) if is_name(name.trim_ascii()) => {
                pairs.push((name.trim_ascii().to_owned(), value.trim_ascii().to_owned()));
            }
            (_, Some((_, value))) => {
                value.push(',');
                value.push_str(piece.trim_ascii_end());
            }
            _ => pairs.push((piece.trim_ascii().to_owned(), String::new())),
        }
    }
    pairs
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Reads `a, b` or `[a, b]`; quotes are optional.
pub(crate) fn list(text: &str) -> Value {
    let text = text.trim_ascii();
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let items = inner.split(',').map(|item| unquoted(item.trim_ascii())).filter(|item| !item.is_empty());
    Value::Array(items.map(Value::from).collect())
}

/// A number, a boolean or null if the text is one, else the text.
pub(crate) fn scalar(text: &str) -> Value {
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => Number::parse(text).map_or_else(|| word(text), Value::Number),
    }
}

/// Text; null if it is `null` or empty.
pub(crate) fn word(text: &str) -> Value {
    if text.is_empty() || text == "null" { Value::Null } else { Value::from(unquoted(text)) }
}

fn unquoted(text: &str) -> &str {
    let within = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    within('"').or_else(|| within('\'')).unwrap_or(text)
}
