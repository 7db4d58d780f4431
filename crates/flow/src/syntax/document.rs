//! The text of a file before it is read: its size, its byte order mark, and its tree.

use crate::syntax::{
    diagnostic::{Diagnostic, Problems, Span},
    yaml::{self, Node},
};

/// Largest size of a flow file or configuration, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;

/// The text of a file without its byte order mark, which editors on Windows write. It is removed before anything is
/// read, so that the first line has the same columns as in an editor.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The tree of a file. `None` if it is empty, or cannot be read, which is reported.
pub(crate) fn root(text: &str, problems: &mut Problems) -> Option<Node> {
    if text.len() > MAX_BYTES {
        let message = format!("a file has at most {MAX_BYTES} bytes; this one has {}", text.len());
        problems.add(Diagnostic::syntax(Span::default(), message));
        return None;
    }
    yaml::compose(text, problems)
}
