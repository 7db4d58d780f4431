//! The summary of a step's text: the text itself, or a digest that keeps its head, its tail and its status lines.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::routing::summary_lines;

/// Longest summary, in Unicode scalars.
pub const MAX_SUMMARY_SCALARS: usize = 2000;

/// Longest total length of the kept status lines, in Unicode scalars.
const KEPT_SCALARS: usize = 400;

/// Scalars that are reserved for the marker of the omitted part.
const MARKER_SCALARS: usize = 40;

/// How far from the cut white space is searched for.
const BREAK_SCALARS: usize = 80;

/// Shortens `text` to at most 2000 Unicode scalars. A shorter text is only trimmed. A longer one becomes its status
/// lines, its head, a marker and its tail. No model is needed, and the same text always gives the same summary.
#[must_use]
pub fn summarize(text: &str) -> String {
    let text = text.trim_ascii();
    if text.len() <= MAX_SUMMARY_SCALARS {
        return text.to_owned();
    }
    let scalars = text.chars().count();
    if scalars <= MAX_SUMMARY_SCALARS { text.to_owned() } else { digest(text, scalars) }
}

fn digest(text: &str, scalars: usize) -> String {
    let (mut summary, kept) = kept_lines(text);
    let room = MAX_SUMMARY_SCALARS - kept - MARKER_SCALARS;
    let head_room = 2 * room / 3;
    let head = broken_at_end(first(text, head_room));
    let tail = broken_at_start(last(text, room - head_room));
    let omitted = scalars - head.chars().count() - tail.chars().count();
    summary.push_str(head);
    summary.push_str(&format!("\n… [{omitted} characters omitted] …\n"));
    summary.push_str(tail);
    summary
}

/// The distinct lines with a counted status label or hint, as many as fit, and their length in scalars.
fn kept_lines(text: &str) -> (String, usize) {
    let mut kept = String::new();
    let mut length = 0;
    let mut seen: Vec<&str> = Vec::new();
    for line in summary_lines(text) {
        let with_line = length + line.chars().count() + 1;
        if with_line <= KEPT_SCALARS && !seen.contains(&line) {
            seen.push(line);
            kept.push_str(line);
            kept.push('\n');
            length = with_line;
        }
    }
    (kept, length)
}

fn first(text: &str, scalars: usize) -> &str {
    text.char_indices().nth(scalars).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

fn last(text: &str, scalars: usize) -> &str {
    let start = scalars.checked_sub(1).and_then(|before| text.char_indices().rev().nth(before));
    start.and_then(|(start, _)| text.get(start..)).unwrap_or_default()
}

/// The head, cut at the last white space near its end.
fn broken_at_end(head: &str) -> &str {
    let near_end = last(head, BREAK_SCALARS);
    match near_end.rfind(['\n', ' ']) {
        Some(at) => head.get(..head.len() - near_end.len() + at).unwrap_or(head),
        None => head,
    }
}

/// The tail, cut at the first white space near its start.
fn broken_at_start(tail: &str) -> &str {
    let near_start = first(tail, BREAK_SCALARS);
    near_start.find(['\n', ' ']).and_then(|at| tail.get(at + 1..)).unwrap_or(tail)
}
