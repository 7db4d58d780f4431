//! The one line that a view shows of what a step came to.
//!
//! The first of these that there is: the words of the step's data (`headline`, else `summary`), the result line of a test runner,
//! the first heading of Markdown, the first line. It is for people alone: a hand-off's `summary` is not changed by it.

use crate::words::head;
use envoi_contract::json::Value;

/// A test runner states its result this near to the end of its output, in lines that are not empty.
const RESULT_WITHIN: usize = 10;
/// A longer line is prose.
const MAX_RESULT_CHARS: usize = 100;

/// The words for it in a step's data, if there are any.
#[must_use]
pub fn words_of(data: &Value) -> Option<String> {
    let words = |name| data.get(name).and_then(Value::as_str).map(head).filter(|words| !words.is_empty());
    words("headline").or_else(|| words("summary"))
}

/// The headline of a step's text, at most 100 characters; `words` are those of its data.
#[must_use]
pub fn headline(text: &str, words: Option<String>) -> String {
    words.unwrap_or_else(|| of_text(text))
}

fn of_text(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let filled = || lines.iter().copied().filter(|line| !line.is_empty());
    let result = filled().rev().take(RESULT_WITHIN).map(without_rule).find(|line| is_result(line));
    let found =
        result.or_else(|| heading(&lines)).or_else(|| filled().rev().find(|_| begins_with_progress(&lines)));
    found.map_or_else(|| head(text), head)
}

/// `=== 3 passed in 0.1s ===` without its rule.
fn without_rule(line: &str) -> &str {
    line.trim_matches(['=', ' '])
}

/// Whether a test runner says its result in this line: those of pytest, unittest, cargo, Go, Jest, Vitest, Mocha, PHPUnit and
/// their likes.
fn is_result(line: &str) -> bool {
    if line.chars().count() > MAX_RESULT_CHARS || line.ends_with('.') {
        return false;
    }
    let is_verdict = matches!(line, "OK" | "PASS" | "FAIL" | "FAILED")
        || ["OK (", "FAILED (", "test result: ", "ok  \t", "FAIL\t"]
            .iter()
            .any(|sign| line.starts_with(sign));
    let words: Vec<&str> =
        line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let counts = |pair: &[&str]| {
        let [count, word] = pair else { return false };
        count.chars().all(|c| c.is_ascii_digit())
            && matches!(*word, "passed" | "failed" | "passing" | "failing" | "failures" | "errors")
    };
    is_verdict || words.windows(2).any(counts)
}

/// The first heading outside of code, if it stands apart as one does in Markdown: a comment of a script does not.
fn heading<'t>(lines: &[&'t str]) -> Option<&'t str> {
    let is_blank = |at: Option<usize>| at.is_none_or(|at| lines.get(at).is_none_or(|line| line.is_empty()));
    let mut in_code = false;
    lines.iter().enumerate().find_map(|(at, line)| {
        in_code ^= line.starts_with("```");
        let words = line.trim_start_matches('#');
        let level = line.len().saturating_sub(words.len());
        let stands_apart = is_blank(at.checked_sub(1)) && (at == 0 || is_blank(at.checked_add(1)));
        let is_heading = (1..=6).contains(&level) && words.starts_with(' ') && stands_apart && !in_code;
        let words = words.trim_end_matches('#').trim().trim_matches('*');
        (is_heading && !words.is_empty()).then_some(words)
    })
}

/// Whether the first line is what a test runner writes while it works, such as `..F.`.
fn begins_with_progress(lines: &[&str]) -> bool {
    let first = lines.iter().find(|line| !line.is_empty());
    first.is_some_and(|line| line.chars().all(|c| matches!(c, '.' | 'F' | 'E' | 's' | 'x')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_says_most_is_the_headline() {
        for (text, expected) in [
            ("", ""),
            ("\n  Changed rates.py\nand more", "Changed rates.py"),
            (
                "F..\n======\nFAIL: test_add\n------\nRan 3 tests in 0.001s\n\nFAILED (failures=1)\n",
                "FAILED (failures=1)",
            ),
            ("...\n------\nRan 3 tests in 0.001s\n\nOK\n", "OK"),
            (
                "== test session starts ==\na.py F\n=== 1 failed, 2 passed in 0.12s ===",
                "1 failed, 2 passed in 0.12s",
            ),
            (
                "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; finished in 0.01s\n",
                "test result: ok. 1 passed; 0 failed; finished in 0.01s",
            ),
            ("  a\n    ✔ adds\n\n  5 passing (10ms)\n", "5 passing (10ms)"),
            (
                "Tests:       1 failed, 5 passed, 6 total\nTime: 1 s",
                "Tests:       1 failed, 5 passed, 6 total",
            ),
            ("..F\nsomething else", "something else"),
            ("Here is the review.\n\n## **Two findings** ##\n\nThe first …", "Two findings"),
            ("# Release 1.2\nAll is well.", "Release 1.2"),
            ("#!/bin/sh\necho hi\n# a comment\necho", "#!/bin/sh"),
            ("Run this:\n\n```sh\n\n# build\n\nmake\n```\n", "Run this:"),
            ("Fixed the rounding.\nNow all 12 tests are green: 12 passed.", "Fixed the rounding."),
        ] {
            assert_eq!(headline(text, None), expected, "{text:?}");
        }
    }

    #[test]
    fn the_words_of_the_data_come_first() {
        let of = |data| headline("# Title\n\n3 passed", words_of(&Value::parse_str(data).unwrap()));
        assert_eq!(of(r#"{"headline": "two\nlines", "summary": "s"}"#), "two");
        assert_eq!(of(r#"{"headline": " ", "summary": "s"}"#), "s");
        assert_eq!(of(r#"{"headline": 7}"#), "3 passed");
        assert_eq!(of("[]"), "3 passed");
    }
}
