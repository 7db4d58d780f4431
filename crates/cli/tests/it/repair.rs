//! Everything that can be rebuilt is rebuilt, and is right before it is used.

use crate::stage::{Stage, wait_until};
use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

const FLOW: &str = "flow: kept
steps:
  - id: first
    artifacts: [made.txt]
    run: echo made > made.txt; echo said
  - id: second
    run: \"echo $ENVOI_ATTEMPT > at; while [ ! -e go ]; do sleep 0.01; done; cat $ENVOI_HANDOFF > given\"
";

fn handoffs(stage: &Stage) -> BTreeMap<PathBuf, Vec<u8>> {
    stage.handoffs().into_iter().collect()
}

/// Replaces a read-only file.
fn overwrite(path: &PathBuf, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Changes the database behind the journal's back, as an outside tool would.
pub(crate) fn sql(stage: &Stage, statements: &str) {
    let change = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])";
    let database = stage.store().join("envoi.db");
    let done = Command::new("python3").args(["-c", change]).arg(database).arg(statements).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

#[test]
fn damaged_files_and_rows_are_rebuilt_from_the_events() {
    let stage = Stage::with_flow(FLOW);
    stage.write("go", "");
    stage.expect(0, &["run", "flow.yaml"]);
    let whole = handoffs(&stage);
    let shown = stage.json(&["--json", "show"]);
    let runs = stage.runs();
    let artifact = stage.store().join("runs").join(stage.run_id()).join("kept/made.txt");
    for (n, path) in whole.keys().enumerate() {
        match n % 3 {
            0 => fs::remove_file(path).unwrap(),
            1 => overwrite(path, b"{}"),
            _ => overwrite(path, b""),
        }
    }
    overwrite(&artifact, b"forged");
    sql(&stage, "DELETE FROM handoffs; UPDATE runs SET live_attempts = 7;");
    let report = stage.json(&["--json", "repair"]);
    assert_eq!(report["whole"], true, "{report:#}");
    assert!(report["mended_files"].as_array().unwrap().len() > whole.len(), "{report:#}");
    assert!(!report["mended_rows"].as_array().unwrap().is_empty(), "{report:#}");
    assert_eq!(handoffs(&stage), whole);
    assert_eq!(fs::read(&artifact).unwrap(), b"made\n");
    assert_eq!(stage.json(&["--json", "show"]), shown);
    assert_eq!(stage.runs(), runs);
    let again = stage.expect(0, &["repair"]);
    assert!(again.out.contains("everything was as it should be"), "{again:?}");
}

#[test]
fn a_run_that_is_over_has_its_files_when_one_asks_for_it_again() {
    let stage = Stage::with_flow(FLOW);
    stage.write("go", "");
    stage.expect(0, &["run", "flow.yaml"]);
    let whole = handoffs(&stage);
    // The state that an engine leaves if it is killed between its last commit and its files.
    for path in whole.keys() {
        fs::remove_file(path).unwrap();
    }
    stage.expect(0, &["resume", &stage.run_id()]);
    assert_eq!(handoffs(&stage), whole);
}

#[test]
fn a_damaged_event_is_found_and_named_and_not_invented() {
    let stage = Stage::with_flow(FLOW);
    stage.write("go", "");
    stage.expect(0, &["run", "flow.yaml"]);
    sql(&stage, "DELETE FROM events WHERE seq = 3;");
    let done = stage.expect(8, &["repair"]);
    assert!(done.out.contains("gap"), "{done:?}");
}

#[test]
fn what_the_doctor_still_finds_after_a_repair_is_named_by_the_repair() {
    for (damage, named) in [
        ("UPDATE events SET at_ms = 1 WHERE seq = 3;", "its time is 1970-01-01"),
        ("UPDATE flows SET text = 'flow: other';", "flow that is damaged"),
        ("UPDATE flows SET text = replace(text, 'echo said', 'echo done');", "its digest is"),
    ] {
        let stage = Stage::with_flow(FLOW);
        stage.write("go", "");
        stage.expect(0, &["run", "flow.yaml"]);
        sql(&stage, damage);
        let before = stage.expect(8, &["doctor"]);
        assert!(before.out.contains(named), "{before:?}");
        let repaired = stage.expect(8, &["repair"]);
        assert!(repaired.out.contains(named), "{repaired:?}");
        assert!(!repaired.out.contains("everything was as it should be"), "{repaired:?}");
        let json = stage.expect(8, &["--json", "repair"]).out;
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["whole"], false, "{json:#}");
        assert!(json["not_mended"].to_string().contains(named), "{json:#}");
        stage.expect(8, &["doctor"]);
    }
}

#[test]
fn a_step_gets_the_whole_hand_off_although_its_file_was_deleted() {
    let stage = Stage::with_flow(FLOW);
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the second step", || !stage.read("at").is_empty());
    engine.kill();
    let whole = handoffs(&stage);
    for path in whole.keys() {
        fs::remove_file(path).unwrap();
    }
    let resumed = stage.start(&["resume"]);
    wait_until("the files", || handoffs(&stage) == whole);
    stage.write("go", "");
    assert_eq!(resumed.done().code, Some(0));
    assert_eq!(
        stage.read("given").as_bytes(),
        whole.iter().find(|(path, _)| path.ends_with("first.1.json")).unwrap().1
    );
}

#[test]
fn a_store_of_a_newer_version_is_refused_and_left_as_it_is() {
    let stage = Stage::with_flow(FLOW);
    stage.write("go", "");
    stage.expect(0, &["run", "flow.yaml"]);
    sql(&stage, "INSERT INTO migrations (version, checksum) VALUES (1000, 'future');");
    for command in [vec!["runs"], vec!["run", "flow.yaml"], vec!["show"], vec!["repair"]] {
        let done = stage.expect(8, &command);
        assert!(done.err.contains("use a newer version"), "{command:?}: {done:?}");
        assert!(!done.err.contains("`envoi doctor`"), "{command:?}: {done:?}");
    }
}

#[test]
fn a_hand_off_that_a_step_deleted_is_there_again_for_its_next_try() {
    let stage = Stage::with_flow(
        "flow: tries\nsteps:\n  - id: first\n    run: echo said\n  - id: second\n    retry: { attempts: 2, backoff: 10ms..20ms }\n    \
         run: \"cat $ENVOI_HANDOFF >> given; rm -f $ENVOI_HANDOFF; test $ENVOI_ATTEMPT = second.1.2\"\n",
    );
    stage.expect(0, &["run", "flow.yaml"]);
    let given = stage.read("given");
    let (once, again) = given.split_at(given.len() / 2);
    assert!(once.contains("\"summary\": \"said\"") && once == again, "{given}");
}
