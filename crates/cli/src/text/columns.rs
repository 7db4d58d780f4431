//! Text in the columns of a terminal: what is safe to show, its width, and where it is cut.
//!
//! Text of a command, a flow file or a person reaches a terminal only through [`shown`], because a terminal
//! executes escape sequences, and some invisible characters reverse the order of others.

use envoi_step::without_escapes;
use unicode_width::UnicodeWidthChar as _;

/// The characters that a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charset {
    /// Everything.
    Unicode,
    /// Only ASCII. Other characters become `?`.
    Ascii,
}

/// Turns the previous character into an emoji, which terminals draw one or two columns wide.
const EMOJI_SELECTOR: char = '\u{fe0f}';

/// `text` as one line that is safe for a terminal: without escape sequences, control characters and invisible
/// characters.
pub(crate) fn shown(text: &str, charset: Charset) -> String {
    let plain = without_escapes(text.as_bytes());
    let plain = String::from_utf8_lossy(&plain);
    let kept = plain.chars().filter_map(|c| match c {
        '\t' | '\n' | '\r' => Some(' '),
        c if c.is_control() || is_invisible(c) => None,
        c => Some(c),
    });
    match charset {
        Charset::Unicode => kept.collect(),
        Charset::Ascii => kept.fold(String::new(), |text, c| text + ascii(c).encode_utf8(&mut [0; 4])),
    }
}

fn ascii(c: char) -> char {
    match c {
        c if c.is_ascii() => c,
        '\u{2018}' | '\u{2019}' => '\'',
        '\u{201c}' | '\u{201d}' => '"',
        '\u{2010}'..='\u{2015}' => '-',
        _ => '?',
    }
}

/// Whether a character is a direction mark, a joiner or another character of zero width that does not combine
/// with the previous one.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The most columns that `text` takes. Terminals differ, so the wider value counts.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

fn columns(c: char) -> usize {
    if c == EMOJI_SELECTOR { 1 } else { c.width().unwrap_or(0) }
}

/// The beginning of `text` that fits into `most` columns. A cut text ends with a sign.
pub(crate) fn clip(text: &str, most: usize, charset: Charset) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let sign = match charset {
        Charset::Unicode => "…",
        Charset::Ascii => "..",
    };
    match most.checked_sub(width(sign)) {
        Some(room) => beginning(text, room) + sign,
        None => beginning(text, most),
    }
}

/// `text` in lines of at most `most` columns, broken at spaces. The first line begins with `first`, the
/// others with `rest`. A word that is wider than a line is not broken, because it may be an id or a command.
pub(crate) fn wrapped(text: &str, first: &str, rest: &str, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut is_fresh = true;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if !is_fresh && width(&line).saturating_add(width(word)).saturating_add(1) > most {
            lines.push(std::mem::replace(&mut line, rest.to_owned()));
            is_fresh = true;
        }
        if !is_fresh {
            line.push(' ');
        }
        line.push_str(word);
        is_fresh = false;
    }
    lines.push(line);
    lines
}

/// A text of several lines, such as a question, for a terminal of this width. A wider line is broken at
/// spaces, and its continuation has the same indentation. Without a width, the text is unchanged.
pub(crate) fn prose(text: &str, columns: Option<usize>) -> String {
    let Some(most) = columns else { return text.to_owned() };
    let line = |line: &str| {
        if width(line) <= most {
            return line.to_owned();
        }
        let indent = " ".repeat(line.len().saturating_sub(line.trim_start_matches(' ').len()));
        wrapped(line, &indent, &indent, most).join("\n")
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn beginning(text: &str, room: usize) -> String {
    let mut taken = 0_usize;
    let fits = |c: &char| {
        taken = taken.saturating_add(columns(*c));
        taken <= room
    };
    text.chars().take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_shown() {
        for (text, unicode, ascii) in [
            ("\x1b[31mred\x1b[0m \x07bell", "red bell", "red bell"),
            ("\x1b]0;title\x07a\tb\r\nc", "a b  c", "a b  c"),
            ("\u{9b}31mC1 \u{202e}turned\u{2066}", "31mC1 turned", "31mC1 turned"),
            ("na\u{301}me — “日本”", "na\u{301}me — “日本”", "na?me - \"??\""),
            ("\x1b[", "", ""),
        ] {
            assert_eq!(shown(text, Charset::Unicode), unicode, "{text:?}");
            assert_eq!(shown(text, Charset::Ascii), ascii, "{text:?}");
        }
    }

    #[test]
    fn a_text_is_broken_at_its_words() {
        for (text, most, expected) in [
            ("one two three", 20, &["- one two three"][..]),
            ("one two three", 10, &["- one two", "  three"]),
            ("日本 日本", 6, &["- 日本", "  日本"]),
            ("a-word-that-is-wide b", 10, &["- a-word-that-is-wide", "  b"]),
            ("", 10, &["- "]),
        ] {
            assert_eq!(wrapped(text, "- ", "  ", most), expected, "{text} in {most}");
        }
    }

    #[test]
    fn a_question_is_broken_at_its_words_and_keeps_its_lines() {
        let text = "one two three\n  - four five six\n\nseven";
        for (columns, expected) in
            [(None, text), (Some(17), text), (Some(9), "one two\nthree\n  - four\n  five\n  six\n\nseven")]
        {
            assert_eq!(prose(text, columns), expected, "{columns:?}");
        }
    }

    #[test]
    fn wide_and_combining_characters_are_cut_at_their_columns() {
        assert_eq!(width("日本a\u{301}"), 5);
        for (text, most, unicode, ascii) in [
            ("abcdef", 6, "abcdef", "abcdef"),
            ("abcdef", 5, "abcd…", "abc.."),
            ("日本語", 5, "日本…", "日.."),
            ("日本語", 4, "日…", "日.."),
            ("a\u{301}b\u{301}c", 2, "a\u{301}…", ".."),
            ("abc", 1, "…", "a"),
            ("abc", 0, "", ""),
        ] {
            assert_eq!(clip(text, most, Charset::Unicode), unicode, "{text} in {most}");
            assert_eq!(clip(text, most, Charset::Ascii), ascii, "{text} in {most}");
        }
    }
}
