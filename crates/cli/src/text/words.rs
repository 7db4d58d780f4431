//! Values as words for people, as wide as a view shows them.

use super::columns::{Charset, clip};
use envoi_api::words::{head, plain};
use envoi_contract::json::Value;

/// Columns of an item's value in a view.
pub(crate) const MAX_ITEM: usize = 40;

/// The value of an item, as views show it beside its number.
pub(crate) fn item(value: &Value) -> String {
    clip(&head(&plain(value)), MAX_ITEM, Charset::Unicode)
}

/// A number with its noun, which takes an `s` unless there is one: `1 step`, `2 steps`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
