//! Values as words for people, cut to the width of a view.

use super::columns::{Charset, clip};
use envoi_api::words::{head, plain};
use envoi_contract::json::Value;

/// The most columns of an item's value in a view.
pub(crate) const MAX_ITEM: usize = 40;

/// The value of an item, shown beside its number.
pub(crate) fn item(value: &Value) -> String {
    clip(&head(&plain(value)), MAX_ITEM, Charset::Unicode)
}

/// A number with its noun, which gets an `s` unless the number is 1: `1 step`, `2 steps`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
