//! The changes of a file, line by line, for a person at a terminal.
//!
//! Pure: bytes in, text out. The text has no control characters except tabs and line ends, whatever the bytes
//! are. The work is bounded by size and not by time, so the same files have the same result on a busy
//! machine.

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices, group_diff_ops, udiff::UnifiedHunkHeader};
use std::{collections::HashMap, ops::Range};

/// Unchanged lines around a change, as many as usual in a diff.
const CONTEXT_LINES: usize = 3;

/// Larger texts are not compared line by line: the result is too long to read, and can take seconds.
const MOST_BYTES: usize = 512 * 1024;
const MOST_LINES: usize = 20_000;

/// Longer lines (minified, generated) are cut, because they would push everything else off the screen.
const MOST_CHARS_A_LINE: usize = 1000;

/// A unified diff: at most `most_lines` lines, and if there are more, a line with their number. Empty if no
/// line differs. `None` is a missing file.
pub fn unified(path: &str, before: Option<&[u8]>, after: Option<&[u8]>, most_lines: usize) -> String {
    let bytes = |side: Option<&[u8]>| side.unwrap_or_default().len();
    let sizes = || format!("({} bytes → {} bytes)\n", bytes(before), bytes(after));
    if before == after {
        return String::new();
    }
    let (Some(old), Some(new)) = (text(before), text(after)) else {
        return format!("binary files differ {}", sizes());
    };
    let (Some(old), Some(new)) = (comparable(old), comparable(new)) else {
        return format!("too large to be compared line by line {}", sizes());
    };
    let mut lines = Lines { text: String::new(), room: most_lines, more: 0 };
    for (number, hunk) in hunks(&old, &new).iter().enumerate() {
        if number == 0 {
            lines.header("---", "a/", path, before.is_some());
            lines.header("+++", "b/", path, after.is_some());
        }
        lines.push(&UnifiedHunkHeader::new(hunk).to_string());
        hunk.iter().for_each(|op| lines.op(op, &old, &new));
    }
    lines.finish()
}

/// Number of added and of removed lines. Zero for a binary file. For a text that is too large, lines that
/// moved are not counted.
pub fn stat(before: Option<&[u8]>, after: Option<&[u8]>) -> (usize, usize) {
    let (Some(old), Some(new)) = (text(before), text(after)) else { return (0, 0) };
    let (Some(old), Some(new)) = (comparable(old), comparable(new)) else { return came_and_went(old, new) };
    let changed = changes(&old, &new).into_iter().filter(|op| op.tag() != DiffTag::Equal);
    changed.fold((0, 0), |(added, removed), op| {
        (added.saturating_add(op.new_range().len()), removed.saturating_add(op.old_range().len()))
    })
}

/// Text for a terminal: characters that move the cursor, change a colour or change the writing direction are
/// escaped.
pub fn printable(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut shown, scalar| {
        match is_shown(scalar) {
            true => shown.push(scalar),
            false => shown.extend(scalar.escape_default()),
        }
        shown
    })
}

/// Like [`printable`], for JSON. The result is still JSON: the escapes are those of JSON, and line ends stay.
pub fn json(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut shown, scalar| {
        match scalar == '\n' || is_shown(scalar) {
            true => shown.push(scalar),
            // JSON has no other control characters outside of strings, and none of these is above 16 bits.
            false => shown.push_str(&format!("\\u{:04x}", u32::from(scalar))),
        }
        shown
    })
}

/// Like [`printable`], line by line.
pub fn lines(text: &str) -> String {
    let shown = text.split_inclusive('\n').map(|line| match line.strip_suffix('\n') {
        Some(line) => printable(line.strip_suffix('\r').unwrap_or(line)) + "\n",
        None => printable(line),
    });
    shown.collect()
}

