//! Routing hints: `Go to step 'X'`, `Route to step X`, `route_to: X`, `Go to flow 'F' step 'X'`.

use alloc::format;
use alloc::string::String;

use super::label::is_word_part;
use super::scan::has_pair;

/// The next step that a text names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hint {
    pub(super) flow: Option<String>,
    pub(super) step_id: String,
}

impl Hint {
    /// Its name in a reason.
    pub(super) fn shown(&self) -> String {
        match &self.flow {
            Some(flow) => format!("{flow}/{}", self.step_id),
            None => self.step_id.clone(),
        }
    }

    /// A hint to a step of the same flow, if the name is valid.
    pub(super) fn to_step(name: &str) -> Option<Hint> {
        name_at(name).map(|(name, _)| Hint { flow: None, step_id: String::from(name) })
    }
}

/// The hints of one line, in order.
pub(super) fn hints(line: &str) -> impl Iterator<Item = Hint> {
    // Every hint has the word `step` or `route_to`.
    let looked_at = if has_pair(line, *b"ep") || has_pair(line, *b"_t") { line.as_bytes() } else { &[] };
    let windows = looked_at.windows(3).enumerate().skip(1);
    let is_to = |window: &[u8]| {
        matches!(window, [b't' | b'T', b'o' | b'O', b' ' | b'\t' | b':' | b'"' | b'\'' | b'`' | b'*'])
    };
    windows.filter(move |(_, window)| is_to(window)).filter_map(|(at, _)| hint_at(line, at))
}

/// The hint at the word `to`, which is at offset `at`.
fn hint_at(line: &str, at: usize) -> Option<Hint> {
    let before = line.get(..at)?;
    let after = line.get(at + 2..)?;
    if let Some(prefix) = strip_suffix_ignoring_case(before, "route_") {
        let name = after.trim_start_matches(['"', '\'', '`', '*']).trim_ascii_start().strip_prefix(':')?;
        let name = name.trim_start_matches(['*', ' ', '\t']);
        return if stands_alone(prefix) { Hint::to_step(name) } else { None };
    }
    let spaced = before.trim_ascii_end();
    if spaced.len() == before.len() {
        return None;
    }
    let prefix = ["go", "route"].iter().find_map(|verb| strip_suffix_ignoring_case(spaced, verb))?;
    (stands_alone(prefix) && !is_denied(prefix)).then_some(())?;
    destination(after)
}

/// Reads `step X` or `flow F step X`.
fn destination(text: &str) -> Option<Hint> {
    if let Some(named) = strip_word(text, "step") {
        return Hint::to_step(named);
    }
    let (flow, after) = name_at(strip_word(text, "flow")?)?;
    let (step_id, _) = name_at(strip_word(after.trim_start_matches(','), "step")?)?;
    Some(Hint { flow: Some(String::from(flow)), step_id: String::from(step_id) })
}

/// The text after `word` and white space, ignoring case.
fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let start = text.trim_ascii_start();
    let (head, rest) = start.split_at_checked(word.len())?;
    let alone = rest.starts_with([' ', '\t']);
    (alone && head.eq_ignore_ascii_case(word)).then(|| rest.trim_ascii_start())
}

/// A name in quotes, or a bare one that begins with a letter, and the text after it.
fn name_at(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next()?;
    if matches!(quote, '\'' | '"' | '`') {
        let (name, rest) = text.get(1..)?.split_once(quote)?;
        let name = name.trim_ascii();
        return (!name.is_empty() && !name.contains('/')).then_some((name, rest));
    }
    quote.is_ascii_alphabetic().then_some(())?;
    let end = text.find(|scalar| !is_word_part(scalar)).unwrap_or(text.len());
    Some(text.split_at(end))
}

/// True if the text after `prefix` begins a new word.
fn stands_alone(prefix: &str) -> bool {
    !prefix.ends_with(is_word_part)
}

/// True if the words before the hint negate it: `do not go to step …` is not a hint.
fn is_denied(prefix: &str) -> bool {
    let last = prefix.trim_ascii_end().rsplit([' ', '\t']).next().unwrap_or("");
    let denials = ["not", "never", "cannot"];
    denials.iter().any(|denial| last.eq_ignore_ascii_case(denial))
        || last.ends_with("n't")
        || last.ends_with("n\u{2019}t")
}

fn strip_suffix_ignoring_case<'a>(text: &'a str, end: &str) -> Option<&'a str> {
    let (head, tail) = text.split_at_checked(text.len().checked_sub(end.len())?)?;
    tail.eq_ignore_ascii_case(end).then_some(head)
}
