//! Reads a hand-off text: the lines that count, their statuses and their routing hints.
//!
//! Fenced blocks and quoted lines do not count, because they quote others. A text that is one YAML or JSON block as a
//! whole is the step's own, and its `status` counts. The decision table interprets the findings.
//!
//! A hand-off in JSON is always a quotation, even if it is the whole text: a step that prints its input hand-off does
//! not state a status.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::handoff;
use super::hint::{Hint, hints};
use super::label::{self, Label, Stated};
use crate::json::{self, Object};

/// The findings in a text.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Labelled statuses, in order.
    pub(super) statuses: Vec<Stated>,
    /// Hints, in order.
    pub(super) hints: Vec<Hint>,
    /// True if the text denies that further iteration can help.
    pub(super) denies_help: bool,
}

/// How a text is read.
pub(super) enum Reading<'a> {
    /// The lines that count, read one by one.
    Lines(Vec<&'a str>),
    /// A JSON object whose members count. Hints count only if it was not fenced.
    Json { object: Object, body: &'a str, fenced: bool },
    /// A fenced YAML block whose members at the left margin count.
    Yaml(&'a str),
}

impl<'a> Reading<'a> {
    pub(super) fn of(text: &'a str) -> Reading<'a> {
        let whole = text.trim_ascii();
        let block = only_block(whole);
        if handoff::is_whole(block.map_or(whole, |(_, body)| body)) {
            return Reading::Lines(Vec::new());
        }
        if let Some((info, body)) = block {
            return fenced(info, body).unwrap_or_else(|| Reading::of_lines(text));
        }
        match whole.starts_with('{').then(|| json_object(whole)).flatten() {
            Some(object) => Reading::Json { object, body: whole, fenced: false },
            None => Reading::of_lines(text),
        }
    }

    fn of_lines(text: &'a str) -> Reading<'a> {
        Reading::Lines(counted_lines(text))
    }

    /// The findings in the text, without hints if `with_hints` is false.
    pub(super) fn findings(&self, with_hints: bool) -> Findings {
        let mut findings = Findings::default();
        match self {
            Reading::Lines(lines) => lines.iter().for_each(|line| findings.add_line(line, with_hints)),
            Reading::Yaml(body) => margin_lines(body).for_each(|line| findings.add_line(line, false)),
            Reading::Json { object, fenced, .. } => findings.add_members(object, with_hints && !fenced),
        }
        findings
    }

    /// The lines that may contain an unlabelled status: those that count and are not templates.
    pub(super) fn prose(&self) -> impl Iterator<Item = &'a str> {
        let (lines, body) = match self {
            Reading::Lines(lines) => (lines.as_slice(), ""),
            Reading::Json { body, fenced: false, .. } => (&[][..], *body),
            Reading::Json { .. } | Reading::Yaml(_) => (&[][..], ""),
        };
        lines.iter().copied().chain(counted_lines(body)).filter(|line| !has_template(line))
    }

    /// The statuses that inner members of a JSON object state. They do not decide, because they may be those of parts,
    /// such as single tests. But no other status is inferred from the same text.
    pub(super) fn inner_statuses(&self) -> Vec<Stated> {
        let mut statuses = Vec::new();
        if let Reading::Json { object, .. } = self {
            object.values().for_each(|value| add_statuses(value, &mut statuses));
        }
        statuses
    }

    /// The lines with a counted status label or hint.
    fn telling_lines(&self) -> Vec<&'a str> {
        match self {
            Reading::Lines(lines) => lines.iter().copied().filter(|line| tells(line, true)).collect(),
            Reading::Yaml(body) => margin_lines(body).filter(|line| tells(line, false)).collect(),
            Reading::Json { object, body, .. } => {
                let names = object.keys().filter(|name| label::names_status(name));
                names.filter_map(|name| line_of_member(body, name)).collect()
            }
        }
    }
}

impl Findings {
    fn add_line(&mut self, line: &str, with_hints: bool) {
        for label in label::labels(line) {
            match label {
                Label::Status(value) => self.statuses.extend(status(value)),
                Label::Help { denied } => self.denies_help |= denied,
            }
        }
        if with_hints {
            self.hints.extend(hints(line));
        }
    }

    fn add_members(&mut self, object: &Object, with_hints: bool) {
        for (name, value) in object {
            let text = value.as_str();
            if label::names_status(name) {
                self.statuses.extend(text.and_then(|text| status(label::value(text))));
            } else if label::names_help(name) {
                self.denies_help |= value.as_bool() == Some(false) || text.is_some_and(label::is_no);
            } else if with_hints && name.eq_ignore_ascii_case("route_to") {
                self.hints.extend(text.and_then(Hint::to_step));
            }
        }
    }
}

/// Adds the statuses that the objects in a value state, at any depth.
fn add_statuses(value: &json::Value, statuses: &mut Vec<Stated>) {
    match value {
        json::Value::Object(object) => {
            for (name, value) in object {
                let text = value.as_str().filter(|_| label::names_status(name));
                statuses.extend(text.and_then(|text| status(label::value(text))));
                add_statuses(value, statuses);
            }
        }
        json::Value::Array(items) => items.iter().for_each(|item| add_statuses(item, statuses)),
        _ => {}
    }
}

pub(super) fn status(value: label::Value) -> Option<Stated> {
    match value {
        label::Value::Status(stated) => Some(stated),
        label::Value::Template | label::Value::Nothing => None,
    }
}

fn has_template(line: &str) -> bool {
    label::statuses(line).any(|value| value == label::Value::Template)
}

fn tells(line: &str, with_hints: bool) -> bool {
    let labelled = label::statuses(line).any(|value| status(value).is_some());
    labelled || (with_hints && hints(line).next().is_some())
}

/// The lines with a counted status label or hint, for the summary of a long text.
pub(crate) fn summary_lines(text: &str) -> Vec<&str> {
    Reading::of(text).telling_lines()
}

/// The info word and the body of a text that is one fenced block as a whole.
fn only_block(whole: &str) -> Option<(&str, &str)> {
    let (first, rest) = whole.split_once('\n')?;
    let fence = Fence::opened_by(first)?;
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if fence.is_closed_by(line) {
            let last = end + line.len() == rest.len();
            return last.then(|| Some((fence.info, rest.get(..end)?))).flatten();
        }
        end += line.len();
    }
    None
}

/// How a text of one block is read, if the block is JSON or YAML.
fn fenced<'a>(info: &str, body: &'a str) -> Option<Reading<'a>> {
    let language = Cow::from(info.to_ascii_lowercase());
    let may_be = |names: &[&str]| language.is_empty() || names.contains(&language.as_ref());
    if may_be(&["json"])
        && let Some(object) = json_object(body)
    {
        return Some(Reading::Json { object, body, fenced: true });
    }
    let yaml = may_be(&["yaml", "yml"]) && (!language.is_empty() || margin_lines(body).all(looks_like_yaml));
    yaml.then_some(Reading::Yaml(body))
}

