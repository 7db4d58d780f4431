//! A store that an older build has made still opens: its runs are shown and go on.
//!
//! `kept/store-9.tar.gz` holds a project with the store of the build whose newest migration was 9. It has a run that
//! succeeded (artifacts, items, a loop), one that waits for an answer, one that failed, one whose engine and step were
//! killed, and two of a flow called `workspace`, the second in a copy of its workspace. `kept/make.sh` made it.
//!
//! `kept/store-18.tar.gz` is of the build with 18 migrations: a run whose flow was corrected, its fork, an agent that waits for its account, a run
//! with kept files and a cached step, a graph that asks two people and has a notice to deliver, and what a server leaves: a token, a registered
//! flow, a run started with a key, a task of A2A with a receiver of its news. `kept/make-18.sh` made it.

use crate::{
    serve::client::Served,
    stage::{Stage, text},
};
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
    unpacked(include_bytes!("kept/store-9.tar.gz"))
}

fn unpacked(archive: &[u8]) -> Stage {
    let stage = Stage::new();
    let packed = stage.path("packed.tar.gz");
    std::fs::write(&packed, archive).unwrap();
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
    // Until a person has looked, the step whose engine was killed may be at work in the workspace.
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

#[test]
fn what_a_server_an_agent_and_kept_files_left_in_an_older_store_goes_on() {
    let stage = unpacked(include_bytes!("kept/store-18.tar.gz"));
    assert_eq!(stage.envoi(&["doctor"]).code, Some(0));
    let runs = stage.runs();
    let run = |flow: &str, status: &str| -> Vec<String> {
        let of = |row: &&Value| row["flow"] == flow && row["status"] == status;
        runs.iter().filter(of).map(|row| text(&row["run"])).collect()
    };
    let [corrected, forked] = [0, 1].map(|place| run("wrong", "succeeded")[1 - place].clone());
    let [agent, files, together] = [("agent", "running"), ("files", "waiting"), ("together", "waiting")]
        .map(|(flow, status)| run(flow, status).pop().unwrap_or_else(|| panic!("{flow}: {runs:?}")));
    let served = run("served", "waiting");
    assert_eq!((runs.len(), served.len()), (7, 2), "{runs:?}");
    for row in &runs {
        let run = text(&row["run"]);
        for view in
            [&["show", &run][..], &["show", &run, "--envelope"], &["show", &run, "--events"], &["why", &run]]
        {
            stage.expect(0, view);
        }
    }
    let shown = stage.json(&["--json", "show", &corrected]);
    assert_eq!(shown["corrected"].as_array().unwrap().len(), 1, "{shown}");
    assert_eq!(stage.json(&["--json", "show", &forked])["forked_from"], Value::from(corrected.as_str()));
    let changed = stage.expect(0, &["diff", &files, "--stat"]).out;
    assert!(changed.contains("made/c.txt"), "{changed}");

    // Its account is open by now: the session that was chosen then goes on.
    stage.write("bin/open", "");
    stage.expect(0, &["resume", &agent, "--now"]);
    stage.expect(0, &["approve", &files]);
    stage.expect(0, &["approve", &together]);
    assert_eq!(stage.lines("together.txt"), ["together"]);

    let server = Served::start(&stage);
    let client = server.client(stage.lines("token").last().unwrap());
    let registered = client.json("/v1/flows");
    assert_eq!(registered["flows"][0]["flow"], "served", "{registered}");
    for run in &served {
        let question = client.question(run);
        let answered = client.post(&format!("/v1/questions/{question}/answer"), r#"{"choice": "approve"}"#);
        assert_eq!(answered.status, 200, "{}", answered.text());
        client.wait_until_run_is(run, "succeeded");
    }
    let is_task = |run: &String| {
        client.call("GET", &format!("/a2a/tasks/{run}"), &[("A2A-Version", "1.0")], b"").status == 200
    };
    assert!(served.iter().all(is_task));
}