fn is_shown(scalar: char) -> bool {
    let turns_or_breaks = matches!(scalar, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    // A byte order mark has no width: a line that begins with one would look like the line without it.
    scalar == '\t' || !(scalar.is_control() || turns_or_breaks || scalar == '\u{feff}')
}

fn text(side: Option<&[u8]>) -> Option<&str> {
    std::str::from_utf8(side.unwrap_or_default()).ok().filter(|text| !text.contains('\0'))
}

/// The lines with their ends. `None` if the text is too large to compare.
fn comparable(text: &str) -> Option<Vec<&str>> {
    if text.len() > MOST_BYTES {
        return None;
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    (lines.len() <= MOST_LINES).then_some(lines)
}

fn changes(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    capture_diff_slices(Algorithm::Myers, old, new)
}

fn hunks(old: &[&str], new: &[&str]) -> Vec<Vec<DiffOp>> {
    let mut hunks = group_diff_ops(changes(old, new), CONTEXT_LINES);
    hunks.retain(|hunk| hunk.iter().any(|op| op.tag() != DiffTag::Equal));
    hunks
}

fn came_and_went(old: &str, new: &str) -> (usize, usize) {
    let mut lines: HashMap<&str, (usize, usize)> = HashMap::new();
    new.split_inclusive('\n').for_each(|line| lines.entry(line).or_default().0 += 1);
    old.split_inclusive('\n').for_each(|line| lines.entry(line).or_default().1 += 1);
    lines.into_values().fold((0, 0), |(came, went), (new, old)| {
        (came + new.saturating_sub(old), went + old.saturating_sub(new))
    })
}

/// The output lines, up to a limit.
struct Lines {
    text: String,
    room: usize,
    more: usize,
}

impl Lines {
    fn header(&mut self, sign: &str, side: &str, path: &str, is_there: bool) {
        let name = if is_there { format!("{side}{}", printable(path)) } else { "/dev/null".to_owned() };
        self.push(&format!("{sign} {name}"));
    }

    fn op(&mut self, op: &DiffOp, old: &[&str], new: &[&str]) {
        let (tag, from, to) = op.as_tag_tuple();
        if tag == DiffTag::Equal {
            return self.all(' ', old, from);
        }
        self.all('-', old, from);
        self.all('+', new, to);
    }

    fn all(&mut self, sign: char, lines: &[&str], range: Range<usize>) {
        for line in lines.get(range).unwrap_or_default() {
            match line.strip_suffix('\n') {
                Some(line) => self.line(sign, line),
                None => {
                    self.line(sign, line);
                    self.push("\\ No newline at end of file");
                }
            }
        }
    }

    fn line(&mut self, sign: char, line: &str) {
        let (shown, rest) = match line.char_indices().nth(MOST_CHARS_A_LINE) {
            Some((at, _)) => line.split_at(at),
            None => (line, ""),
        };
        let shown = printable(shown);
        match rest.chars().count() {
            0 => self.push(&format!("{sign}{shown}")),
            rest => self.push(&format!("{sign}{shown}… {rest} more characters")),
        }
    }

    fn push(&mut self, line: &str) {
        if self.room == 0 {
            self.more = self.more.saturating_add(1);
            return;
        }
        self.room -= 1;
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn finish(mut self) -> String {
        match self.more {
            0 => {}
            1 => self.text.push_str("… 1 more line\n"),
            more => self.text.push_str(&format!("… {more} more lines\n")),
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(before: &str, after: &str) -> String {
        unified("src/a.py", Some(before.as_bytes()), Some(after.as_bytes()), 100)
    }

    fn body(before: &str, after: &str) -> String {
        diff(before, after).lines().skip(2).map(|line| format!("{line}\n")).collect()
    }

    fn numbered(range: Range<usize>) -> String {
        range.map(|number| format!("{number}\n")).collect()
    }

    #[test]
    fn a_change_is_shown_with_three_lines_around_it() {
        let before = numbered(1..30);
        let after = before.replace("10\n", "ten\n").replace("25\n", "");
        let expected = "--- a/src/a.py\n+++ b/src/a.py\n@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n\
                        @@ -22,7 +22,6 @@\n 22\n 23\n 24\n-25\n 26\n 27\n 28\n";
        assert_eq!(diff(&before, &after), expected);
        assert_eq!(stat(Some(before.as_bytes()), Some(after.as_bytes())), (1, 2));
    }

    #[test]
    fn a_file_that_comes_or_goes_is_compared_with_nothing() {
        let created = unified("a", None, Some(b"one\ntwo\n"), 100);
        assert_eq!(created, "--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n+one\n+two\n");
        let deleted = unified("a", Some(b"one\n"), None, 100);
        assert_eq!(deleted, "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n");
        assert_eq!(stat(None, Some(b"one\ntwo")), (2, 0));
        assert_eq!(stat(Some(b"one\n"), None), (0, 1));
    }

    #[test]
    fn without_a_difference_there_is_nothing() {
        for (before, after) in [(None, None), (Some(&b"a\n"[..]), Some(&b"a\n"[..])), (None, Some(b""))] {
            assert_eq!((unified("a", before, after, 100).as_str(), stat(before, after)), ("", (0, 0)));
        }
    }

    #[test]
    fn a_missing_end_of_line_is_reported() {
        let hint = "\\ No newline at end of file\n";
        assert_eq!(body("a\nb", "a\nb\n"), format!("@@ -1,2 +1,2 @@\n a\n-b\n{hint}+b\n"));
        assert_eq!(body("a\n", "b"), format!("@@ -1 +1 @@\n-a\n+b\n{hint}"));
        assert_eq!(body("a\nb", "c\nb"), format!("@@ -1,2 +1,2 @@\n-a\n+c\n b\n{hint}"));
    }

    #[test]
    fn nothing_that_a_terminal_obeys_comes_out() {
        let nasty = "\x1b[2J\x07\u{9b}31m\u{202e}\u{2028}\r\x7f\tö\n";
        let shown = body("", nasty);
        assert_eq!(shown, "@@ -0,0 +1 @@\n+\\u{1b}[2J\\u{7}\\u{9b}31m\\u{202e}\\u{2028}\\r\\u{7f}\tö\n");
        let named = unified("a\x1b[31m\n", None, Some(b"x\n"), 100);
        assert_eq!(named.lines().nth(1), Some("+++ b/a\\u{1b}[31m\\n"));
        let controls: String = (0..=0x9f).filter_map(char::from_u32).filter(|c| c.is_control()).collect();
        assert_eq!(printable(&controls).chars().filter(|c| c.is_control()).collect::<String>(), "\t");
    }

    #[test]
    fn json_for_a_terminal_says_the_same_and_steers_nothing() {
        let nasty =
            serde_json::json!({"x\u{9b}": ["\u{1b}[2J\u{9b}31m\u{202e}evil\u{2066}", "\u{7f}\u{61c}ö\t"]});
        for text in [nasty.to_string(), serde_json::to_string_pretty(&nasty).unwrap()] {
            let shown = json(&text);
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), nasty);
            assert!(shown.chars().all(|scalar| scalar == '\n' || is_shown(scalar)), "{shown:?}");
            assert!(shown.contains(r"\u009b31m\u202eevil\u2066") && shown.contains('ö'), "{shown}");
        }
    }

    #[test]
    fn of_several_lines_the_ends_are_kept() {
        assert_eq!(lines("a\tb\r\n\x1b[2J\n\nc\r"), "a\tb\n\\u{1b}[2J\n\nc\\r");
    }

    #[test]
    fn ends_of_lines_of_two_kinds_are_distinguished() {
        assert_eq!(body("a\r\n", "a\n"), "@@ -1 +1 @@\n-a\\r\n+a\n");
    }

    #[test]
    fn a_byte_order_mark_is_seen() {
        assert_eq!(body("\u{feff}a\n", "a\n"), "@@ -1 +1 @@\n-\\u{feff}a\n+a\n");
    }

    #[test]
    fn a_file_that_is_no_text_is_shown_by_its_size() {
        for (before, after) in [(&b"a\0b"[..], &b"text"[..]), (b"\xff\xfe\n", b"text"), (b"tex", b"t\xc3xt")]
        {
            let expected = format!("binary files differ ({} bytes → 4 bytes)\n", before.len());
            assert_eq!(unified("a", Some(before), Some(after), 100), expected);
            assert_eq!(stat(Some(before), Some(after)), (0, 0));
        }
        assert_eq!(unified("a", None, Some(b"\0"), 100), "binary files differ (0 bytes → 1 bytes)\n");
    }

    #[test]
    fn a_file_that_is_too_large_is_shown_by_its_size_too() {
        let most_lines = "\n".repeat(MOST_LINES);
        let most_bytes = "x".repeat(MOST_BYTES);
        for (most, more) in
            [(&most_lines, format!("{most_lines}\n")), (&most_bytes, format!("{most_bytes}x"))]
        {
            assert!(diff("", most).starts_with("--- a/"), "{} bytes", most.len());
            let expected = |from: usize, to: usize| {
                format!("too large to be compared line by line ({from} bytes → {to} bytes)\n")
            };
            assert_eq!(diff("", &more), expected(0, more.len()));
            assert_eq!(diff(&more, most), expected(more.len(), most.len()));
        }
        let before = format!("{most_lines}a\nb\n");
        let after = format!("c\n{most_lines}\n");
        assert_eq!(stat(Some(before.as_bytes()), Some(after.as_bytes())), (2, 2));
    }

    #[test]
    fn a_long_diff_is_cut_and_says_how_much_is_missing() {
        let whole = numbered(0..10);
        let cut = |most| unified("a", None, Some(whole.as_bytes()), most);
        assert_eq!(cut(13).lines().count(), 13);
        assert_eq!(cut(13).lines().last(), Some("+9"));
        assert_eq!(cut(12).lines().skip(11).collect::<Vec<_>>(), ["+8", "… 1 more line"]);
        assert_eq!(cut(4), "--- /dev/null\n+++ b/a\n@@ -0,0 +1,10 @@\n+0\n… 9 more lines\n");
        assert_eq!(cut(0), "… 13 more lines\n");
    }

    #[test]
    fn a_long_line_is_cut_and_says_how_much_is_missing() {
        let most = "ö".repeat(MOST_CHARS_A_LINE);
        let more = "ö".repeat(MOST_CHARS_A_LINE + 7);
        assert_eq!(body("", &format!("{most}\n")), format!("@@ -0,0 +1 @@\n+{most}\n"));
        assert_eq!(body("", &format!("{more}\n")), format!("@@ -0,0 +1 @@\n+{most}… 7 more characters\n"));
    }
}
