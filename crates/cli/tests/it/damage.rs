//! Damage in the store is reported before a person resumes the run. It is named, and hides no other run.

use crate::{
    aside::database,
    isolated::with_permissions,
    kept::kept,
    repair::sql,
    serve::client::Served,
    stage::{Stage, text, wait_until},
};
use rustix::process::Signal;
use serde_json::Value;
use std::{fs, io::Write as _, os::unix::fs::PermissionsExt as _, path::Path};

const ASKS: &str = "flow: asks\nsteps:\n  - { id: a, run: echo a }\n  - { id: b, ask: Go on? }\n  - { id: c, run: echo c >> did }\n";

/// Two runs that wait, the older one first.
fn two() -> (Stage, String, String) {
    let stage = Stage::with_flow(ASKS);
    stage.expect(3, &["run", "flow.yaml"]);
    let older = stage.run_id();
    stage.expect(3, &["run", "flow.yaml"]);
    let newer = text(&stage.runs()[0]["run"]);
    (stage, older, newer)
}

fn of(run: &str) -> String {
    format!("run = (SELECT run FROM journals WHERE id = '{run}')")
}

/// The run, its activity and the code of what is wrong with it, as `runs` lists them.
fn listed(stage: &Stage) -> Vec<(String, Value, Value)> {
    stage
        .runs()
        .iter()
        .map(|row| (text(&row["run"]), row["activity"].clone(), row["set_aside"]["code"].clone()))
        .collect()
}

#[test]
fn a_damaged_event_is_named_before_anybody_resumes_the_run() {
    let (stage, damaged, whole) = two();
    assert_eq!(stage.expect(0, &["doctor"]).out.matches("2 unfinished runs, ").count(), 1);
    sql(&stage, &format!("UPDATE events SET body = substr(body, 1, 30) WHERE {} AND seq = 4", of(&damaged)));
    let doctor = stage.expect(8, &["doctor"]).out;
    assert!(
        doctor.contains(&format!(
            "{damaged} event 4 cannot be read: EOF while parsing a string at line 1 column 30"
        )),
        "{doctor}"
    );
    assert!(!doctor.contains(&whole) && doctor.contains(&format!("envoi repair {damaged}")), "{doctor}");
    let shown = stage.expect(8, &["show", &damaged]).out;
    for said in [
        "it cannot be read: event 4 is damaged: EOF while parsing a string at line 1 column 30\n",
        "\n  event 4 is damaged: EOF",
        "before the damage:\n       0  ",
        "  run_started\n",
        &format!("envoi show {damaged} --events"),
    ] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    let json: Value = serde_json::from_str(&stage.expect(8, &["--json", "show", &damaged]).out).unwrap();
    assert_eq!(json["unreadable"]["damaged"][0]["seq"], 4, "{json:#}");
    let events = stage.expect(8, &["show", &damaged, "--events"]);
    assert_eq!(events.out.lines().count(), 4, "{events:?}");
    assert!(events.err.contains("event 4 is damaged"), "{events:?}");
    // Once an engine has found it too, the reason is shown once.
    let resumed = stage.expect(8, &["resume", &damaged]).err;
    assert_eq!(resumed.matches("EOF while parsing").count(), 1, "{resumed}");
    let aside = &stage.runs()[1]["set_aside"];
    assert_eq!(
        aside["reason"], "event 4 is damaged: EOF while parsing a string at line 1 column 30",
        "{aside:#}"
    );
    assert!(stage.expect(0, &["show", &damaged]).out.contains("before the damage"));
    stage.expect(0, &["approve", &whole]);
}

