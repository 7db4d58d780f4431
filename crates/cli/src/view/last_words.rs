//! The last lines that a step has written, shown below a question about it. The person who decides needs the
//! critic's text, or the errors of a failed command.
//!
//! Only reads the files of the last attempt. For a run at a server the files are not local, so there are no
//! lines.

use crate::{
    process::invocation,
    text::columns::{Charset, shown},
};
use envoi_kernel::{
    event::{About, InterruptRaised},
    ids::{AttemptId, VisitId},
};
use envoi_step::{AttemptDir, end_of, without_escapes};
use std::path::{Path, PathBuf};

/// How many bytes at the end of each file are read.
const LOOK_BYTES: u64 = 8 * 1024;
/// The most lines of each file.
const MOST_LINES: usize = 8;

/// The last lines of the step that the question is about. `run_base` is the run's folder.
pub(crate) fn last_words(run_base: &Path, raised: &InterruptRaised) -> Vec<String> {
    let is_about_work = match raised.about {
        About::InDoubt
        | About::Exhausted
        | About::Blocked
        | About::Review
        | About::Throttled
        | About::Conflict => true,
        About::Limit | About::Stuck | About::Ask | About::Agent => false,
    };
    let newest = is_about_work.then(|| newest_attempt(run_base, &raised.visit)).flatten();
    let Some((attempt, folder)) = newest else { return Vec::new() };
    let dir = AttemptDir::new(folder);
    let mut lines = Vec::new();
    // The text of an agent program is not its stdout. A lost attempt has no text.
    let text = dir.place_of_text().map(|place| last_lines(&place)).filter(|lines| !lines.is_empty());
    let ending = text.unwrap_or_else(|| last_lines(&dir.stdout()));
    for (what, last) in [("ends its text with", ending), ("ends its stderr with", last_lines(&dir.stderr()))]
    {
        if !last.is_empty() {
            lines.push(format!("  {attempt} {what}:"));
            lines.extend(last.into_iter().map(|line| format!("    {line}")));
        }
    }
    if let Some(run) = run_base.file_name().and_then(|name| name.to_str()).filter(|_| !lines.is_empty()) {
        lines.push(format!("  all of it: {} logs {run} --step {attempt}", invocation::envoi()));
    }
    lines
}

/// The last attempt of a visit, and its folder.
fn newest_attempt(run_base: &Path, visit: &VisitId) -> Option<(AttemptId, PathBuf)> {
    let entries = std::fs::read_dir(run_base.join("attempts")).ok()?.flatten();
    let attempts = entries.filter_map(|entry| {
        let attempt = AttemptId::parse(entry.file_name().to_str()?).ok()?;
        (attempt.visit == *visit).then(|| (attempt, entry.path()))
    });
    attempts.max_by_key(|(attempt, _)| attempt.attempt)
}

/// The last lines that are not empty.
fn last_lines(path: &Path) -> Vec<String> {
    let bytes = end_of(path, LOOK_BYTES).unwrap_or_default();
    let is_cut = u64::try_from(bytes.len()).unwrap_or(u64::MAX) >= LOOK_BYTES;
    let plain = without_escapes(&bytes);
    let text = String::from_utf8_lossy(&plain);
    let lines = text.lines().skip(usize::from(is_cut)).map(|line| shown(line.trim_end(), Charset::Unicode));
    let mut lines: Vec<String> = lines.filter(|line| !line.trim().is_empty()).collect();
    lines.drain(..lines.len().saturating_sub(MOST_LINES));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::live::fixture::Fixture;
    use std::fs;

    const CRITIC: &str = "flow: f\nsteps:\n  - id: critic\n    run: x\n    routing: { kind: microloop, success_values: [OK], max_iterations: 0 }\n";

    #[test]
    fn what_the_last_attempt_wrote_last_is_shown() {
        let mut fixture = Fixture::of(CRITIC);
        fixture.ends(1_000, 0, "Status: NO", &[]);
        let raised = fixture.model.run().interrupts().next().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("run_1");
        assert_eq!(last_words(&base, raised), [""; 0]);
        for (attempt, text) in
            [("critic.1.1", "old\n"), ("critic.1.2", "one\n\n\x1b[31mtwo\x1b[0m\n"), ("critic.2.1", "x")]
        {
            let folder = base.join("attempts").join(attempt);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("stdout"), text).unwrap();
        }
        let folder = base.join("attempts/critic.1.2");
        let many: String = (0..4_000).map(|n| format!("line {n}\n")).collect();
        fs::write(folder.join("stderr"), many).unwrap();
        let told = last_words(&base, raised);
        assert_eq!(
            told[..4],
            ["  critic.1.2 ends its text with:", "    one", "    two", "  critic.1.2 ends its stderr with:"]
        );
        assert_eq!(
            told[4..],
            [
                "    line 3992",
                "    line 3993",
                "    line 3994",
                "    line 3995",
                "    line 3996",
                "    line 3997",
                "    line 3998",
                "    line 3999",
                "  all of it: envoi logs run_1 --step critic.1.2",
            ]
        );
        let folder = base.join("attempts/critic.1.3");
        fs::create_dir_all(&folder).unwrap();
        for (name, content) in [("exit.json", "{}"), ("output", "the text"), ("stdout", "what else it said")]
        {
            fs::write(folder.join(name), content).unwrap();
        }
        assert_eq!(last_words(&base, raised)[..2], ["  critic.1.3 ends its text with:", "    the text"]);
    }
}
