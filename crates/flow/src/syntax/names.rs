//! The spelling of names: ids, variables, inputs, words of a status.
//!
//! Owns the valid spellings, and checks that no two steps have the same name. The kernel owns the id types.

use crate::syntax::{
    diagnostic::{Diagnostic, Problems, Span},
    read::Spanned,
    yaml::Key,
};
use std::collections::BTreeMap;

/// The form of an id, in words.
pub(crate) const ID: &str = "a lower-case letter, then up to 63 of `a-z 0-9 _ -`";
/// The form of the name of an environment variable, in words.
pub(crate) const VARIABLE: &str = "a letter or `_`, then letters, digits and `_`";
/// The form of the name of an input, in words.
pub(crate) const INPUT: &str = "a letter or `_`, then letters, digits, `_` and `-`";
/// The form of the word of a status, in words.
pub(crate) const WORD: &str = "a letter, then letters, digits, `_` and `-`";

fn spelled(text: &str, first: impl Fn(u8) -> bool, rest: impl Fn(u8) -> bool) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(first) && bytes.all(rest)
}

pub(crate) fn is_variable(text: &str) -> bool {
    spelled(text, |b| b.is_ascii_alphabetic() || b == b'_', |b| b.is_ascii_alphanumeric() || b == b'_')
}

pub(crate) fn is_input(text: &str) -> bool {
    let rest = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    spelled(text, |b| b.is_ascii_alphabetic() || b == b'_', rest)
}

/// True for `[A-Za-z][A-Za-z0-9_-]*`, which the resolver reads as a status.
pub(crate) fn is_word(text: &str) -> bool {
    let rest = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    spelled(text, |b| b.is_ascii_alphabetic(), rest)
}

/// The diagnostic for an invalid id, with the most similar valid id.
pub(crate) fn bad_id(span: Span, text: &str, expected: &str) -> Diagnostic {
    let near: String = text
        .to_ascii_lowercase()
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '-' })
        .collect();
    let near = near.trim_start_matches(|letter: char| !letter.is_ascii_lowercase()).trim_end_matches('-');
    let help = (envoi_kernel::ids::is_key(near) && near != text).then(|| format!("did you mean `{near}`?"));
    let shown = crate::syntax::yaml::shortened(text);
    Diagnostic::invalid(span, format!("`{shown}` is not an id")).expecting(expected).maybe_help(help)
}

/// The key as the name of an environment variable for commands.
pub(crate) fn variable(key: &Key, what: &str, problems: &mut Problems) -> Option<String> {
    let name = key.text.as_str();
    if !is_variable(name) {
        let message = format!("`{name}` cannot name {what}");
        problems.add(Diagnostic::invalid(key.span, message).expecting(VARIABLE));
        return None;
    }
    if name.starts_with("ENVOI_") {
        let message = format!("`{name}` cannot name {what}: variables that begin `ENVOI_` are set by Envoi");
        problems.add(Diagnostic::invalid(key.span, message));
        return None;
    }
    Some(name.to_owned())
}

/// The ids so far.
#[derive(Debug, Default)]
pub(crate) struct Names {
    first: BTreeMap<String, Span>,
}

impl Names {
    /// Records the id of a step, unless another step has it, ignoring case.
    pub(crate) fn claim(&mut self, id: &Spanned<String>, problems: &mut Problems) {
        let folded = id.value.to_ascii_lowercase();
        match self.first.get(&folded) {
            Some(first) => problems.add(
                Diagnostic::invalid(id.span, format!("two steps are called `{folded}`"))
                    .label(*first, "the first one is here"),
            ),
            None => {
                self.first.insert(folded, id.span);
            }
        }
    }
}
