//! The location of a mistake in a document: file, pointer, line, column, and the line itself with a mark
//! under it.
//!
//! It does not search: the code that refused the document gives the position.

use envoi_contract::{
    error::Diagnostic,
    json::{Object, Value},
};
use std::fmt::Write as _;

/// How many characters of a long line are shown before and after the mark.
const BEFORE: usize = 40;
const AFTER: usize = 60;

/// The location of a mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    /// The name that the person gave, or `stdin`.
    file: String,
    /// JSON Pointer; empty for the whole document.
    pointer: String,
    at: Option<Mark>,
}

/// A line of the document, and where the mistake is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark {
    line: u32,
    column: u32,
    /// Shortened.
    text: String,
    /// Characters of `text` before the mark.
    indent: usize,
}

impl Location {
    /// The location of a refusal of the document `bytes`, which came from `file`.
    pub(crate) fn of(refusal: &Diagnostic, file: &str, bytes: &[u8]) -> Self {
        let at = refusal.line.zip(refusal.column).map(|(line, column)| Mark::of(bytes, line, column));
        Self { file: file.to_owned(), pointer: refusal.pointer.clone(), at }
    }

    /// Formats the location for people, in lines that end with a newline.
    pub(crate) fn to_text(&self) -> String {
        let Self { file, pointer, at } = self;
        let pointer = if pointer.is_empty() { String::new() } else { format!(" at `{}`", visible(pointer)) };
        let Some(Mark { line, column, text, indent }) = at else {
            return format!("  --> {file}{pointer}\n");
        };
        let number = line.to_string();
        let gutter = " ".repeat(number.len());
        let mut shown = format!("{gutter} --> {file}:{line}:{column}{pointer}\n{gutter} |\n");
        // Writing to a `String` cannot fail.
        let _ = writeln!(shown, "{}", format!("{number} | {text}").trim_end());
        let _ = writeln!(shown, "{gutter} | {}^", " ".repeat(*indent));
        shown
    }

    /// Adds the location to the JSON members.
    pub(crate) fn add_to(&self, members: &mut Object) {
        let number = |part: fn(&Mark) -> u32| self.at.as_ref().map(|at| u64::from(part(at)));
        members.insert("file", Value::from(self.file.as_str()));
        members.insert("pointer", Value::from(self.pointer.as_str()));
        members.insert("line", Value::from(number(|at| at.line)));
        members.insert("column", Value::from(number(|at| at.column)));
    }
}

impl Mark {
    fn of(bytes: &[u8], line: u32, column: u32) -> Self {
        let lines = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
        let whole = bytes.split(|byte| *byte == b'\n').nth(lines).unwrap_or_default();
        let before = usize::try_from(column).unwrap_or(usize::MAX).saturating_sub(1);
        let (text, indent) = window(&visible(&String::from_utf8_lossy(whole)), before);
        Self { line, column, text, indent }
    }
}

/// Replaces each character that would move the mark or control the terminal with a space.
fn visible(text: &str) -> String {
    text.chars().map(|scalar| if scalar.is_control() { ' ' } else { scalar }).collect()
}

/// The part of a line around the mark, and how far the mark is from its beginning.
fn window(line: &str, before: usize) -> (String, usize) {
    let start = before.saturating_sub(BEFORE);
    let mut rest = line.chars().skip(start);
    let mut text = String::from(if start > 0 { "…" } else { "" });
    text.extend(rest.by_ref().take(before.saturating_sub(start).saturating_add(AFTER)));
    if rest.next().is_some() {
        text.push('…');
    }
    (text, before.saturating_sub(start).saturating_add(usize::from(start > 0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_contract::{handoff, routing};

    fn place(bytes: &[u8]) -> Location {
        Location::of(&routing::decode_input(bytes).unwrap_err(), "in.json", bytes)
    }

    #[test]
    fn a_mistake_is_shown_in_its_line_with_a_mark_under_it() {
        let rows = [
            (
                "{\"handoff_text\": \"\",\n\t\"iteration\": -1}",
                "  --> in.json:2:15 at `/iteration`\n  |\n2 |  \"iteration\": -1}\n  |               ^\n",
            ),
            (
                "{\"é\": 1, \"é\": 2}",
                "  --> in.json:1:10 at `/é`\n  |\n1 | {\"é\": 1, \"é\": 2}\n  |          ^\n",
            ),
            (
                "{\"handoff_text\": \"\"",
                "  --> in.json:1:20\n  |\n1 | {\"handoff_text\": \"\"\n  |                    ^\n",
            ),
            ("\n\nWhat: ever\n", "  --> in.json:3:1\n  |\n3 | What: ever\n  | ^\n"),
        ];
        for (bytes, shown) in rows {
            assert_eq!(place(bytes.as_bytes()).to_text(), shown, "{bytes}");
        }
    }

    #[test]
    fn a_long_line_is_cut_on_both_sides_of_the_mark() {
        let long =
            format!("{{\"handoff_text\": \"{}\", \"iteration\": -1, \"x\": \"{0}\"}}", "é".repeat(500));
        let shown = place(long.as_bytes()).to_text();
        let lines: Vec<&str> = shown.lines().collect();
        let mark = lines[3].chars().position(|scalar| scalar == '^').unwrap();
        assert_eq!(lines[2].chars().skip(mark).take(2).collect::<String>(), "-1");
        assert!(lines[2].starts_with("1 | …é") && lines[2].ends_with("é…"), "{shown}");
        assert!(lines[2].chars().count() < 120);
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_well_as_they_can_be() {
        assert!(place(b"{\"a\": \"\xff\"}").to_text().contains('\u{fffd}'));
        assert!(!place(b"{\"a\x1b[2J\": }").to_text().contains('\u{1b}'));
    }

    #[test]
    fn programs_get_pointer_line_and_column() {
        let bytes = b"{\"handoff_text\": \"\",\n \"routing\": {\"routing_kind\": 7}}";
        let mut members = Object::new();
        place(bytes).add_to(&mut members);
        let row = "{\"file\":\"in.json\",\"pointer\":\"/routing/routing_kind\",\"line\":2,\"column\":30}";
        assert_eq!(Value::Object(members).compact(), row);
    }

    #[test]
    fn what_only_the_writer_sees_has_a_place_too() {
        let bytes = b"{\"step_id\":\"s\",\"flow_key\":\"f\",\"run_id\":\"r\",\"status\":\"failed\",\n\"artifacts\":{\"a\":\"../a\"}}";
        let refusal = handoff::write(handoff::decode_draft(bytes).unwrap()).unwrap_err().located(bytes);
        assert!(
            Location::of(&refusal, "stdin", bytes)
                .to_text()
                .starts_with("  --> stdin:2:18 at `/artifacts/a`")
        );
    }
}
