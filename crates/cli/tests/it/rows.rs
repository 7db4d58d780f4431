//! Damaged rows beside the events: everything else works, `doctor` names the row, and `repair` rebuilds it or takes it out of use.

use crate::{
    repair::sql,
    serve::client::{Served, token},
    stage::{Stage, text},
};
use std::{fs, process::Command};

const ASKS: &str = "flow: asks\nsteps:\n  - { id: a, run: echo a }\n  - { id: b, ask: Go on? }\n  - { id: c, run: echo c >> did }\n";
const TELLS: &str = "flow: tells\nnotify: { command: 'cat >> told' }\nsteps:\n  - { id: a, run: echo a }\n";

/// That `doctor` names each of these, and is content once the store is repaired.
fn is_named_and_mended(stage: &Stage, named: &[&str]) {
    let doctor = stage.expect(8, &["doctor"]).out;
    for name in named {
        assert!(doctor.contains(name), "{name}: {doctor}");
    }
    let repaired = stage.expect(0, &["repair"]).out;
    assert!(repaired.contains("mended: "), "{repaired}");
    stage.expect(0, &["doctor"]);
    let again = stage.expect(0, &["repair"]).out;
    assert!(again.contains("everything was as it should be"), "{again}");
}

#[test]
fn a_damaged_notice_holds_up_no_other_one_and_hides_no_run() {
    let stage = Stage::with_flow(TELLS);
    stage.expect(0, &["run", "flow.yaml"]);
    let first = stage.run_id();
    let damaged = "INSERT INTO deliveries (run, seq, kind, id, target, tries, next_try_at_ms) \
                   SELECT run, seq, '?!', id, target, 0, 1 FROM deliveries";
    // More of them than are looked at at a time.
    sql(&stage, &[damaged; 6].join(";"));
    stage.expect(0, &["run", "flow.yaml"]);
    assert_eq!(stage.lines("told").len(), 2);
    stage.expect(0, &["show", &first]);
    is_named_and_mended(&stage, &["row that is damaged", "deliveries 2: "]);
}

#[test]
fn a_damaged_token_admits_no_client_and_the_others_work() {
    let stage = Stage::with_flow(ASKS);
    let [bad, good, third] = ["bad", "good", "third"].map(|name| token(&stage, &["--scope", "admin", name]));
    let id = |token: &str| token.split('_').nth(1).unwrap().to_owned();
    sql(&stage, &format!("UPDATE tokens SET digest = x'00' WHERE id = '{}'", id(&bad)));
    sql(&stage, &format!("UPDATE tokens SET scopes = 'everything' WHERE id = '{}'", id(&third)));
    let served = Served::start(&stage);
    assert_eq!(served.first, None, "it has had tokens");
    for (token, status) in [(&bad, 401), (&third, 401), (&good, 200)] {
        assert_eq!(served.client(token).get("/v1/runs").status, status);
    }
    let listed = stage.expect(0, &["token", "list"]).out;
    // An id may have the letters of a name.
    let has = |name: &str| listed.split_whitespace().any(|word| word == name);
    assert!(has("good") && !has("bad"), "{listed}");
    stage.expect(0, &["token", "revoke", "good"]);
    assert_eq!(served.client(&good).get("/v1/runs").status, 401);
    drop(served);
    is_named_and_mended(&stage, &[&format!("tokens {}: ", id(&bad))]);
}

#[test]
fn a_run_with_a_wrong_id_is_found_by_its_own_and_hides_no_other_damage() {
    for wrong in ["UPDATE runs SET id = 'run_wrong'", "UPDATE journals SET id = 'run_wrong'"] {
        let stage = Stage::with_flow(ASKS);
        stage.expect(3, &["run", "flow.yaml"]);
        let run = stage.run_id();
        stage.expect(3, &["run", "flow.yaml"]);
        let other = text(&stage.runs()[0]["run"]);
        sql(&stage, &format!("{wrong} WHERE run = 1; UPDATE inbox SET question = 'other' WHERE run = 2"));
        let rows = stage.runs();
        assert_eq!((text(&rows[1]["run"]), text(&rows[0]["run"])), (run.clone(), other.clone()), "{wrong}");
        assert_eq!(rows[1]["set_aside"]["code"], "RUN_INCONSISTENT");
        let doctor = stage.expect(8, &["doctor"]).out;
        for said in [&run, &format!("{other} inbox ")] {
            assert!(doctor.contains(said), "{wrong}: {said}: {doctor}");
        }
        stage.envoi(&["show", &run]);
        let looked = stage.expect(8, &["repair", &other]).out;
        assert!(looked.contains("row that is not as the events say"), "{looked}");
        assert!(stage.expect(8, &["repair", &run]).out.contains(&run));
        // It is made right when the run is tried again.
        stage.expect(3, &["resume", &run]);
        assert_eq!(stage.runs()[1]["set_aside"], serde_json::Value::Null, "{wrong}");
        is_named_and_mended(&stage, &[&other]);
        for run in [&run, &other] {
            stage.expect(0, &["approve", run]);
        }
    }
}

