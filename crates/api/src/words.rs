//! Values as words for people: a first line, a JSON value, a list of items.

use envoi_contract::json::Value;

/// The first line with something in it, at most 100 characters.
#[must_use]
pub fn head(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = line.chars().map(|c| if c == '\t' { ' ' } else { c });
    let printable: String = line.filter(|c| !c.is_control()).collect();
    if printable.chars().count() <= 100 {
        return printable;
    }
    printable.chars().take(99).chain(['…']).collect()
}

/// A number or text of a JSON value, for people.
#[must_use]
pub fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.compact(), str::to_owned)
}

/// What a visit has come to that was done for each of these values: `2 items: api, web`.
#[must_use]
pub fn items(values: &[String]) -> String {
    let count = if values.len() == 1 { "1 item".to_owned() } else { format!("{} items", values.len()) };
    if values.is_empty() { count } else { head(&format!("{count}: {}", values.join(", "))) }
}
