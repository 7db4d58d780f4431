//! Converts nodes to values: the readers for all parts of the language.
//!
//! Owns the definitions of a string, a list, an integer, a duration and a choice of words, and the reports of
//! mistakes in them. Each reader returns `None` after it has added a problem.

use crate::syntax::{
    diagnostic::{Diagnostic, Problems, Span},
    keys::{self, Vocabulary},
    suggestion::{did_you_mean, nearest},
    yaml::{Key, Kind, Meaning, Node, Scalar},
};
use envoi_contract::code::Code;
use std::ops::RangeInclusive;

/// A value and its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spanned<T> {
    pub(crate) value: T,
    pub(crate) span: Span,
}

/// The number of unknown keys of a mapping that are checked for typos.
const MISSPELT: usize = 10;

/// The members of a mapping whose keys were checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'n> {
    members: &'n [(Key, Node)],
}

impl<'n> Fields<'n> {
    /// The members of `node`. Unknown keys, and keys that are not implemented yet, are reported at once.
    pub(crate) fn of(node: &'n Node, vocabulary: &Vocabulary, problems: &mut Problems) -> Option<Self> {
        let members = mapping(node, vocabulary.place, problems)?;
        for (key, _) in members {
            check_key(key, members, vocabulary, problems);
        }
        Some(Self { members })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'n Node> {
        self.pair(name).map(|(_, node)| node)
    }

    pub(crate) fn pair(&self, name: &str) -> Option<(&'n Key, &'n Node)> {
        self.members.iter().find(|(key, _)| key.text == name).map(|(key, node)| (key, node))
    }

    /// True if `name` is absent and an unknown key was probably meant as `name`. The missing key is then not reported
    /// as another mistake.
    pub(crate) fn misspelt(&self, name: &str, vocabulary: &Vocabulary) -> bool {
        let known = |word: &str| vocabulary.words().any(|known| known == word);
        let mut unknown = self.keys().filter(|key| !known(&key.text)).take(MISSPELT);
        let meant = format!("did you mean `{name}`?");
        self.get(name).is_none()
            && unknown.any(|key| {
                nearest(&key.text, vocabulary.words()) == Some(name)
                    || elsewhere(&key.text, vocabulary).is_some_and(|instead| instead.starts_with(&meant))
            })
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &'n Key> {
        self.members.iter().map(|(key, _)| key)
    }
}

fn elsewhere(name: &str, vocabulary: &Vocabulary) -> Option<&'static str> {
    let found = keys::ELSEWHERE.iter().find(|(place, word, _)| (*place, *word) == (vocabulary.place, name));
    found.map(|(.., instead)| *instead)
}

/// A hint for a key that belongs into a mapping of the step: a mapping that the step has, or else the first one that
/// allows the key.
fn deeper(name: &str, members: &[(Key, Node)]) -> Option<String> {
    let could = || keys::WITHIN_STEP.iter().filter(|(.., of)| of.keys.contains(&name));
    let has = |place: &str| members.iter().any(|(key, _)| key.text == place);
    let (place, needed, _) = could().find(|(place, ..)| has(place)).or_else(|| could().next())?;
    let needed = if *needed == name { String::new() } else { format!("{needed}: …, ") };
    Some(format!("`{name}` is a key of `{place}`: write `{place}: {{ {needed}{name}: … }}`"))
}

fn check_key(key: &Key, members: &[(Key, Node)], vocabulary: &Vocabulary, problems: &mut Problems) {
    let name = key.text.as_str();
    if vocabulary.keys.contains(&name) {
        return;
    }
    if vocabulary.later.contains(&name) {
        problems.add(not_yet(key.span, &format!("`{name}` in {}", vocabulary.place)));
        return;
    }
    let unknown = Diagnostic::invalid(key.span, format!("unknown key `{name}` in {}", vocabulary.place));
    if problems.full() {
        return problems.add(unknown);
    }
    let meant = elsewhere(name, vocabulary)
        .map(str::to_owned)
        .or_else(|| deeper(name, members).filter(|_| vocabulary.place == keys::STEP.place))
        .or_else(|| did_you_mean(name, vocabulary.words()))
        .unwrap_or_else(|| format!("{} has the keys {}", vocabulary.place, listed(vocabulary.keys)));
    problems.add(unknown.help(meant));
}

/// The diagnostic for a part of the language that this build does not support.
pub(crate) fn not_yet(span: Span, what: &str) -> Diagnostic {
    Diagnostic::new(Code::NotYetSupported, span, format!("{what} is not supported yet"))
        .help("this version of Envoi refuses what it would have to ignore")
}

