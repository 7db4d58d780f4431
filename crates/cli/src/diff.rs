//! placeholder until merged
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}
pub(crate) fn unified(_path: &str, _before: Option<&[u8]>, _after: Option<&[u8]>, _most: usize) -> String {
    String::new()
}
pub(crate) fn stat(_b: Option<&[u8]>, _a: Option<&[u8]>) -> (usize, usize) {
    (0, 0)
}
