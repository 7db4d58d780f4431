//! Names and paths of artifacts. A path is relative to the run's directory and never out of it.

use alloc::string::String;

use crate::json::Value;

/// Reads a path from a hand-off; a value that is no path is the error.
pub(super) fn read_path(value: Value) -> Result<String, Value> {
    match value {
        Value::String(path) if is_inside(&path) => Ok(path),
        other => Err(other),
    }
}

/// Whether an artifact may have this name. Any text is one, so that a step may use the words of its trade; an empty one names nothing.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty()
}

/// Whether a path stays inside the directory it is relative to: not absolute, no `..`, no empty segment, no backslash, no
/// NUL.
pub(super) fn is_inside(path: &str) -> bool {
    let drive = matches!(path.as_bytes(), [letter, b':', b'/', ..] if letter.is_ascii_alphabetic());
    !drive
        && !path.contains(['\\', '\0'])
        && path.split('/').all(|segment| !segment.is_empty() && segment != "..")
}