#[test]
fn a_run_that_lost_events_is_not_called_healthy_and_not_dropped() {
    let (stage, cut, whole) = two();
    stage.expect(3, &["run", "flow.yaml"]);
    let empty = text(&stage.runs()[0]["run"]);
    sql(
        &stage,
        &format!(
            "DELETE FROM events WHERE {}; DELETE FROM events WHERE {} AND seq > 4",
            of(&empty),
            of(&cut)
        ),
    );
    let aside = |run: &str| (run.to_owned(), "set_aside".into(), "RUN_INCONSISTENT".into());
    let rows = listed(&stage);
    assert_eq!((&rows[0], &rows[2]), (&aside(&empty), &aside(&cut)), "{rows:?}");
    assert_eq!((&rows[1].0, &rows[1].2), (&whole, &Value::Null));
    let doctor = stage.expect(8, &["doctor"]).out;
    for said in [format!("{empty} events 0 to 5 are missing (6 events)"), format!("{cut} event 5 is missing")]
    {
        assert!(doctor.contains(&said), "{said}: {doctor}");
    }
    for (run, said) in
        [(&empty, "gap in the journal: 0 to 5 (6 events)\n"), (&cut, "gap in the journal: 5\n")]
    {
        let looked = stage.expect(8, &["repair", run]);
        assert!(looked.out.contains(said) && !looked.out.contains("as it should be"), "{looked:?}");
    }
    let repaired = stage.expect(8, &["repair"]).out;
    assert!(repaired.contains(&format!("gap in a journal: {empty}#0 to 5 (6 events)\n")), "{repaired}");
    assert!(repaired.contains(&format!("gap in a journal: {cut}#5\n")), "{repaired}");
    let kept: Vec<String> = listed(&stage).into_iter().map(|(run, ..)| run).collect();
    assert_eq!(kept, [empty.clone(), whole.clone(), cut.clone()], "all are listed");
    assert_eq!(listed(&stage)[2].2, "RUN_UNREADABLE", "what it lacks is remembered");
    // Nothing of them goes on by itself.
    let served = Served::start(&stage);
    for run in [&empty, &cut] {
        let stays = format!("run {run} stays aside");
        wait_until("the server to say so", || served.process.said().contains(&stays));
    }
    stage.expect(0, &["approve", &whole]);
    assert_eq!(stage.lines("did"), ["c"]);
}

#[test]
fn a_run_without_its_entry_or_its_row_is_listed_and_made_whole() {
    let (stage, unentered, rowless) = two();
    sql(
        &stage,
        &format!("DELETE FROM runs WHERE {}; DELETE FROM journals WHERE id = '{unentered}'", of(&rowless)),
    );
    let aside = |run: &str| (run.to_owned(), "set_aside".into(), "RUN_INCONSISTENT".into());
    assert_eq!(listed(&stage), [aside(&rowless), aside(&unentered)]);
    let doctor = stage.expect(8, &["doctor"]).out;
    assert!(doctor.contains(&unentered) && doctor.contains(&rowless), "{doctor}");
    let looked = stage.expect(8, &["repair", &unentered]).out;
    assert!(looked.contains("its entry in the journal is missing"), "{looked}");
    assert!(stage.expect(0, &["show", &unentered]).out.contains("its entry in the journal is missing"));
    assert!(stage.expect(0, &["show", &rowless]).out.contains("its row is missing"));
    // The row of one run is made again when that run is tried again.
    stage.expect(3, &["resume", &rowless]);
    assert_eq!(listed(&stage)[0].2, Value::Null);
    let repaired = stage.expect(0, &["repair"]).out;
    assert!(repaired.contains(&format!("mended: journals {unentered}: was missing")), "{repaired}");
    stage.expect(0, &["doctor"]);
    for run in [&unentered, &rowless] {
        stage.expect(0, &["approve", run]);
    }
    assert_eq!(stage.lines("did"), ["c", "c"]);
}

#[test]
fn a_row_that_cannot_be_read_hides_no_other_run() {
    let (stage, damaged, whole) = two();
    sql(
        &stage,
        &format!(
            "UPDATE inbox SET about = 'nothing' WHERE {0}; UPDATE runs SET flow = 'NOT A FLOW', flow_digest = 'none' WHERE {0}",
            of(&damaged)
        ),
    );
    let aside = (damaged.clone(), "set_aside".into(), "RUN_UNREADABLE".into());
    let rows = listed(&stage);
    assert_eq!((&rows[1], &rows[0].0, &rows[0].2), (&aside, &whole, &Value::Null));
    assert!(stage.expect(0, &["runs"]).out.contains("set aside"));
    let inbox = stage.expect(0, &["inbox"]).out;
    assert!(inbox.contains(&whole) && inbox.contains("this question cannot be read"), "{inbox}");
    let served = Served::start(&stage);
    wait_until("the server to say so", || {
        served.process.said().contains(&format!("run {damaged} stays aside"))
    });
    let admin = served.client(served.first.as_deref().unwrap());
    let list = admin.json("/v1/runs");
    assert_eq!(list["runs"].as_array().unwrap().len(), 2, "{list:#}");
    assert_eq!(
        (&list["runs"][0]["run"], &list["runs"][1]["activity"]),
        (&whole.clone().into(), &"set_aside".into())
    );
    let questions = admin.json("/v1/questions");
    assert_eq!(questions["questions"].as_array().unwrap().len(), 2, "{questions:#}");
    stage.expect(0, &["approve", &whole]);
    stage.expect(3, &["resume", &damaged]);
    assert_eq!(listed(&stage)[1].2, Value::Null, "its row is made again");
    stage.expect(0, &["approve", &damaged]);
    stage.expect(0, &["repair", &damaged]);
    assert_eq!(stage.lines("did"), ["c", "c"]);
}

