//! Selects the one line of a failure that a view shows: the line with the cause.
//!
//! The error of a failed command is the end of its stderr (contract 4), and hand-offs and events keep that text
//! unchanged. Its first line is often not helpful: Python begins with `Traceback (most recent call last):`. This
//! module owns the choice of the line.

use envoi_contract::code::Code;
use envoi_kernel::{event::AttemptSettled, test_result::result_line};

/// Largest number of characters of a failure line. The middle of a longer line is left out, because the cause is
/// often at its end.
const MAX_CHARS: usize = 300;
/// The number of these characters that are taken from the beginning.
const HEAD_CHARS: usize = 200;

/// The code of errors whose text is the end of a command's stderr.
const OF_STDERR: &str = "TOOL_EXIT_NON_ZERO: ";

/// The reason why this attempt failed, on one line; `None` if it has not failed. The result of a test runner is
/// preferred to the stderr, because it is more precise.
#[must_use]
pub fn of_attempt(settled: &AttemptSettled) -> Option<String> {
    let error = settled.error.as_ref()?;
    let is_exit = settled.has_failed_with(Code::ToolExitNonZero);
    let message = settled.test_result.as_deref().filter(|_| is_exit).unwrap_or(&error.message);
    Some(failure(&format!("{}: {message}", error.code)))
}

/// The error of a hand-off on one line. `attempt` is the line of its last attempt, which is used instead if that
/// attempt ended with an exit code.
#[must_use]
pub fn of_handoff(error: &str, attempt: Option<&str>) -> String {
    let is_exit = |line: &&str| error.starts_with(OF_STDERR) && line.starts_with(OF_STDERR);
    attempt.filter(is_exit).map_or_else(|| failure(error), str::to_owned)
}

/// Formats `CODE: message` on one line of at most 300 characters.
#[must_use]
pub fn failure(sentence: &str) -> String {
    let first = sentence.lines().next().unwrap_or("");
    let is_code = |code: &str| code.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    // The failure of an inner flow contains the code of its step.
    let quoted_from = match (first.find(OF_STDERR), first.split_once(": ")) {
        (Some(at), _) => at.saturating_add(OF_STDERR.len()),
        (None, Some((code, _))) if is_code(code) => code.len().saturating_add(2),
        (None, _) => 0,
    };
    let before = sentence.get(..quoted_from).unwrap_or_default();
    let quoted = sentence.get(quoted_from..).unwrap_or(sentence);
    let line = cause(quoted).unwrap_or_else(|| match before.ends_with(OF_STDERR) {
        true => last_line(quoted),
        false => filled(quoted).next().unwrap_or(""),
    });
    shortened(&format!("{before}{}", line.trim()))
}

/// The line with the cause, if the text has the form of a known program's output.
fn cause(text: &str) -> Option<&str> {
    result_line(text)
        .or_else(|| exception_of_python(text))
        .or_else(|| exception_with_stack(text))
        .or_else(|| error_line(text))
}

/// The lines that are not blank.
fn filled(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty())
}

fn is_indented(line: &str) -> bool {
    line.starts_with([' ', '\t'])
}

/// The line after the last location of a traceback. The beginning of the traceback may be missing, because an error
/// has only the end of stderr.
fn exception_of_python(text: &str) -> Option<&str> {
    let is_place = |line: &str| line.trim_start().starts_with("File \"") && line.contains("\", line ");
    let lines: Vec<&str> = filled(text).collect();
    let place = lines.iter().rposition(|line| is_place(line))?;
    lines.into_iter().skip(place.saturating_add(1)).find(|line| !is_indented(line))
}

/// The line before the locations of a stack trace, as Node and Java write it, or the line after `panicked at`.
fn exception_with_stack(text: &str) -> Option<&str> {
    let lines: Vec<&str> = filled(text).collect();
    if let Some(at) = lines.iter().position(|line| line.contains(" panicked at ") && line.ends_with(':')) {
        return lines.get(at.saturating_add(1)).copied();
    }
    let is_place = |line: &str| is_indented(line) && line.trim_start().starts_with("at ");
    let place = lines.iter().position(|line| is_place(line))?;
    let above = || lines.iter().take(place).rev().copied();
    let names_an_error = |line: &&str| {
        let name = line.split_once([':', ' ']).map_or(*line, |(first, _)| first);
        !is_indented(line) && (name.ends_with("Error") || name.ends_with("Exception"))
    };
    let of_java = lines.iter().rev().copied().find(|line| line.starts_with("Caused by: "));
    of_java.or_else(|| above().find(names_an_error)).or_else(|| above().next())
}

/// The first line that a program marks as an error.
fn error_line(text: &str) -> Option<&str> {
    let is_marked = |line: &&str| {
        let lower = line.to_ascii_lowercase();
        ["error:", "error[", "fatal:", "panic:", "fatal error:"].iter().any(|sign| lower.starts_with(sign))
            || lower.contains(": error: ")
            || lower.contains(" fatal error: ")
    };
    filled(text).find(is_marked)
}

/// The last line that is not indented, except the line in which `make` says that an earlier command failed.
fn last_line(text: &str) -> &str {
    let is_of_make = |line: &str| line.starts_with("make") && line.contains(": *** ");
    let found = filled(text).rev().find(|line| !is_indented(line) && !is_of_make(line));
    found.or_else(|| filled(text).next_back()).unwrap_or_default()
}