fn json_object(text: &str) -> Option<Object> {
    match json::Value::parse_str(text) {
        Ok(json::Value::Object(object)) => Some(object),
        _ => None,
    }
}

/// Lines of a YAML block that belong to its outermost mapping.
fn margin_lines(body: &str) -> impl Iterator<Item = &str> {
    lines(body).filter(|line| !line.starts_with([' ', '\t', '-', '#']) && !line.is_empty())
}

fn looks_like_yaml(line: &str) -> bool {
    let name = line.trim_start_matches(['"', '\'']).split([':', '"', '\'']).next().unwrap_or("");
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    line.contains(':') && !name.is_empty() && name.bytes().all(plain)
}

/// The line of `body` with the member `name`.
fn line_of_member<'a>(body: &'a str, name: &str) -> Option<&'a str> {
    let pointer = alloc::format!("/{}", json::escape_segment(name));
    let place = json::locate(body.as_bytes(), &pointer)?;
    lines(body).nth(usize::try_from(place.line).ok()?.checked_sub(1)?)
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').map(without_return)
}

fn without_return(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

/// The lines that count: not fenced, not quoted, and without the hand-offs in them. The texts before and after a
/// hand-off are separate lines.
fn counted_lines(text: &str) -> Vec<&str> {
    let mut counted = Vec::new();
    let mut handoffs = handoff::Finder::new(text);
    let mut open: Option<Fence<'_>> = None;
    let mut start = 0;
    while let Some(rest) = text.get(start..) {
        let end = start + rest.find('\n').unwrap_or(rest.len());
        let line = without_return(text.get(start..end).unwrap_or_default());
        let mut next = end + 1;
        if let Some(fence) = &open {
            if fence.is_closed_by(line) {
                open = None;
            }
        } else {
            open = Fence::opened_by(line);
            if open.is_none() && !line.trim_ascii_start().starts_with('>') {
                match handoffs.first(start, end) {
                    Some(handoff) => {
                        counted.push(text.get(start..handoff.start).unwrap_or_default());
                        next = handoff.end;
                    }
                    None => counted.push(line),
                }
            }
        }
        start = next;
    }
    counted
}

/// An open fence: at least three backticks or tildes.
struct Fence<'a> {
    mark: char,
    length: usize,
    info: &'a str,
}

impl<'a> Fence<'a> {
    fn opened_by(line: &'a str) -> Option<Fence<'a>> {
        let start = line.trim_ascii_start();
        let mark = start.chars().next().filter(|first| matches!(first, '`' | '~'))?;
        let info = start.trim_start_matches(mark);
        let length = start.len() - info.len();
        let inline = mark == '`' && info.contains('`');
        (length >= 3 && !inline).then(|| Fence { mark, length, info: info.trim_ascii() })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let start = line.trim_ascii();
        let rest = start.trim_start_matches(self.mark);
        rest.is_empty() && start.len() >= self.length
    }
}