/// Lists words as `` `a`, `b` or `c` ``.
pub(crate) fn listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// "`name`: expected …, found …"
pub(crate) fn mismatch(node: &Node, name: &str, expected: &str) -> Diagnostic {
    let mut diagnostic =
        Diagnostic::invalid(node.span, format!("{name}: expected {expected}, found {}", node.described()));
    diagnostic.expected = Some(expected.to_owned());
    diagnostic
        .maybe_help(keys::example(name, as_token(node)).map(|example| format!("for example `{example}`")))
}

pub(crate) fn mapping<'n>(node: &'n Node, name: &str, problems: &mut Problems) -> Option<&'n [(Key, Node)]> {
    match &node.kind {
        Kind::Mapping(members) => Some(members),
        _ => refuse(problems, mismatch(node, name, "a mapping")),
    }
}

pub(crate) fn list<'n>(
    node: &'n Node,
    name: &str,
    expected: &str,
    problems: &mut Problems,
) -> Option<&'n [Node]> {
    match &node.kind {
        Kind::Sequence(items) => Some(items),
        _ => refuse(problems, mismatch(node, name, expected)),
    }
}

/// The members of a [`mapping`]; empty after a problem.
pub(crate) fn entries<'n>(node: &'n Node, name: &str, problems: &mut Problems) -> &'n [(Key, Node)] {
    mapping(node, name, problems).unwrap_or(&[])
}

/// The items of a [`list`]; empty after a problem.
pub(crate) fn items<'n>(node: &'n Node, name: &str, expected: &str, problems: &mut Problems) -> &'n [Node] {
    list(node, name, expected, problems).unwrap_or(&[])
}

fn scalar(node: &Node) -> Option<&Scalar> {
    match &node.kind {
        Kind::Scalar(scalar) => Some(scalar),
        _ => None,
    }
}

/// The text of a scalar that is a string; `None` without a problem otherwise.
pub(crate) fn as_text(node: &Node) -> Option<&str> {
    scalar(node).filter(|scalar| scalar.meaning() == Meaning::Text).map(|scalar| scalar.text.as_str())
}

/// The token of a scalar that is a string, a number or a boolean.
pub(crate) fn as_token(node: &Node) -> Option<&str> {
    scalar(node).filter(|scalar| scalar.meaning() != Meaning::Null).map(|scalar| scalar.text.as_str())
}

/// A string that is not blank and contains no NUL.
pub(crate) fn text<'n>(node: &'n Node, name: &str, problems: &mut Problems) -> Option<&'n str> {
    let Some(text) = as_text(node) else {
        let quote = as_token(node).map(|token| format!("in quotes it is a string: \"{token}\""));
        return refuse(problems, mismatch(node, name, "a string").maybe_help(quote));
    };
    usable(node.span, text, name, problems)
}

/// A string, number or boolean as the text that was written, for commands and variables.
pub(crate) fn token<'n>(node: &'n Node, name: &str, problems: &mut Problems) -> Option<&'n str> {
    match as_token(node) {
        Some(token) => without_nul(node.span, token, name, problems),
        None => refuse(problems, mismatch(node, name, "a string")),
    }
}

fn usable<'t>(span: Span, text: &'t str, name: &str, problems: &mut Problems) -> Option<&'t str> {
    if text.trim().is_empty() {
        return refuse(problems, Diagnostic::invalid(span, format!("{name} is blank")));
    }
    without_nul(span, text, name, problems)
}

fn without_nul<'t>(span: Span, text: &'t str, name: &str, problems: &mut Problems) -> Option<&'t str> {
    if text.contains('\0') {
        return refuse(problems, Diagnostic::invalid(span, format!("{name} holds a NUL character")));
    }
    Some(text)
}

pub(crate) fn boolean(node: &Node, name: &str, problems: &mut Problems) -> Option<bool> {
    if let Some(Meaning::Bool(flag)) = scalar(node).map(Scalar::meaning) {
        return Some(flag);
    }
    let meant = as_text(node).and_then(|text| match text.to_ascii_lowercase().as_str() {
        "yes" | "on" | "true" => Some("did you mean `true`?".to_owned()),
        "no" | "off" | "false" => Some("did you mean `false`?".to_owned()),
        _ => None,
    });
    refuse(problems, mismatch(node, name, "`true` or `false`").maybe_help(meant))
}

/// An integer within `range`.
pub(crate) fn integer(
    node: &Node,
    name: &str,
    range: RangeInclusive<u64>,
    problems: &mut Problems,
) -> Option<u64> {
    let token = scalar(node).filter(|scalar| scalar.meaning() == Meaning::Number);
    match token.and_then(|scalar| scalar.text.parse::<u64>().ok()) {
        Some(number) if range.contains(&number) => Some(number),
        _ => {
            let expected = format!("a whole number from {} to {}", range.start(), range.end());
            refuse(problems, mismatch(node, name, &expected))
        }
    }
}

