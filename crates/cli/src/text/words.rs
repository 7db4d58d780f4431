//! Values as words for people: a first line, a JSON value, an item of a list.

use super::columns::{Charset, clip};
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

/// A number or text of a JSON value, for people.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.compact(), str::to_owned)
}

/// Columns of an item's value in a view.
const MAX_ITEM: usize = 40;

/// The value of an item, as views show it beside its number.
pub(crate) fn item(value: &Value) -> String {
    clip(&head(&plain(value)), MAX_ITEM, Charset::Unicode)
}

/// What a visit has come to that was done for each of these values: `2 items: api, web`.
pub(crate) fn items(values: &[String]) -> String {
    let count = if values.len() == 1 { "1 item".to_owned() } else { format!("{} items", values.len()) };
    if values.is_empty() { count } else { head(&format!("{count}: {}", values.join(", "))) }
}
