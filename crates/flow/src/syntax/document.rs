//! The text of a file before it is read: its size, its byte-order mark, and its tree.

use crate::syntax::{
    diagnostic::{Diagnostic, Problems, Span},
    yaml::{self, Node},
};

/// The largest flow file or configuration.
pub const MAX_BYTES: usize = 1024 * 1024;

/// The text of a file after its byte order mark, which editors on Windows write and which says nothing. It is taken off before
/// anything is read, so that the first line has the columns that an editor shows.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The tree of a file; `None` if it is empty, or cannot be read at all, which is reported.
pub(crate) fn root(text: &str, problems: &mut Problems) -> Option<Node> {
    if text.len() > MAX_BYTES {
        let message = format!("a file has at most {MAX_BYTES} bytes; this one has {}", text.len());
        problems.add(Diagnostic::syntax(Span::default(), message));
        return None;
    }
    yaml::compose(text, problems)
}
