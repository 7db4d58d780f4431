//! Selects the one line of a step's result that a view shows.
//!
//! The first available one of these: `headline` or `summary` in the step's data, the result line of a test runner in
//! the step's text or else in its stderr, the first Markdown heading, the first line. It is only for people; the
//! `summary` of a hand-off is not changed by it.

use crate::words::head;
use envoi_contract::json::Value;
use envoi_kernel::{event::AttemptSettled, test_result::result_of};

/// The data of an attempt for the headline, besides its text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// The words of its data.
    words: Option<String>,
    /// The result of a test runner on its stderr.
    result: Option<String>,
}

impl Sources {
    /// The sources from a finished attempt.
    #[must_use]
    pub fn of(settled: &AttemptSettled) -> Self {
        Self {
            words: words_of(&settled.data),
            result: settled.test_result.clone().filter(|_| settled.error.is_none()),
        }
    }
}

fn words_of(data: &Value) -> Option<String> {
    let words = |name| data.get(name).and_then(Value::as_str).map(head).filter(|words| !words.is_empty());
    words("headline").or_else(|| words("summary"))
}

/// The headline of a step's text, at most 100 characters. `sources` are those of its last attempt.
#[must_use]
pub fn headline(text: &str, sources: &Sources) -> String {
    sources.words.clone().unwrap_or_else(|| of_text(text, sources.result.as_deref()))
}

fn of_text(text: &str, on_stderr: Option<&str>) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let filled = || lines.iter().copied().filter(|line| !line.is_empty());
    if let Some(result) = result_of(text) {
        return head(&result);
    }
    let found = on_stderr
        .or_else(|| heading(&lines))
        .or_else(|| filled().rev().find(|_| begins_with_progress(&lines)));
    found.map_or_else(|| head(text), head)
}

/// The first heading outside of code, if blank lines surround it as in Markdown. A comment in a script is not a
/// heading.
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

/// True if the first line is progress output of a test runner, such as `..F.`.
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
            (
                "--- FAIL: TestAdd (0.00s)\n    a_test.go:7: got 3\nFAIL\nFAIL\texample.com/shop\t0.002s\nok  \texample.com/web\t0.001s\nFAIL\n",
                "FAIL example.com/shop 0.002s",
            ),
            ("PASS\nok  \texample.com/shop\t0.002s\n", "ok   example.com/shop 0.002s"),
            ("PASS\nok      shop/rates     0.002s\n", "ok      shop/rates     0.002s"),
            ("--- FAIL: TestAdd (0.00s)\nFAIL\nexit status 1\n", "FAIL"),
            ("3 examples, 1 failure\n", "3 examples, 1 failure"),
            (
                "TAP version 13\n# Subtest: adds\nok 1 - adds\nnot ok 2 - takes\n1..2\n# tests 2\n# suites 0\n# pass 1\n# fail 1\n# skipped 0\n# duration_ms 50\n",
                "pass 1, fail 1",
            ),
            ("✔ adds (1ms)\nℹ tests 1\nℹ pass 1\nℹ fail 0\nℹ duration_ms 50\n", "pass 1, fail 0"),
            ("1..3\nok 1 - adds\nnot ok 2 - takes\nok 3\n", "2 ok, 1 not ok"),
            ("..F\nsomething else", "something else"),
            ("Here is the review.\n\n## **Two findings** ##\n\nThe first …", "Two findings"),
            ("# Release 1.2\nAll is well.", "Release 1.2"),
            ("#!/bin/sh\necho hi\n# a comment\necho", "#!/bin/sh"),
            ("Run this:\n\n```sh\n\n# build\n\nmake\n```\n", "Run this:"),
            ("Fixed the rounding.\nNow all 12 tests are green: 12 passed.", "Fixed the rounding."),
        ] {
            assert_eq!(headline(text, &Sources::default()), expected, "{text:?}");
        }
    }

    #[test]
    fn the_words_of_the_data_come_first() {
        let of = |data| {
            let words = words_of(&Value::parse_str(data).unwrap());
            headline("# Title\n\n3 passed", &Sources { words, result: Some("OK".to_owned()) })
        };
        assert_eq!(of(r#"{"headline": "two\nlines", "summary": "s"}"#), "two");
        assert_eq!(of(r#"{"headline": " ", "summary": "s"}"#), "s");
        assert_eq!(of(r#"{"headline": 7}"#), "3 passed");
        assert_eq!(of("[]"), "3 passed");
    }

    #[test]
    fn a_result_on_stderr_comes_after_one_in_the_text_and_before_everything_else() {
        let of =
            |text| headline(text, &Sources { words: None, result: Some("FAILED (failures=1)".to_owned()) });
        for (text, expected) in [
            ("", "FAILED (failures=1)"),
            ("printed by a test\n", "FAILED (failures=1)"),
            ("# Title\n\nwords\n", "FAILED (failures=1)"),
            ("=== 3 passed in 0.1s ===\n", "3 passed in 0.1s"),
        ] {
            assert_eq!(of(text), expected, "{text:?}");
        }
    }
}