#[test]
fn a_run_without_events_or_without_its_entry_is_refused_with_the_reason() {
    for ends in [true, false] {
        let stage = Stage::with_flow(if ends { TELLS } else { ASKS });
        stage.expect(if ends { 0 } else { 3 }, &["run", "flow.yaml"]);
        let run = stage.run_id();
        sql(&stage, "DELETE FROM events WHERE run = 1");
        let refused = |command: &str| {
            let done = stage.expect(8, &[command, &run]);
            assert!(done.err.contains("its events are missing"), "{command}: {done:?}");
        };
        refused("resume");
        refused("cancel");
        let repaired = stage.expect(8, &["repair"]).out;
        assert!(repaired.contains(&format!("gap in a journal: {run}#0 to ")), "{repaired}");
        refused("resume");
        refused("cancel");
        assert_eq!(stage.runs()[0]["activity"], "set_aside");
    }
    let stage = Stage::with_flow(ASKS);
    stage.expect(3, &["run", "flow.yaml"]);
    let run = stage.run_id();
    sql(&stage, "DELETE FROM journals WHERE run = 1");
    let done = stage.expect(8, &["resume", &run]);
    assert!(done.err.contains("its entry in the journal is missing"), "{done:?}");
    is_named_and_mended(&stage, &[&run]);
    stage.expect(0, &["approve", &run]);
}

#[test]
fn the_number_of_the_newest_engine_is_named_and_made_again() {
    for damage in [
        "DELETE FROM engine",
        "UPDATE engine SET epoch = 9223372036854775807",
        "UPDATE engine SET epoch = -4",
    ] {
        let stage = Stage::with_flow(ASKS);
        stage.expect(3, &["run", "flow.yaml"]);
        sql(&stage, damage);
        let refused = stage.expect(8, &["resume"]);
        assert!(refused.err.contains("`envoi repair` makes it again"), "{damage}: {refused:?}");
        is_named_and_mended(&stage, &["engine: "]);
        stage.expect(0, &["approve"]);
        assert_eq!(stage.lines("did"), ["c"]);
    }
}

#[test]
fn a_damaged_flow_of_a_run_that_is_over_is_named() {
    for damage in ["text = 'flow: other'", "text = replace(text, 'echo a', 'echo b')", "parts = '['"] {
        let stage = Stage::with_flow(TELLS);
        stage.expect(0, &["run", "flow.yaml"]);
        stage.expect(0, &["doctor"]);
        sql(&stage, &format!("UPDATE flows SET {damage}"));
        let doctor = stage.expect(8, &["doctor"]).out;
        assert!(
            doctor.contains("flow that is damaged") || doctor.contains("flows 1: "),
            "{damage}: {doctor}"
        );
    }
}

#[test]
fn a_store_that_has_forgotten_what_it_is_is_used_again() {
    let stage = Stage::with_flow(ASKS);
    stage.expect(3, &["run", "flow.yaml"]);
    sql(&stage, "DELETE FROM store");
    let doctor = stage.expect(8, &["doctor"]).out;
    assert!(doctor.contains("store: what the store knows of itself is missing"), "{doctor}");
    assert_eq!(stage.runs().len(), 1);
    stage.expect(0, &["approve"]);
    stage.expect(0, &["doctor"]);
}

