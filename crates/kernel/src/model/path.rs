//! Paths relative to the workspace.

/// Why a path leads out of the workspace; `None` if it does not. Checks only the text: links are not
/// resolved.
#[must_use]
pub fn outside(path: &str) -> Option<&'static str> {
    if path.starts_with('/') {
        return Some("is relative to the workspace, not absolute");
    }
    path.split('/').any(|segment| segment == "..").then_some("stays inside the workspace: `..` is refused")
}
