//! Which command of a script of bash failed.
//!
//! The script gets a trap that writes the line and the command into the attempt's folder; what the script prints, and its exit code, are
//! what they are without it. Only bash has such a trap: of a script of `sh` it is not known, nor of a command within a function.

use envoi_step::{AttemptDir, plain};
use std::path::PathBuf;

/// How a script of bash is run that stops at its first command that fails.
const BASH: [&str; 4] = ["bash", "-eo", "pipefail", "-c"];

/// Much more than a line of a script.
const MOST_BYTES: u64 = 16 * 1024;

/// The most characters of the command that are shown.
const MOST_CHARS: usize = 100;

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
        // After `set +e` a command that fails ends nothing.
        let note = format!(r#"{{ printf "%s %s\n" "$LINENO" "$BASH_COMMAND" >"{path}"; }} 2>/dev/null"#);
        *script = format!("trap 'case $- in *e*) {note};; esac' ERR; {script}");
    }
    argv
}

/// Whether the path means itself within quotes.
fn is_plain(path: &str) -> bool {
    path.chars().all(|c| c.is_alphanumeric() || "/._-+@ ".contains(c))
}

/// What the trap has written, in a sentence.
pub(super) fn sentence(dir: &AttemptDir) -> Option<String> {
    let bytes = plain::read(&place(dir), MOST_BYTES).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let (line, command) = text.lines().next()?.split_once(' ')?;
    let line: u32 = line.parse().ok()?;
    let shown: String = command.chars().filter(|c| !c.is_control()).take(MOST_CHARS).collect();
    let rest = if shown.len() < command.len() { "…" } else { "" };
    Some(format!("line {line} of the script failed: `{shown}{rest}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(argv: &[&str]) -> Vec<String> {
        argv.iter().map(|word| (*word).to_owned()).collect()
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
