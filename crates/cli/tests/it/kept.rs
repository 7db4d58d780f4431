//! A store that an older build has made still opens: its runs are shown and go on.
//!
//! `kept/store-9.tar.gz` holds a project with the store of the build whose newest migration was 9. It has a run that
//! succeeded (artifacts, items, a loop), one that waits for an answer, one that failed, one whose engine and step were
//! killed, and two of a flow called `workspace`, the second in a copy of its workspace. `kept/make.sh` made it.

use crate::stage::{Stage, text};
use serde_json::Value;
use std::process::Command;

const FINISHED: &str = "run_01m824jzd0f2q8eh1bx4xpsg9m";
const ASKS: &str = "run_01m824jzs2e61atn54gt6mwwes";
const FAILS: &str = "run_01m824jzw5eef91zvy4ts62m0y";
const KILLED: &str = "run_01m824k075f74rdjpck0xa4khr";
const WORKSPACE: &str = "run_01m824jzyhfgsr12dj46rjvmh6";
const COPY: &str = "run_01m824k02hemetx8adnrgtnnps";

/// A stage whose folder is the kept project.
pub(crate) fn kept() -> Stage {
    let stage = Stage::new();
    let packed = stage.path("packed.tar.gz");
    std::fs::write(&packed, include_bytes!("kept/store-9.tar.gz")).unwrap();
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--gzip", "--no-same-owner", "--strip-components=1", "--file"]).arg(&packed);
    assert!(tar.current_dir(stage.path("")).status().unwrap().success());
    stage
}

#[test]
fn the_runs_of_an_older_build_are_shown() {
    let stage = kept();
    let doctor = stage.envoi(&["doctor"]);
    assert_eq!(doctor.code, Some(0), "{doctor:?}");
    let found = |run: &Value| (text(&run["run"]), text(&run["flow"]), text(&run["status"]));
    let expected = [
        (KILLED, "killed", "running"),
        (COPY, "workspace", "waiting"),
        (WORKSPACE, "workspace", "waiting"),
        (FAILS, "fails", "failed"),
        (ASKS, "asks", "waiting"),
        (FINISHED, "finished", "succeeded"),
    ];
    let expected = expected.map(|(run, flow, status)| (run.to_owned(), flow.to_owned(), status.to_owned()));
    assert_eq!(stage.runs().iter().map(found).collect::<Vec<_>>(), expected);
    for run in [FINISHED, ASKS, FAILS, KILLED, WORKSPACE, COPY] {
        for view in
            [&["show", run][..], &["show", run, "--envelope"], &["show", run, "--events"], &["logs", run]]
        {
            stage.expect(0, view);
        }
    }
    let said = stage.expect(0, &["logs", FINISHED, "--step", "write"]).out;
    assert!(said.contains("written"), "{said}");
    let handoff = stage.json(&["show", FINISHED, "--handoff", "check"]);
    assert_eq!(
        (&handoff["step_id"], &handoff["status"]),
        (&"check".into(), &"succeeded".into()),
        "{handoff}"
    );
    let artifact = format!(".envoi/runs/{FINISHED}/finished/out/word.txt");
    assert_eq!(stage.read(&artifact), "hello\n");
    stage.expect(0, &["repair"]);
}

#[test]
fn the_runs_of_an_older_build_go_on_where_the_store_is_now() {
    let stage = kept();
    // Until somebody has looked, the step whose engine was killed may be at work in the workspace.
    stage.expect(5, &["resume", KILLED]);
    stage.expect(0, &["approve", ASKS]);
    assert_eq!(stage.lines("published.txt"), ["draft"]);
    stage.write("mended", "");
    stage.expect(0, &["resume", FAILS]);
    assert_eq!(stage.lines("tries.txt"), ["trying", "trying"]);
    stage.expect(0, &["approve", WORKSPACE]);
    stage.expect(0, &["approve", COPY]);
    let said = stage.expect(0, &["logs", COPY, "--step", "done"]).out;
    assert!(said.contains("page"), "{said}");
    stage.write("go", "");
    stage.expect(0, &["resume", KILLED, "--in-doubt", "rerun"]);
    assert_eq!(stage.lines("killed.ledger"), ["before", "long.1.1", "long.1.2", "after"]);
    stage.expect(0, &["fork", FINISHED, "--from", "write", "--copy"]);
}
