//! The line in which a test runner states its result: those of pytest, unittest, cargo, Go, Jest, Vitest, Mocha, PHPUnit, RSpec and
//! their likes.
//!
//! It is for people alone: nothing is decided by it.

/// A test runner states its result this near to the end of its output, in lines that are not empty.
const RESULT_WITHIN: usize = 10;
/// A longer line is prose.
const MAX_RESULT_CHARS: usize = 100;

/// The result of a test runner: the counts of TAP, else [`result_line`].
#[must_use]
pub fn result_of(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    counts_of_tap(&lines).or_else(|| result_line(text).map(str::to_owned))
}

/// The line in which a test runner states its result, near to the end of the text. Of several packages the last that failed counts; a
/// bare word counts only where no other line says more.
#[must_use]
pub fn result_line(text: &str) -> Option<&str> {
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

/// What a test runner that writes TAP has counted, such as Node's: `pass 2, fail 1`; without counts, what stands in the lines.
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
    // Of a text that was cut, not all lines are here.
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
