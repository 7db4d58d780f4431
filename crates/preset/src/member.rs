//! Reads members of a program's events: texts, counts, ids, and texts to show to people.

use core::fmt;
use envoi_contract::json::{Object, Value};

/// Longest part of a line that is shown to people, in characters.
const MAX_SHOWN_CHARS: usize = 300;

/// How secrets are masked in the output of programs and providers. A text is masked before it is cut, because a
/// secret that is cut in half would not be masked.
#[derive(Clone, Copy, Default)]
pub struct Masking<'m>(Option<&'m dyn Fn(&str) -> String>);

impl<'m> Masking<'m> {
    /// Masks with this function.
    #[must_use]
    pub fn with(mask: &'m dyn Fn(&str) -> String) -> Self {
        Self(Some(mask))
    }
}

impl fmt::Debug for Masking<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Masking" } else { "no Masking" })
    }
}

/// A text as one line of bounded length, masked.
pub(crate) fn one_line(text: &str, masking: Masking<'_>) -> String {
    let masked = masking.0.map(|mask| mask(text));
    let line = masked.as_deref().unwrap_or(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MAX_SHOWN_CHARS {
        return line;
    }
    let head: String = line.chars().take(MAX_SHOWN_CHARS).collect();
    format!("{head}…")
}

/// Returns the line unchanged if it is short enough. A text that goes on in the next line can be masked only together
/// with that line. A longer line is returned as by [`one_line`].
pub(crate) fn as_it_is(line: &str, masking: Masking<'_>) -> String {
    let is_short = line.chars().count() <= MAX_SHOWN_CHARS;
    if is_short { line.to_owned() } else { one_line(line, masking) }
}

/// The text of a member, if it exists.
pub(crate) fn text<'v>(value: &'v Value, path: &[&str]) -> Option<&'v str> {
    at(value, path)?.as_str()
}

/// The id of a session, if it is valid. The check matters because the id becomes an argument of the program later.
pub(crate) fn session_id(value: &Value, path: &[&str]) -> Option<String> {
    text(value, path).filter(|id| envoi_kernel::ids::is_session_id(id)).map(str::to_owned)
}

/// The count of a member, if it exists.
pub(crate) fn count(value: &Value, path: &[&str]) -> Option<u64> {
    at(value, path)?.as_u53()
}

/// The value of a member that should be a count but is not. If usage is not an object, this is the whole usage.
pub(crate) fn unusable_count<'v>(usage: &'v Value, name: &str) -> Option<&'v Value> {
    match usage {
        Value::Object(members) => {
            members.get(name).filter(|value| !value.is_null() && value.as_u53().is_none())
        }
        Value::Null => None,
        other => Some(other),
    }
}

/// The values of these two members that should be token counts but are not, as members of `metrics` (contract 4).
pub(crate) fn unusable_counts(usage: &Value, tokens_in: &str, tokens_out: &str) -> Object {
    let figures = [("tokens_in", tokens_in), ("tokens_out", tokens_out)];
    let stated = figures.map(|(figure, name)| (figure, unusable_count(usage, name)));
    stated.into_iter().filter_map(|(figure, value)| Some((figure.to_owned(), value?.clone()))).collect()
}

/// The data of a text that is one JSON document, alone or in a fenced block. Models often put JSON in such a block.
pub(crate) fn data_in(text: &str) -> Option<Value> {
    let text = text.trim();
    let fenced = || {
        let (mark, rest) = text.strip_prefix("```")?.strip_suffix("```")?.split_once('\n')?;
        ["", "json"].contains(&mark.trim()).then(|| rest.trim())
    };
    Value::parse_str(text).ok().or_else(|| Value::parse_str(fenced()?).ok())
}

/// The value at a path of members.
pub(crate) fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_masked_before_it_is_cut() {
        let mask = |text: &str| text.replace("hunter2", "***");
        for before in MAX_SHOWN_CHARS - 8..=MAX_SHOWN_CHARS {
            let line = one_line(&format!("{}hunter2 and more", "x".repeat(before)), Masking::with(&mask));
            assert!(!line.contains("hu") && line.ends_with('…'), "{line}");
        }
        assert_eq!(one_line("a\n  b", Masking::default()), "a b");
    }

    #[test]
    fn data_stands_alone_or_in_one_fenced_block() {
        let data = |text: &str| data_in(text).map(|data| data.compact());
        for text in ["{\"a\":1}", " {\"a\": 1}\n", "```json\n{\"a\":1}\n```\n", "```\n{\"a\":1}\n```"] {
            assert_eq!(data(text).as_deref(), Some("{\"a\":1}"), "{text}");
        }
        for text in
            ["", "Here it is: {}", "```json\n{}\n``` as said", "```yaml\n{}\n```", "```json\n{}\n{}\n```"]
        {
            assert_eq!(data(text), None, "{text}");
        }
    }
}
