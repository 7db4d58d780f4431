//! Names and paths of artifacts. A path is relative to the run's directory and never leaves it.

use alloc::string::String;

use crate::json::Value;

/// Reads a path from a hand-off. The error is the value that is not a valid path.
pub(super) fn read_path(value: Value) -> Result<String, Value> {
    match value {
        Value::String(path) if is_inside(&path) => Ok(path),
        other => Err(other),
    }
}

/// True if an artifact may have this name. Any text that is not empty is allowed, so that a step may use the terms of
/// its domain.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty()
}

/// True if a path stays inside the directory that it is relative to: not absolute, no `..`, no empty segment, no
/// backslash, no NUL.
pub(super) fn is_inside(path: &str) -> bool {
    let drive = matches!(path.as_bytes(), [letter, b':', b'/', ..] if letter.is_ascii_alphabetic());
    !drive
        && !path.contains(['\\', '\0'])
        && path.split('/').all(|segment| !segment.is_empty() && segment != "..")
}
