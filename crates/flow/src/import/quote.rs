//! Writes texts as YAML.
//!
//! Owns the quoting. Our reader, and any reader of YAML 1.2, reads back the same text as a string.

/// The text on one line: plain if it is unambiguous, else in double quotes.
pub(super) fn inline(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

/// The text below its key or dash, whose column is `indent`: a literal block if it has several lines that need no
/// escapes.
pub(super) fn block(text: &str, indent: usize) -> String {
    if !stands_in_a_block(text) {
        return inline(text);
    }
    let margin = " ".repeat(indent.saturating_add(2));
    let (body, chomping) = match text.strip_suffix('\n') {
        Some(body) => (body, ""),
        None => (text, "-"),
    };
    let line = |line: &str| if line.is_empty() { String::new() } else { format!("{margin}{line}") };
    let lines: Vec<String> = body.split('\n').map(line).collect();
    format!("|{chomping}\n{}", lines.join("\n"))
}

/// A comment of one line. Line breaks and characters that cannot be shown are escaped.
pub(super) fn comment(line: &str) -> String {
    let mut shown = String::from("#");
    let line = line.trim_end();
    if !line.is_empty() {
        shown.push(' ');
    }
    for letter in line.chars() {
        if letter != '\t' && !is_printable(letter) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Words that some reader takes for a boolean or null.
const WORDS: &[&str] = &["true", "false", "yes", "no", "on", "off", "y", "n", "null"];

fn is_plain(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/'))
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

/// True if a text can be a literal block: several lines, a first line without leading white space, at most one line
/// break at the end, and no character that needs an escape.
fn stands_in_a_block(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    body.contains('\n')
        && !body.starts_with([' ', '\t', '\n'])
        && !body.ends_with('\n')
        && !body.split('\n').any(|line| line.ends_with([' ', '\t']))
        && body.chars().all(|letter| letter == '\n' || letter == '\t' || is_printable(letter))
}

/// True for characters that YAML allows unescaped: no control characters, no other line breaks, no byte order mark,
/// and no invisible characters that change the text direction.
fn is_printable(letter: char) -> bool {
    !letter.is_control()
        && !matches!(
            letter,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len().saturating_add(2));
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            _ if is_printable(letter) => out.push(letter),
            _ if u32::from(letter) <= 0xffff => out.push_str(&format!("\\u{:04x}", u32::from(letter))),
            _ => out.push_str(&format!("\\U{:08x}", u32::from(letter))),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{diagnostic::Problems, read, yaml};
    use proptest::prelude::*;

    /// The texts of a list, as the reader reads them.
    fn read_back(text: &str) -> Vec<String> {
        let mut problems = Problems::default();
        let node = yaml::compose(text, &mut problems);
        assert!(problems.is_empty(), "{problems:?}\n{text}");
        match node.map(|node| node.kind) {
            Some(yaml::Kind::Mapping(members)) => members
                .iter()
                .flat_map(|(_, node)| match &node.kind {
                    yaml::Kind::Sequence(items) => items.clone(),
                    _ => vec![node.clone()],
                })
                .map(|item| read::as_text(&item).unwrap_or("(no text)").to_owned())
                .collect(),
            other => panic!("{other:?}\n{text}"),
        }
    }

    fn comes_back(texts: &[String]) {
        let inlines: Vec<String> = texts.iter().map(|text| inline(text)).collect();
        let blocks: String = texts.iter().map(|text| format!("    - {}\n", block(text, 4))).collect();
        let comments: String = texts.iter().map(|text| format!("{}\n", comment(text))).collect();
        let first = texts.first().map(|text| block(text, 0)).unwrap_or_default();
        let file = format!(
            "{comments}a: [{}]\n{comments}b:\n{blocks}{comments}c: {first}\n{comments}",
            inlines.join(", ")
        );
        let expected: Vec<String> = texts.iter().chain(texts).chain(texts.first()).cloned().collect();
        assert_eq!(read_back(&file), expected, "{file}");
    }

    #[test]
    fn texts_that_mean_something_to_yaml_come_back_as_texts() {
        let rows = [
            "",
            " ",
            "\n",
            "\n\n",
            "a\n",
            "a\nb",
            "a\nb\n",
            "a\nb\n\n",
            " a\nb",
            "\ta\nb",
            "a\n  b\n c",
            "a\n\n\nb",
            "a \nb",
            "a\tb\nc",
            "true",
            "No",
            "null",
            "~",
            "1",
            "0x1F",
            "- a",
            "-",
            "--- a",
            "...",
            "a: b",
            "a #b\nc # d",
            "#a\n#b",
            "'",
            "\"",
            "\\",
            "%a\nb",
            "@a",
            "`a`",
            "&a",
            "*a",
            "!a",
            "|",
            ">",
            "? a",
            "[a]\n{b}",
            "a\r\nb",
            "a\rb",
            "\0",
            "\u{85}",
            "a\u{2028}b\nc",
            "\u{feff}a\nb",
            "é🦀\n日本",
            "\u{10ffff}",
            "${{ x }}\n${{",
            "---\n...\n",
            "a\n---\nb",
            "a:\n- b: c",
        ];
        for row in rows {
            comes_back(&[row.to_owned()]);
        }
        comes_back(&rows.map(str::to_owned));
    }

    #[test]
    fn several_lines_stand_as_they_are() {
        assert_eq!(block("a: \"b\"\n\n# c\n", 2), "|\n    a: \"b\"\n\n    # c");
        assert_eq!(block("a\nb", 0), "|-\n  a\n  b");
        assert_eq!(block("a", 0), "a");
        assert_eq!(comment("a\u{7}b\r# c"), "# a\\u{7}b\\u{d}# c");
        assert_eq!(comment(""), "#");
    }

    proptest! {
        #[test]
        fn any_texts_come_back(texts in proptest::collection::vec(
            prop_oneof![any::<String>(), "[ -~\n\t\r:#'\"\\\\{}$é\u{85}\u{2028}\u{feff}-]{0,40}", "[a\n -]{0,12}"], 1..5)) {
            comes_back(&texts);
        }
    }
}