#[test]
fn what_is_in_the_way_of_hand_offs_is_named_and_is_no_file_that_will_be_written() {
    let stage = Stage::with_flow(ASKS);
    stage.expect(3, &["run", "flow.yaml"]);
    let run = stage.run_id();
    let folder = stage.store().join("runs").join(&run).join("asks/handoff");
    fs::remove_dir_all(&folder).unwrap();
    assert!(Command::new("mkfifo").arg(&folder).status().unwrap().success());
    let looked = stage.expect(8, &["repair", &run]).out;
    assert!(
        looked.contains(&format!(
            "file that differs and cannot be written: {}; remove {}, which is in the way\n",
            folder.join("a.1.json").display(),
            folder.display()
        )),
        "{looked}"
    );
    assert!(!looked.contains("written again"), "{looked}");
    fs::remove_file(&folder).unwrap();
    stage.expect(0, &["repair"]);
    stage.expect(0, &["repair", &run]);
    let runs = stage.store().join("runs");
    fs::rename(&runs, stage.path("away")).unwrap();
    fs::write(&runs, "").unwrap();
    let looked = stage.expect(8, &["repair", &run]).out;
    assert!(
        looked.contains(&format!("remove {}, which is in the way\n", runs.display()))
            && !looked.contains("written again"),
        "{looked}"
    );
    fs::remove_file(&runs).unwrap();
    fs::rename(stage.path("away"), &runs).unwrap();
    let leftovers = stage.store().join("artifacts/tmp");
    fs::rename(&leftovers, stage.path("away")).unwrap();
    std::os::unix::fs::symlink(stage.path("away"), &leftovers).unwrap();
    let doctor = stage.expect(8, &["doctor"]).out;
    assert!(doctor.contains("artifacts/tmp is no folder"), "{doctor}");
    fs::remove_file(&leftovers).unwrap();
    stage.expect(0, &["repair"]);
    stage.expect(0, &["doctor"]);
}

#[test]
fn all_rows_of_a_run_are_compared_with_its_events() {
    let stage = Stage::with_flow(
        "flow: kept\nsteps:\n  - { id: a, run: echo a > made, artifacts: [made] }\n  - { id: b, ask: Go on? }\n",
    );
    stage.expect(3, &["run", "flow.yaml"]);
    let run = stage.run_id();
    for damage in [
        "UPDATE inbox SET question = 'other'",
        "DELETE FROM handoffs",
        "UPDATE places SET path = 'other'",
        "UPDATE runs SET workspace = '/elsewhere'",
        "UPDATE runs SET run_base = '/elsewhere'",
    ] {
        sql(&stage, damage);
        let looked = stage.expect(8, &["repair", &run]).out;
        assert!(looked.contains("row that is not as the events say"), "{damage}: {looked}");
        is_named_and_mended(&stage, &["row that is not as the events say"]);
    }
    stage.expect(0, &["approve"]);
}

const KEEPS: &str = "flow: keeps\nsteps:\n  - id: a\n    run: seq 1 30000 > big; seq 9 > small\n    artifacts: [big, small]\n  \
                     - { id: b, ask: Go on? }\n  - { id: c, run: echo c >> did }\n";

/// `repair` mends each finding of `doctor`, or names it again.
#[test]
fn the_doctor_and_a_repair_say_the_same_and_other_runs_begin() {
    let other = "run = (SELECT max(run) FROM journals)";
    for (damage, named, stays) in [
        ("DELETE FROM flows WHERE flow = 2", "there is no flow pinned to it", true),
        ("UPDATE journals SET flow = 99", "there is no flow pinned to it", false),
        ("UPDATE journals SET flow = 3 - flow", "it pins flow", false),
        ("DELETE FROM blobs", "is not in the store", true),
        ("UPDATE runs SET next_seq = 9000000000000000000", "its row counts", false),
        (&format!("UPDATE journals SET run = -1 WHERE {other}"), "is missing", false),
        (&format!("DELETE FROM journals WHERE {other}"), "its entry in the journal is missing", false),
    ] {
        let stage = Stage::with_flow(KEEPS);
        stage.write("tells.yaml", TELLS);
        stage.expect(0, &["run", "tells.yaml"]);
        stage.expect(3, &["run", "flow.yaml"]);
        let run = text(&stage.runs()[0]["run"]);
        sql(&stage, &format!("PRAGMA foreign_keys = OFF; {damage}"));
        // A new run takes nothing that belongs to the one that is damaged.
        stage.expect(0, &["run", "tells.yaml"]);
        let doctor = stage.expect(8, &["doctor"]).out;
        assert!(doctor.contains(named), "{damage}: {doctor}");
        let code = if stays { 8 } else { 0 };
        let repaired = stage.expect(code, &["repair"]).out;
        let mends = repaired.lines().any(|line| line.starts_with("mended: "));
        assert_eq!((mends, repaired.contains(named)), (!stays, stays), "{damage}: {repaired}");
        let doctor = stage.expect(code, &["doctor"]).out;
        assert_eq!(doctor.contains(named), stays, "{damage}: {doctor}");
        let again = stage.expect(code, &["repair"]).out;
        assert_eq!(again.contains("everything was as it should be"), !stays, "{damage}: {again}");
        if !stays {
            stage.expect(0, &["approve", &run]);
            assert_eq!(stage.lines("did"), ["c"], "{damage}");
        }
    }
}
