//! Members of the events of programs: texts, counts, ids, and texts as people are shown them.

use envoi_contract::json::Value;

/// The longest part of a line that is shown to people.
const MAX_SHOWN_CHARS: usize = 300;

/// A text as one line of bounded length.
pub(crate) fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MAX_SHOWN_CHARS {
        return line;
    }
    let head: String = line.chars().take(MAX_SHOWN_CHARS).collect();
    format!("{head}…")
}

/// The text of a member, if it is there.
pub(crate) fn text<'v>(value: &'v Value, path: &[&str]) -> Option<&'v str> {
    at(value, path)?.as_str()
}

/// The id of a session, if it looks like one: it is an argument of the program later.
pub(crate) fn session_id(value: &Value, path: &[&str]) -> Option<String> {
    text(value, path).filter(|id| envoi_kernel::ids::is_session_id(id)).map(str::to_owned)
}

/// The count of a member, if it is there.
pub(crate) fn count(value: &Value, path: &[&str]) -> Option<u64> {
    at(value, path)?.as_u53()
}

/// The value at a path of members.
pub(crate) fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}
