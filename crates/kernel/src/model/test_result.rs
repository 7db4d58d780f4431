//! The line in which a test runner states its result: those of pytest, unittest, cargo, Go, Jest, Vitest,
//! Mocha, PHPUnit, RSpec and similar tools.
//!
//! It is only for display; no decision depends on it.

/// How many non-empty lines from the end of its output are searched for a test runner's result.
const RESULT_WITHIN: usize = 10;
/// A longer line is taken for prose.
const MAX_RESULT_CHARS: usize = 100;

/// The result of a test runner: the counts of TAP, otherwise [`result_line`].
#[must_use]
pub fn result_of(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    counts_of_tap(&lines).or_else(|| result_line(text).map(str::to_owned))
}

/// The line near the end of the text in which a test runner states its result. With several packages, the
/// last failed one counts. A bare word counts only if no other line has more.
#[must_use]
pub fn result_line(text: &str) -> Option<&str> {
    let lines = || {
        let filled = text.lines().map(str::trim).filter(|line| !line.is_empty());
        filled.rev().take(RESULT_WITHIN).map(without_rule)
    };
    let failed = lines().find(|line| is_package(line, "FAIL"));
    failed.or_else(|| lines().find(|line| is_result(line))).or_else(|| lines().find(|line| is_verdict(line)))
}

/// `FAIL  example.com/shop  0.01s`: a line of `go test` for a package. `ok 1 - adds` is a line of TAP
/// instead.
fn is_package(line: &str, verdict: &str) -> bool {
    let rest = line.strip_prefix(verdict).filter(|rest| rest.starts_with(['\t', ' ']));
    rest.is_some_and(|rest| {
        rest.contains(['\t', '.', '/']) && !rest.trim_start().starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Whether the line consists only of the word for a result.
fn is_verdict(line: &str) -> bool {
    matches!(line, "OK" | "PASS" | "FAIL" | "FAILED")
}

/// `=== 3 passed in 0.1s ===` without the `===` rules.
fn without_rule(line: &str) -> &str {
    line.trim_matches(['=', ' '])
}

/// Whether this line states the result of a test runner, with counts.
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

/// The counts of a test runner that writes TAP, such as Node's: `pass 2, fail 1`. If there are no counts,
/// they are computed from the lines.
fn counts_of_tap(lines: &[&str]) -> Option<String> {
    let counted = |word: &str| {
        let of = |line: &&str| {
            let rest = line.strip_prefix(['#', 'ℹ'])?.trim().strip_prefix(word)?;
            let count = rest.strip_prefix(' ')?;
            (!count.is_empty() && count.chars().all(|c| c.is_ascii_digit()))
                .then(|| format!("{word} {count}"))
        };
        lines.iter().rev().find_map(of)
    };
    if let Some((pass, fail)) = counted("pass").zip(counted("fail")) {
        return Some(format!("{pass}, {fail}"));
    }
    let is_plan = |line: &&str| {
        line.strip_prefix("1..")
            .is_some_and(|last| !last.is_empty() && last.chars().all(|c| c.is_ascii_digit()))
    };
    // If the text was cut, some lines are missing.
    let is_whole = !lines.iter().any(|line| line.ends_with("characters omitted] …"));
    if !is_whole || !lines.iter().any(is_plan) {
        return None;
    }
    let count = |word: &str| {
        let numbered = |line: &&&str| {
            line.strip_prefix(word).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        lines.iter().filter(numbered).count()
    };
    Some(format!("{} ok, {} not ok", count("ok "), count("not ok ")))
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
            assert_eq!(result_of(text).as_deref(), expected, "{text:?}");
        }
    }
}