/// The value for one of `words`.
pub(crate) fn choice<T: Clone>(
    node: &Node,
    name: &str,
    words: &[(&'static str, T)],
    problems: &mut Problems,
) -> Option<T> {
    let token = as_token(node).unwrap_or_default();
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == token) {
        return Some(value.clone());
    }
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let expected = listed(&known);
    refuse(problems, mismatch(node, name, &expected).maybe_help(did_you_mean(token, known)))
}

/// Reads `500ms`, `10s`, `30m`, `2h` or `1d`, in milliseconds.
pub(crate) fn duration(node: &Node, name: &str, problems: &mut Problems) -> Option<u64> {
    let token = as_token(node).unwrap_or_default();
    match parse_duration(token) {
        Some(millis) if millis > 0 => Some(millis),
        _ => {
            let bare = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
            let unit = bare.then(|| format!("a duration has a unit: `{token}s`"));
            refuse(problems, mismatch(node, name, DURATION).maybe_help(unit))
        }
    }
}

/// Like [`duration`], but `0s` is allowed.
pub(crate) fn duration_or_zero(node: &Node, name: &str, problems: &mut Problems) -> Option<u64> {
    match parse_duration(as_token(node).unwrap_or_default()) {
        Some(0) => Some(0),
        _ => duration(node, name, problems),
    }
}

/// The form of a duration, in words.
pub(crate) const DURATION: &str = "a duration such as `500ms`, `10s`, `30m`, `2h` or `1d`";

/// The longest duration: the largest integer of the contracts.
const MAX_DURATION_MS: u64 = (1 << 53) - 1;

/// Milliseconds of a duration such as `500ms`, `10s`, `30m`, `2h` or `1d`; `None` for anything else.
#[must_use]
pub fn parse_duration(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit: u64 = match text.get(digits.len()..)? {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(unit).filter(|millis| *millis <= MAX_DURATION_MS)
}

/// A duration that [`parse_duration`] reads, in the largest unit without a remainder.
///
/// ```
/// assert_eq!(envoi_flow::written_duration(5_400_000), "90m");
/// assert_eq!(envoi_flow::written_duration(1), "1ms");
/// ```
#[must_use]
pub fn written_duration(millis: u64) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let whole = |unit: u64| millis.checked_div(unit).filter(|count| count.checked_mul(unit) == Some(millis));
    if millis == 0 {
        return "0s".to_owned();
    }
    let found = units.into_iter().find_map(|(unit, name)| Some(format!("{}{name}", whole(unit)?)));
    found.unwrap_or_else(|| format!("{millis}ms"))
}

/// A list of strings that are not blank.
pub(crate) fn texts(node: &Node, name: &str, problems: &mut Problems) -> Vec<Spanned<String>> {
    let items = items(node, name, "a list of strings", problems);
    items
        .iter()
        .filter_map(|item| {
            let value = text(item, &format!("an item of {name}"), problems)?.to_owned();
            Some(Spanned { value, span: item.span })
        })
        .collect()
}

/// Adds a problem and returns `None`.
pub(crate) fn refuse<T>(problems: &mut Problems, diagnostic: Diagnostic) -> Option<T> {
    problems.add(diagnostic);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_a_number_and_a_unit() {
        for (text, millis) in [
            ("500ms", Some(500)),
            ("10s", Some(10_000)),
            ("30m", Some(1_800_000)),
            ("2h", Some(7_200_000)),
            ("1d", Some(86_400_000)),
            ("0s", Some(0)),
            ("10", None),
            ("s", None),
            ("1.5s", None),
            ("-1s", None),
            ("1h30m", None),
            ("1S", None),
            ("+1s", None),
            ("99999999999999999999d", None),
            ("213503982334d", None),
        ] {
            assert_eq!(parse_duration(text), millis, "{text}");
        }
    }

    #[test]
    fn a_duration_is_written_as_it_is_read() {
        for text in ["0s", "1ms", "999ms", "1500ms", "1s", "90s", "1m", "90m", "1h", "36h", "1d", "30d"] {
            assert_eq!(parse_duration(text).map(written_duration).as_deref(), Some(text));
        }
        assert_eq!(written_duration(u64::MAX), "18446744073709551615ms");
    }

    #[test]
    fn words_are_listed_as_people_write_them() {
        assert_eq!(listed(&["a"]), "`a`");
        assert_eq!(listed(&["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