#[test]
fn an_unreadable_run_is_reported_once_and_the_others_are_followed() {
    let (stage, damaged, whole) = two();
    sql(&stage, &format!("UPDATE events SET body = '{{' WHERE {} AND seq = 2", of(&damaged)));
    let mut follow = stage.start(&["runs", "--follow"]);
    let mut lines: Vec<String> = Vec::new();
    while !lines.iter().any(|line| line.starts_with(&damaged))
        || !lines.iter().any(|line| line.starts_with(&whole))
    {
        lines.push(follow.line());
    }
    let said = lines.iter().find(|line| line.starts_with(&damaged)).unwrap();
    assert!(said.contains("cannot be read: event 2 is damaged"), "{said}");
    stage.expect(0, &["approve", &whole]);
    let mut last = follow.line();
    while !last.contains("succeeded: ") {
        assert!(!last.starts_with(&damaged), "{last}");
        last = follow.line();
    }
    follow.kill();
}

#[test]
fn opening_or_repairing_a_store_waits_for_its_lock() {
    let stage = kept();
    const LOCK: &str = "db.execute('BEGIN IMMEDIATE'); print('ready', flush=True); sys.stdin.read()";
    let (mut locking, _out) = database(&stage, LOCK);
    // It is of an older schema: opening it writes.
    let stopped = stage.start(&["repair"]);
    wait_until("the command to say so", || stopped.said().contains("keeps the store locked"));
    stopped.signal(Signal::INT);
    assert_eq!(stopped.done().code, Some(7));
    let token = stage.start(&["token", "create", "me"]);
    wait_until("the command to say so", || token.said().contains("keeps the store locked"));
    locking.stdin.take().unwrap().flush().unwrap();
    locking.wait().unwrap();
    assert_eq!(token.done().code, Some(0));
    let (mut locking, _out) = database(&stage, LOCK);
    let repair = stage.start(&["repair"]);
    wait_until("the command to say so", || repair.said().contains("keeps the store locked"));
    locking.stdin.take().unwrap().flush().unwrap();
    locking.wait().unwrap();
    let repaired = repair.done();
    assert_eq!(repaired.code, Some(0), "{repaired:?}");
}

#[test]
fn what_stands_in_the_place_of_a_store_is_named_and_is_not_no_store() {
    for (make, said) in [
        ("touch .envoi", "there is a file, and no folder"),
        ("mkfifo .envoi", "there is a named pipe, and no folder"),
        ("ln -s nowhere .envoi", "No such file or directory"),
        ("ln -s .envoi .envoi", "Too many levels of symbolic links"),
        ("mkdir -p .envoi/envoi.db", "is a folder, and no file"),
    ] {
        let stage = Stage::with_flow(ASKS);
        let made = std::process::Command::new("sh").current_dir(stage.path("")).args(["-c", make]).status();
        assert!(made.unwrap().success());
        let doctor = stage.expect(8, &["doctor"]).out;
        assert!(
            doctor.lines().any(|line| line.starts_with("BAD  store ") && line.contains(said)),
            "{make}: {doctor}"
        );
        for arguments in [&["runs"][..], &["inbox"], &["resume"], &["repair"], &["run", "flow.yaml"]] {
            let refused = stage.expect(8, arguments).err;
            assert!(
                refused.contains(said) && !refused.contains("NO_STORE"),
                "{make} {arguments:?}: {refused}"
            );
        }
    }
}