/// At most [`MAX_CHARS`] of a line, from its beginning and its end.
fn shortened(line: &str) -> String {
    let line = line.chars().map(|c| if c == '\t' { ' ' } else { c });
    let printable: Vec<char> = line.filter(|c| !c.is_control()).collect();
    if printable.len() <= MAX_CHARS {
        return printable.into_iter().collect();
    }
    let tail = printable.len().saturating_sub(MAX_CHARS.saturating_sub(HEAD_CHARS).saturating_sub(3));
    let head = printable.iter().take(HEAD_CHARS);
    head.chain(&[' ', '…', ' ']).chain(printable.iter().skip(tail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_tells_the_cause_is_shown() {
        for (stderr, expected) in [
            ("exit code 3", "exit code 3"),
            ("cp: cannot stat 'missing'", "cp: cannot stat 'missing'"),
            ("warning: old\nrm: cannot remove 'x'", "rm: cannot remove 'x'"),
            (
                "Traceback (most recent call last):\n  File \"/w/a.py\", line 2, in <module>\n    main()\n    ~~~~^^\n  \
                 File \"/w/a.py\", line 1, in main\n    int(\"x\")\nValueError: invalid literal",
                "ValueError: invalid literal",
            ),
            (
                "  File \"/w/a.py\", line 9, in f\n    g()\nKeyError: 'PRICE'\nsecond line of the message",
                "KeyError: 'PRICE'",
            ),
            (
                "File \"/w/a.py\", line 1\n    f(\n     ^\nSyntaxError: '(' was never closed",
                "SyntaxError: '(' was never closed",
            ),
            (
                "F\n=====\nTraceback (most recent call last):\n  File \"t.py\", line 3, in test\nAssertionError: 1 != 2\n\n\
                 -----\nRan 1 test in 0.000s\n\nFAILED (failures=1)",
                "FAILED (failures=1)",
            ),
            (
                "/w/a.js:1\nthrow new Error(\"no price\")\n^\n\nError: no price\n    at Object.<anonymous> (/w/a.js:1:7)\n    at x\n\nNode.js v20.1.0",
                "Error: no price",
            ),
            (
                "node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\n\nError: Cannot find module '/w/b.js'\nRequire stack:\n- /w/a.js\n    at f (x:1:2) {\n  code: 'MODULE_NOT_FOUND'\n}\n\nNode.js v20.1.0",
                "Error: Cannot find module '/w/b.js'",
            ),
            (
                "Exception in thread \"main\" java.lang.RuntimeException: no\n\tat A.main(A.java:3)\nCaused by: java.io.IOException: disk\n\t... 1 more",
                "Caused by: java.io.IOException: disk",
            ),
            (
                "thread 'main' panicked at src/main.rs:2:5:\nno price\nnote: run with `RUST_BACKTRACE=1`",
                "no price",
            ),
            (
                "panic: no price\n\ngoroutine 1 [running]:\nmain.main()\n\t/w/a.go:4\nexit status 2",
                "panic: no price",
            ),
            (
                "warning: unused\n --> a.rs:1\nerror[E0308]: mismatched types\n --> a.rs:2\nerror: could not compile",
                "error[E0308]: mismatched types",
            ),
            (
                "a.c: In function 'main':\na.c:3:5: error: 'x' undeclared\n    3 | x",
                "a.c:3:5: error: 'x' undeclared",
            ),
            ("usage: tool [-h]\ntool: error: an argument is missing", "tool: error: an argument is missing"),
            (
                "x.rb:1:in 'f': no price (RuntimeError)\n\tfrom x.rb:2:in '<main>'",
                "x.rb:1:in 'f': no price (RuntimeError)",
            ),
            (
                "cc: no input\nmake[1]: *** [Makefile:2: all] Error 1\nmake: *** [Makefile:1: x] Error 2",
                "cc: no input",
            ),
        ] {
            let sentence = format!("TOOL_EXIT_NON_ZERO: {stderr}");
            assert_eq!(failure(&sentence), format!("TOOL_EXIT_NON_ZERO: {expected}"), "{stderr}");
        }
    }

    #[test]
    fn other_codes_tell_their_first_line_and_an_inner_flow_the_cause_of_its_step() {
        assert_eq!(failure("OUTPUT_INVALID: no `total`\nfound: {}"), "OUTPUT_INVALID: no `total`");
        assert_eq!(failure("plain words\nmore"), "plain words");
        assert_eq!(failure(""), "");
        let inner = "SUBFLOW_FAILED: Step `b` failed: TOOL_EXIT_NON_ZERO: Traceback (most recent call last):\n  File \"a\", line 1\nOSError: full";
        assert_eq!(failure(inner), "SUBFLOW_FAILED: Step `b` failed: TOOL_EXIT_NON_ZERO: OSError: full");
    }

    #[test]
    fn a_long_failure_keeps_its_beginning_and_its_end() {
        let long = format!("DATA_INVALID: {} the cause", "x".repeat(500));
        let told = failure(&long);
        assert_eq!(told.chars().count(), 300);
        assert!(told.starts_with("DATA_INVALID: xxx") && told.ends_with("xx the cause"), "{told}");
    }
}
