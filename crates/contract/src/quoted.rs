//! Quotes a found value in a message.

use alloc::{format, string::String};

/// `text` in backticks, cut after `limit` Unicode scalars.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("`{}…`", text.get(..end).unwrap_or(text)),
        None => format!("`{text}`"),
    }
}