/// SQLite waits without end for a writer of a pipe.
#[test]
fn what_stands_in_the_place_of_a_file_beside_the_database_is_named_at_once() {
    let stage = Stage::with_flow(ASKS);
    stage.expect(3, &["run", "flow.yaml"]);
    for (make, remove, said) in [
        (
            "mkfifo .envoi/envoi.db-journal",
            "rm .envoi/envoi.db-journal",
            "/envoi.db-journal` is a named pipe, and no file",
        ),
        (
            "rm -f .envoi/envoi.db-wal; mkdir .envoi/envoi.db-wal",
            "rmdir .envoi/envoi.db-wal",
            "/envoi.db-wal` is a folder, and no file",
        ),
        (
            "rm -f .envoi/envoi.db-shm; mkfifo .envoi/envoi.db-shm",
            "rm .envoi/envoi.db-shm",
            "/envoi.db-shm` is a named pipe, and no file",
        ),
    ] {
        let sh = |script: &str| {
            let done =
                std::process::Command::new("sh").current_dir(stage.path("")).args(["-c", script]).status();
            assert!(done.unwrap().success(), "{script}");
        };
        sh(make);
        for arguments in [&["runs"][..], &["doctor"], &["approve"], &["run", "flow.yaml"], &["repair"]] {
            let refused = stage.expect(8, arguments);
            assert!(
                format!("{}{}", refused.out, refused.err).contains(said),
                "{make} {arguments:?}: {refused:?}"
            );
        }
        sh(remove);
        stage.expect(0, &["runs"]);
    }
    stage.expect(0, &["approve"]);
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_may_not_be_opened_or_written_is_named_by_the_doctor_and_by_an_answer() {
    for (closed, mode, is_in_the_way) in [
        ("envoi.db", 0o400, true),
        ("engine.lock", 0, true),
        ("runs", 0, true),
        ("runs/RUN", 0, true),
        // No attempt is needed for the answer.
        ("runs/RUN/attempts", 0, false),
    ] {
        let stage = Stage::with_flow(ASKS);
        stage.expect(3, &["run", "flow.yaml"]);
        let run = stage.run_id();
        stage.expect(0, &["doctor"]);
        let path = stage.store().join(closed.replace("RUN", &run));
        let before = fs::metadata(&path).unwrap().permissions();
        set_mode(&path, mode);
        let doctor = with_permissions(&stage, &["doctor"]);
        let answered = is_in_the_way.then(|| with_permissions(&stage, &["approve"])).flatten();
        fs::set_permissions(&path, before).unwrap();
        let Some(doctor) = doctor else { return };
        let named = path.display().to_string();
        assert_eq!(doctor.code, Some(8), "{closed}: {doctor:?}");
        assert!(
            doctor.out.lines().any(|line| line.starts_with("BAD") && line.contains(&named)),
            "{closed}: {doctor:?}"
        );
        let Some(answered) = answered else { continue };
        assert_eq!(answered.code, Some(8), "{closed}: {answered:?}");
        assert!(answered.err.contains(&named), "{closed}: {answered:?}");
        if closed.starts_with("runs") {
            assert!(answered.err.contains("the answer was not recorded: run `"), "{closed}: {answered:?}");
            stage.expect(3, &["resume", &run]);
        }
        stage.expect(0, &["doctor"]);
        stage.expect(0, &["approve"]);
    }
}

#[test]
fn an_attempt_that_cannot_be_looked_at_may_be_at_work_and_its_folder_is_named() {
    let stage = Stage::with_flow(
        "flow: long\nsteps:\n  - id: a\n    run: 'while [ ! -e go ]; do sleep 0.05; done'\n",
    );
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || stage.supervisor("a.1.1").is_some());
    let run = stage.run_id();
    engine.kill();
    stage.kill_attempts();
    let attempt = stage.store().join("runs").join(&run).join("attempts/a.1.1");
    set_mode(&attempt, 0);
    let refused = with_permissions(&stage, &["run", "flow.yaml"]);
    let doctor = with_permissions(&stage, &["doctor"]);
    set_mode(&attempt, 0o700);
    let (Some(refused), Some(doctor)) = (refused, doctor) else { return };
    assert_eq!(refused.code, Some(6), "{refused:?}");
    let said = format!("a step of run `{run}` may still work in the workspace ");
    assert!(refused.err.contains("WORKSPACE_BUSY") && refused.err.contains(&said), "{refused:?}");
    assert!(refused.err.contains(&format!("`{}` cannot be looked at: ", attempt.display())), "{refused:?}");
    assert!(doctor.code == Some(8) && doctor.out.contains(&attempt.display().to_string()), "{doctor:?}");
}
