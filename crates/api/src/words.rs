//! Formats values for people: a first line, a JSON value, a list of items.

use envoi_contract::json::Value;

/// The first line that is not blank, at most 100 characters.
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

/// The result of a visit with these items: `2 items: api, web`.
#[must_use]
pub fn items(values: &[String]) -> String {
    let count = if values.len() == 1 { "1 item".to_owned() } else { format!("{} items", values.len()) };
    if values.is_empty() { count } else { head(&format!("{count}: {}", values.join(", "))) }
}
