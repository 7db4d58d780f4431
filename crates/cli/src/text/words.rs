//! Values as words for people: a first line, a duration, a JSON value.

use envoi_contract::json::Value;

/// The first line with something in it, at most 100 characters.
pub(crate) fn head(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let printable: String = line.chars().filter(|c| !c.is_control()).collect();
    if printable.chars().count() <= 100 {
        return printable;
    }
    printable.chars().take(99).chain(['…']).collect()
}

/// Milliseconds as seconds or minutes, for people.
pub(crate) fn seconds(ms: u64) -> String {
    if ms < 60_000 {
        return format!("{}.{} s", ms / 1_000, (ms % 1_000) / 100);
    }
    format!("{} min {:02} s", ms / 60_000, (ms / 1_000) % 60)
}

/// A number or text of a JSON value, for people.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.compact(), str::to_owned)
}
