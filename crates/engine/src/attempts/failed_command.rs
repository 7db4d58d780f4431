//! Which command of a script of bash failed.
//!
//! The script gets a trap that writes the line, the command and the exit codes of its pipeline into the attempt's folder; the output of
//! the script, and its exit code, are the same as without it. Only bash has such a trap: a script of `sh` gives nothing, nor does a
//! command within a function. No shell reports a false condition in the last line; that is derived from the script.

use envoi_kernel::{
    event::{Command, Outcome},
    input::AttemptResult,
};
use envoi_step::{AttemptDir, plain};
use std::path::PathBuf;

/// How a script of bash is run that stops at its first command that fails.
const BASH: [&str; 4] = ["bash", "-eo", "pipefail", "-c"];

/// Much more than a line of a script.
const MOST_BYTES: u64 = 16 * 1024;

/// The most characters of the command that are shown.
const MOST_CHARS: usize = 100;

/// Begins the line with the exit codes of a pipeline.
const PIPELINE: &str = "pipeline ";

fn place(dir: &AttemptDir) -> PathBuf {
    dir.path().join("failed-command.txt")
}

/// The command line, with the trap if it is a script of several lines that can have one. Lines keep their numbers.
pub(super) fn watched(argv: &[String], dir: &AttemptDir) -> Vec<String> {
    let mut argv = argv.to_vec();
    let path = place(dir);
    let path = path.to_str().filter(|path| is_plain(path));
    let is_script = argv.iter().zip(BASH).all(|(word, expected)| word == expected);
    if let (true, Some(path), Some(script)) = (is_script, path, argv.get_mut(BASH.len()))
        && script.contains('\n')
    {
        // After `set +e` a command that fails ends nothing. After `set -x` bash writes each command to stderr, also those of a trap: the
        // whole trap has its stderr elsewhere, so that the last line there is the command's own.
        let note = format!(
            r#"printf "{PIPELINE}%s\n%s %s\n" "${{PIPESTATUS[*]}}" "$LINENO" "$BASH_COMMAND" >"{path}""#
        );
        *script = format!("trap '{{ case $- in *e*) {note};; esac; }} 2>/dev/null' ERR; {script}");
    }
    argv
}

/// Whether the path means itself within quotes.
fn is_plain(path: &str) -> bool {
    path.chars().all(|c| c.is_alphanumeric() || "/._-+@ ".contains(c))
}

/// The place at which the script failed, as far as it is known, in a sentence.
pub(super) fn sentence(dir: &AttemptDir, command: &Command, result: &AttemptResult) -> Option<String> {
    let script = script_of(command);
    noted(dir, script).or_else(|| {
        let is_silent = result.stderr_tail.trim().is_empty();
        let is_one = matches!(result.outcome, Outcome::Exited { code: 1 });
        false_condition(script.filter(|_| is_silent && is_one)?)
    })
}

/// The script that a shell is given as its last option.
fn script_of(command: &Command) -> Option<&str> {
    match command {
        Command::Exec(argv) => {
            let at = argv.iter().position(|word| word == "-c")?;
            argv.get(at.saturating_add(1)).map(String::as_str)
        }
        Command::Shell(script) => Some(script),
        Command::Agent(_) | Command::A2a(_) | Command::Model(_) | Command::Merge(_) => None,
    }
}

/// The contents that the trap has written.
fn noted(dir: &AttemptDir, script: Option<&str>) -> Option<String> {
    let bytes = plain::read(&place(dir), MOST_BYTES).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines();
    let mut first = lines.next()?;
    let mut codes = Vec::new();
    // A trap of an earlier build wrote no codes.
    if let Some(rest) = first.strip_prefix(PIPELINE) {
        codes = rest.split(' ').collect();
        first = lines.next()?;
    }
    let (line, command) = first.split_once(' ')?;
    let line: usize = line.parse().ok()?;
    if codes.len() < 2 {
        return Some(format!("line {line} of the script failed: `{}`", shown(command)));
    }
    // Bash names the last command of a pipeline, whichever of them failed.
    let source = script.and_then(|script| script.lines().nth(line.saturating_sub(1)));
    let source = source.map_or_else(String::new, |source| format!(": `{}`", shown(source.trim())));
    Some(format!(
        "line {line} of the script failed{source} (exit codes of its pipeline: {})",
        codes.join(", ")
    ))
}

