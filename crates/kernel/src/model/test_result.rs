//! The line in which a test runner states its result: those of pytest, unittest, cargo, Go, Jest, Vitest, Mocha, PHPUnit, RSpec and
//! their likes.
//!
//! It is for people alone: nothing is decided by it.

/// A test runner states its result this near to the end of its output, in lines that are not empty.
const RESULT_WITHIN: usize = 10;
/// A longer line is prose.
const MAX_RESULT_CHARS: usize = 100;

/// The line in which a test runner states its result, near to the end of the text. Of several packages the last that failed counts; a
/// bare word counts only where no other line says more.
#[must_use]
pub fn result_of(text: &str) -> Option<&str> {
    let lines = || {
        let filled = text.lines().map(str::trim).filter(|line| !line.is_empty());
        filled.rev().take(RESULT_WITHIN).map(without_rule)
    };
    let failed = lines().find(|line| is_package(line, "FAIL"));
    failed.or_else(|| lines().find(|line| is_result(line))).or_else(|| lines().find(|line| is_verdict(line)))
}

/// `FAIL  example.com/shop  0.01s`: what `go test` writes of a package. `ok 1 - adds` is a line of TAP.
fn is_package(line: &str, verdict: &str) -> bool {
    let rest = line.strip_prefix(verdict).filter(|rest| rest.starts_with(['\t', ' ']));
    rest.is_some_and(|rest| {
        rest.contains(['\t', '.', '/']) && !rest.trim_start().starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Whether the line is nothing but the word for a result.
fn is_verdict(line: &str) -> bool {
    matches!(line, "OK" | "PASS" | "FAIL" | "FAILED")
}

/// `=== 3 passed in 0.1s ===` without its rule.
fn without_rule(line: &str) -> &str {
    line.trim_matches(['=', ' '])
}

/// Whether a test runner says its result in this line, and how much.
fn is_result(line: &str) -> bool {
    if line.chars().count() > MAX_RESULT_CHARS || line.ends_with('.') {
        return false;
    }
    let is_sentence = ["OK (", "FAILED (", "test result: "].iter().any(|sign| line.starts_with(sign))
        || is_package(line, "ok");
    let words: Vec<&str> =
        line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let counts = |pair: &[&str]| {
        let [count, word] = pair else { return false };
        count.chars().all(|c| c.is_ascii_digit())
            && matches!(
                *word,
                "passed" | "failed" | "passing" | "failing" | "failure" | "failures" | "errors"
            )
    };
    is_sentence || words.windows(2).any(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_stands_near_the_end_and_prose_is_none() {
        for (text, expected) in [
            (".F.\n-----\nRan 3 tests in 0.001s\n\nFAILED (failures=1)\n", Some("FAILED (failures=1)")),
            ("-----\nRan 3 tests in 0.001s\n\nOK\n", Some("OK")),
            (
                "PASS ./a.test.js\n\nTest Suites: 1 passed, 1 total\nTests:       3 passed, 3 total\nSnapshots:   0 total\nTime:        0.3 s\nRan all test suites.\n",
                Some("Tests:       3 passed, 3 total"),
            ),
            ("=== 2 passed in 0.1s ===\n", Some("2 passed in 0.1s")),
            ("warning: unused variable\n", None),
            ("All 12 tests are green: 12 passed.\n", None),
            ("", None),
        ] {
            assert_eq!(result_of(text), expected, "{text:?}");
        }
    }
}