/// The last line of a script, if its exit code is that of a condition and nothing was printed: a shell does not stop at such a line, and
/// does not report it.
fn false_condition(script: &str) -> Option<String> {
    let filled = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let last = script.lines().rfind(filled)?.trim();
    let (condition, _) = last.split_once(" && ")?;
    let is_test = ["[ ", "[[ ", "test ", "! "].iter().any(|begin| condition.starts_with(begin));
    (is_test && !last.contains(" || ")).then(|| {
        format!("the last line of the script has exit code 1 if its condition is false: `{}`; `if … then … fi` has 0", shown(last))
    })
}

fn shown(command: &str) -> String {
    let shown: String = command.chars().filter(|c| !c.is_control()).take(MOST_CHARS).collect();
    let rest = if shown.len() < command.len() { "…" } else { "" };
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(argv: &[&str]) -> Vec<String> {
        argv.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_failed_pipeline_is_named_by_its_line_and_all_its_exit_codes() {
        let folder = tempfile::tempdir().unwrap();
        let dir = AttemptDir::new(folder.path());
        for (noted_text, expected) in [
            (
                "pipeline 1 0\n2 cat\n",
                "line 2 of the script failed: `false | cat` (exit codes of its pipeline: 1, 0)",
            ),
            ("pipeline 1\n2 cp a b\n", "line 2 of the script failed: `cp a b`"),
            ("2 cp a b\n", "line 2 of the script failed: `cp a b`"),
        ] {
            std::fs::write(place(&dir), noted_text).unwrap();
            assert_eq!(
                noted(&dir, Some("echo a\n  false | cat\n")).as_deref(),
                Some(expected),
                "{noted_text:?}"
            );
        }
    }

    /// The trap notes the command, and bash's trace of the trap itself is not in stderr.
    #[test]
    fn a_trace_of_the_script_has_nothing_of_the_trap() {
        let folder = tempfile::tempdir().unwrap();
        let dir = AttemptDir::new(folder.path());
        let script = "set -x\necho a\ntrue | (exit 3)\n";
        let argv = watched(&words(&["bash", "-eo", "pipefail", "-c", script]), &dir);
        let (program, rest) = argv.split_first().unwrap();
        let ended = std::process::Command::new(program).args(rest).output().unwrap();
        assert_eq!(ended.status.code(), Some(3));
        let mut traced: Vec<&str> = std::str::from_utf8(&ended.stderr).unwrap().lines().collect();
        traced.sort_unstable();
        assert_eq!(traced, ["+ echo a", "+ exit 3", "+ true"]);
        assert_eq!(
            noted(&dir, Some(script)).as_deref(),
            Some("line 3 of the script failed: `true | (exit 3)` (exit codes of its pipeline: 0, 3)")
        );
    }

    #[test]
    fn a_condition_in_the_last_line_is_named() {
        for (script, is_named) in [
            ("echo a\n[ -n \"$X\" ] && cp a b\n", true),
            ("[[ $X ]] && cp a b\n# done\n", true),
            ("[ -n \"$X\" ] && cp a b || true", false),
            ("[ -n \"$X\" ] && cp a b\nexit 1", false),
            ("make && cp a b", false),
        ] {
            assert_eq!(false_condition(script).is_some(), is_named, "{script}");
        }
    }

    #[test]
    fn only_a_script_of_bash_with_several_lines_is_watched() {
        let dir = AttemptDir::new("/runs/a.1.1");
        let watched_script = |argv: &[&str]| watched(&words(argv), &dir) != words(argv);
        for (argv, expected) in [
            (&["bash", "-eo", "pipefail", "-c", "a\nb"][..], true),
            (&["bash", "-eo", "pipefail", "-c", "a\nb", "bash", "a value"], true),
            (&["bash", "-eo", "pipefail", "-c", "a; b"], false),
            (&["sh", "-e", "-c", "a\nb"], false),
            (&["bash", "-c", "a\nb"], false),
            (&["bash", "-eo", "pipefail", "-c"], false),
            (&["make"], false),
        ] {
            assert_eq!(watched_script(argv), expected, "{argv:?}");
        }
        let odd = AttemptDir::new("/runs/$(x)/a.1.1");
        let argv = words(&["bash", "-eo", "pipefail", "-c", "a\nb"]);
        assert_eq!(watched(&argv, &odd), argv, "a path that a shell would read otherwise");
    }
}
