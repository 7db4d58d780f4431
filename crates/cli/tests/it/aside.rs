//! A run's trouble stays with that run, and the reports on a run are true, with real commands, kills and locks.

use crate::{
    a2a::peer::{Peer, Way},
    serve::client::Served,
    stage::{Stage, text, wait_until},
};
use rustix::process::Signal;
use serde_json::Value;
use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
};

/// Its first step puts a file where its hand-offs belong; then each step leaves a line.
const NASTY: &str = "flow: nasty\nsteps:\n  - id: first\n    \
                     run: 'echo first >> did; rm -rf \"$ENVOI_RUN_BASE/nasty\"; touch \"$ENVOI_RUN_BASE/nasty\"'\n  \
                     - id: second\n    run: echo second >> did\n";

const PLAIN: &str = "flow: plain\nsteps:\n  - id: only\n    run: echo plain >> did\n";

fn row(stage: &Stage, run: &str) -> Value {
    stage.runs().into_iter().find(|row| row["run"] == run).unwrap()
}

/// A script with the store's database, which prints `ready` and ends when its input does.
pub(crate) fn database(
    stage: &Stage,
    script: &str,
) -> (std::process::Child, BufReader<std::process::ChildStdout>) {
    let mut child = Command::new("python3")
        .args([
            "-c",
            &format!(
                "import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1], isolation_level=None)\n{script}"
            ),
        ])
        .arg(stage.store().join("envoi.db"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (child, out)
}

#[test]
fn a_run_whose_files_cannot_be_written_is_set_aside_and_goes_on_when_they_can() {
    let stage = Stage::with_flow(NASTY);
    stage.write("plain.yaml", PLAIN);
    let done = stage.expect(8, &["run", "flow.yaml"]);
    assert!(done.out.contains("set_aside") && done.err.contains("RUN_FILES_FAILED"), "{done:?}");
    let run = stage.run_id();
    let seen = row(&stage, &run);
    assert_eq!([&seen["status"], &seen["activity"]], ["running", "set_aside"], "it has not ended");
    assert_eq!(seen["set_aside"]["code"], "RUN_FILES_FAILED");
    // An engine that comes up leaves it where it is; another run, and another one's questions, are served.
    let served = Served::start(&stage);
    let admin = served.client(served.first.as_deref().unwrap());
    assert_eq!(admin.json(&format!("/v1/runs/{run}"))["activity"], "set_aside");
    stage.expect(0, &["run", "--share-workspace", "plain.yaml"]);
    let again = admin.post(&format!("/v1/runs/{run}/resume"), "");
    assert_eq!(
        (again.status, again.json()["code"].as_str()),
        (409, Some("RUN_SET_ASIDE")),
        "{}",
        again.text()
    );
    let resumed = stage.expect(8, &["resume", &run]);
    assert!(resumed.err.contains("RUN_SET_ASIDE"), "{resumed:?}");
    wait_until("the server says so", || served.process.said().contains(&format!("run {run} stays aside")));
    served.process.signal(Signal::TERM);
    assert_eq!(served.process.done().code, Some(0));
    // The commands that look at it report it.
    let doctor = stage.expect(8, &["doctor"]);
    assert!(doctor.out.contains(&format!("envoi resume {run}")), "{doctor:?}");
    let repair = stage.expect(8, &["repair", &run]);
    assert!(repair.out.contains("RUN_FILES_FAILED") && repair.out.contains("first.1.json"), "{repair:?}");
    assert!(stage.expect(0, &["show", &run]).out.contains("RUN_FILES_FAILED"));
    std::fs::remove_file(stage.store().join("runs").join(&run).join("nasty")).unwrap();
    stage.expect(0, &["resume", &run]);
    assert_eq!(stage.lines("did"), ["first", "plain", "second"], "nothing ran twice");
    assert_eq!(row(&stage, &run)["activity"], Value::Null);
    stage.expect(0, &["repair", &run]);
    stage.expect(0, &["doctor"]);
}

#[test]
fn runs_follow_shows_that_a_run_is_set_aside_and_taken_up_again() {
    let waits = "'while [ ! -e go ]; do sleep 0.02; done'";
    let stage = Stage::with_flow(&NASTY.replace("echo second >> did", waits));
    stage.expect(8, &["run", "flow.yaml"]);
    let run = stage.run_id();
    let (mut lines, mut json) = (stage.start(&["runs", "-f"]), stage.start(&["--json", "runs", "-f"]));
    let mut line_with = |words: &str| loop {
        let line = lines.line();
        if line.contains(words) {
            return line;
        }
    };
    let mut told = || loop {
        let line: Value = serde_json::from_str(&json.line()).unwrap();
        if line.get("set_aside").is_some() {
            assert_eq!(line["run"], run);
            return line["set_aside"].clone();
        }
    };
    let aside = line_with("set aside");
    assert!(aside.contains(&run) && aside.contains("RUN_FILES_FAILED"), "{aside}");
    assert_eq!(told()["code"], "RUN_FILES_FAILED");
    std::fs::remove_file(stage.store().join("runs").join(&run).join("nasty")).unwrap();
    stage.expect(0, &["resume", &run, "--detach"]);
    line_with("taken up again");
    assert_eq!(told(), Value::Null);
    stage.write("go", "");
    line_with("succeeded");
    lines.kill();
    json.kill();
}

#[test]
fn a_run_whose_events_cannot_be_read_is_set_aside_and_the_others_come_up() {
    let flow = "flow: asks\nsteps:\n  - id: a\n    ask: { message: Go on?, expires_in: 100d }\n  \
                - id: b\n    run: echo b >> did\n";
    let stage = Stage::with_flow(flow);
    stage.expect(3, &["run", "flow.yaml"]);
    let damaged = stage.run_id();
    stage.expect(3, &["run", "flow.yaml"]);
    let whole = text(&stage.runs()[0]["run"]);
    let change = |from: &str, to: &str| {
        let script = format!(
            "db.execute('''UPDATE events SET body = replace(body, '{from}', '{to}') WHERE run = \
             (SELECT run FROM journals WHERE id = '{damaged}') AND seq = 1'''); print('ready', flush=True)"
        );
        let (mut child, _) = database(&stage, &script);
        assert!(child.wait().unwrap().success());
    };
    change("{\"type\":", "{\"kind\":");
    let served = Served::start(&stage);
    wait_until("the run to be aside", || row(&stage, &damaged)["activity"] == "set_aside");
    assert_eq!(row(&stage, &damaged)["set_aside"]["code"], "RUN_UNREADABLE");
    stage.expect(0, &["approve", &whole]);
    let resumed = stage.expect(8, &["resume", &damaged]);
    assert!(resumed.err.contains("RUN_SET_ASIDE") && resumed.err.contains("RUN_UNREADABLE"), "{resumed:?}");
    assert!(stage.expect(0, &["show", &damaged]).out.contains("RUN_UNREADABLE"));
    let looked = stage.expect(8, &["repair", &damaged]);
    assert!(looked.out.contains("event that cannot be read: 1:"), "{looked:?}");
    assert_eq!(stage.envoi(&["cancel", &damaged]).code, Some(8));
    change("{\"kind\":", "{\"type\":");
    stage.expect(3, &["resume", &damaged]);
    assert_eq!(row(&stage, &damaged)["set_aside"], Value::Null);
    stage.expect(0, &["approve", &damaged]);
    assert_eq!(stage.lines("did"), ["b", "b"]);
    drop(served);
}

/// Two of them share a workspace, and wait for the same gate.
const GATED: &str = "flow: gated\nsteps:\n  - { id: a, run: 'until [ -e go ]; do sleep 0.02; done' }\n  \
                     - { id: b, run: 'echo $ENVOI_RUN_ID >> did' }\n";

/// A defect that shows once: as an engine that has come up looks for an attempt, and as it shows what it has committed.
#[test]
fn a_panic_over_one_run_sets_it_aside_and_the_engine_and_the_other_run_go_on() {
    for (point, code) in
        [("before-probe:panic", "ATTEMPT_UNKNOWN"), ("before-show:panic", "RUN_INCONSISTENT")]
    {
        let stage = Stage::new();
        let before = Served::start(&stage);
        let token = before.first.clone().unwrap();
        let client = before.client(&token);
        let runs = [(); 2].map(|()| client.run(GATED));
        for run in &runs {
            let works = || client.json(&format!("/v1/runs/{run}"))["live_attempts"] == 1;
            wait_until("its step", works);
        }
        before.process.kill();
        let served = Served::failing(&stage, point);
        stage.write("go", "");
        let activity = |run: &String| row(&stage, run)["activity"] == "set_aside";
        wait_until("one of them to be aside", || runs.iter().any(activity));
        let (aside, other) = if activity(&runs[0]) { (&runs[0], &runs[1]) } else { (&runs[1], &runs[0]) };
        served.client(&token).wait_until_run_is(other, "succeeded");
        let why = row(&stage, aside)["set_aside"].clone();
        assert_eq!(why["code"], code, "{why}");
        assert!(text(&why["reason"]).contains("panicked"), "{why}");
        stage.expect(0, &["resume", aside]);
        let (mut did, mut all) = (stage.lines("did"), runs.to_vec());
        did.sort();
        all.sort();
        assert_eq!(did, all);
        served.process.signal(Signal::TERM);
        let done = served.process.done();
        assert_eq!(done.code, Some(0), "{done:?}");
        assert!(done.err.contains("panicked at"), "the cause is said: {done:?}");
    }
}

#[test]
fn the_status_of_a_run_is_true_after_a_kill() {
    let stage = Stage::with_flow(
        "flow: long\nsteps:\n  - id: a\n    run: 'while [ ! -e go ]; do sleep 0.05; done'\n",
    );
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || stage.supervisor("a.1.1").is_some());
    let run = stage.run_id();
    let activity = || text(&row(&stage, &run)["activity"]);
    let shown = || stage.json(&["--json", "show", &run]);
    assert_eq!((activity(), shown()["running"][0].as_str()), ("working".to_owned(), Some("a.1.1")));
    engine.kill();
    let listed = stage.expect(0, &["runs"]);
    assert!(listed.out.contains("running without an engine"), "{listed:?}");
    assert!(listed.err.contains("envoi resume RUN waits for the step and goes on"), "{listed:?}");
    assert_eq!((activity(), &row(&stage, &run)["step_works"]), ("working".to_owned(), &Value::Bool(true)));
    assert_eq!(text(&row(&stage, &run)["stands"]), "running_without_an_engine");
    let show = stage.expect(0, &["show", &run]).out;
    let goes_on = format!("running without an engine: its step still works; envoi resume {run} waits");
    assert!(show.contains(&goes_on), "{show}");
    assert_eq!(shown()["running"][0].as_str(), Some("a.1.1"));
    // Waiting would not end it, so the refusal of another run in its folder has the remedy.
    let refused = stage.envoi(&["run", "flow.yaml"]);
    assert!(
        refused.err.contains("WORKSPACE_BUSY") && refused.err.contains("no engine goes on with run"),
        "{refused:?}"
    );
    assert!(refused.err.contains(&format!("`envoi resume {run}` waits for the step")), "{refused:?}");
    stage.kill_attempts();
    wait_until("the step to be gone", || row(&stage, &run)["step_works"] == Value::Bool(false));
    assert_eq!(
        (activity(), text(&row(&stage, &run)["stands"])),
        ("stopped".to_owned(), "stopped".to_owned())
    );
    let (runs, show) = (stage.expect(0, &["runs"]).out, stage.expect(0, &["show", &run]).out);
    assert!(runs.contains("stopped") && !runs.contains("running"), "{runs}");
    assert!(show.contains("stopped") && show.contains(&format!("envoi resume {run}")), "{show}");
    assert!(!show.contains("running"), "{show}");
    assert_eq!((&shown()["running"], shown()["left"][0].as_str()), (&serde_json::json!([]), Some("a.1.1")));
    let since = text(&row(&stage, &run)["activity_since"]);
    assert!(since >= text(&row(&stage, &run)["updated_at"]), "{since}");
}

#[test]
fn an_engine_waits_for_a_locked_store_and_loses_nothing() {
    let stage = Stage::with_flow(PLAIN);
    let served = Served::start(&stage);
    let (mut locking, _out) =
        database(&stage, "db.execute('BEGIN IMMEDIATE'); print('ready', flush=True); sys.stdin.read()");
    let run = stage.start(&["run", "flow.yaml"]);
    wait_until("the engine to say so", || served.process.said().contains("keeps the store locked"));
    locking.stdin.take().unwrap().flush().unwrap();
    locking.wait().unwrap();
    assert_eq!(run.done().code, Some(0));
    assert_eq!(stage.lines("did"), ["plain"]);
    assert_eq!(served.process.said().matches("failed").count(), 0, "{}", served.process.said());
}

#[test]
fn a_command_that_becomes_the_engine_waits_for_a_locked_store() {
    let stage = Stage::with_flow(PLAIN);
    stage.expect(0, &["run", "flow.yaml"]);
    let (mut locking, _out) =
        database(&stage, "db.execute('BEGIN IMMEDIATE'); print('ready', flush=True); sys.stdin.read()");
    let stopped = stage.start(&["run", "flow.yaml"]);
    wait_until("the engine to say so", || stopped.said().contains("keeps the store locked"));
    stopped.signal(Signal::INT);
    assert_eq!(stopped.done().code, Some(7));
    let run = stage.start(&["run", "flow.yaml"]);
    wait_until("the engine to say so", || run.said().contains("keeps the store locked"));
    locking.stdin.take().unwrap().flush().unwrap();
    locking.wait().unwrap();
    assert_eq!(run.done().code, Some(0));
    assert_eq!(stage.lines("did"), ["plain", "plain"], "the one that was stopped had begun nothing");
}

#[test]
fn an_answer_to_a_run_that_is_set_aside_hears_that_at_every_door_and_is_taken_when_it_is_not() {
    let flow = "flow: asks\nsteps:\n  - id: make\n    run: echo made >> did\n  - id: a\n    ask: Go on?\n  \
                - id: b\n    run: echo b >> did\n";
    let stage = Stage::with_flow(flow);
    let damage = |run: &str, from: &str, to: &str| {
        let script = format!(
            "db.execute('''UPDATE events SET body = replace(body, '{from}', '{to}') WHERE run = \
             (SELECT run FROM journals WHERE id = '{run}') AND seq = 1'''); print('ready', flush=True)"
        );
        assert!(database(&stage, &script).0.wait().unwrap().success());
    };
    let token = crate::serve::client::token(&stage, &["admin", "--scope", "admin"]);
    for is_readable in [true, false] {
        stage.expect(3, &["run", "flow.yaml"]);
        let run = text(&stage.runs()[0]["run"]);
        let before = stage.events(&run);
        let (folder, kept) = (stage.store().join("runs").join(&run).join("asks"), stage.path(&run));
        if is_readable {
            std::fs::rename(&folder, &kept).unwrap();
            std::fs::write(&folder, "in the way").unwrap();
        } else {
            damage(&run, "{\"type\":", "{\"kind\":");
        }
        let resumed = stage.expect(8, &["resume", &run]);
        assert!(resumed.err.contains("RUN_SET_ASIDE"), "{resumed:?}");
        let served = Served::start(&stage);
        let admin = served.client(&token);
        let question = admin.question(&run);
        let says = |door: &str, words: &str| assert!(words.contains("RUN_SET_ASIDE"), "{door}: {words}");
        for arguments in [
            ["approve", &question].as_slice(),
            &["approve", &run],
            &["deny", &question, "--reason", "no"],
            &["answer", &question, "--choice", "approve", "--no-resume"],
        ] {
            says(&arguments.join(" "), &stage.expect(8, arguments).err);
            let mut there = stage.command(&[&["--server", served.url.as_str()], arguments].concat());
            let done = crate::stage::Process::spawn(there.env("ENVOI_TOKEN", &token)).done();
            assert_eq!(done.code, Some(8), "{done:?}");
            says(&format!("--server {}", arguments.join(" ")), &done.err);
        }
        let answer = admin.post(&format!("/v1/questions/{question}/answer"), r#"{"choice": "approve"}"#);
        assert_eq!(answer.status, 409, "{}", answer.text());
        says("REST", &answer.text());
        let peer = Peer::new(&admin, Way::Rpc);
        let message = peer.message("m-1", &[peer.text("approve")], &serde_json::json!({"taskId": run}));
        let refused = peer.send(message, &[]).unwrap_err();
        says("A2A", &refused.text);
        assert!(refused.message.contains("is set aside"), "{}", refused.message);
        if is_readable {
            assert_eq!(admin.json(&format!("/v1/questions/{question}"))["choices"][0], "approve");
            std::fs::remove_file(&folder).unwrap();
            std::fs::rename(&kept, &folder).unwrap();
        } else {
            says("REST", &admin.get(&format!("/v1/questions/{question}")).text());
            damage(&run, "{\"kind\":", "{\"type\":");
        }
        assert_eq!(stage.events(&run), before, "nothing was taken");
        stage.expect(3, &["resume", &run]);
        if is_readable {
            // The server holds it now, and has it whole in memory.
            std::fs::rename(&folder, &kept).unwrap();
            std::fs::write(&folder, "in the way").unwrap();
            let refused = stage.expect(8, &["approve", &question]);
            assert!(refused.err.contains("RUN_FILES_FAILED"), "{refused:?}");
            std::fs::remove_file(&folder).unwrap();
        }
        stage.expect(0, &["approve", &question]);
        served.process.signal(Signal::TERM);
        assert_eq!(served.process.done().code, Some(0));
    }
    assert_eq!(stage.lines("did"), ["made", "b", "made", "b"]);
}

#[test]
fn a_run_that_a_server_cannot_go_on_with_for_want_of_a_secret_says_so_and_goes_on_when_it_is_there() {
    let flow = "flow: secretive\nsecrets: { KEY: { env: MY_KEY } }\nsteps:\n  - id: work\n    \
                run: 'echo work >> did; while [ ! -e go ]; do sleep 0.02; done'\n  - id: use\n    run: echo $KEY | wc -c >> did\n";
    let stage = Stage::with_flow(flow);
    let engine =
        crate::stage::Process::spawn(stage.command(&["run", "flow.yaml"]).env("MY_KEY", "a long secret"));
    wait_until("the step", || stage.lines("did") == ["work"]);
    let run = stage.run_id();
    engine.kill();
    stage.write("go", "");
    wait_until("the end of the step", || stage.supervisors().is_empty());
    for round in 0..2 {
        let served = Served::start(&stage);
        wait_until("the run to be aside", || row(&stage, &run)["activity"] == "set_aside");
        wait_until("it to be said", || served.process.said().contains("is set aside (SECRET_MISSING)"));
        let seen = row(&stage, &run);
        assert_eq!(seen["set_aside"]["code"], "SECRET_MISSING", "round {round}: {seen}");
        assert!(text(&seen["set_aside"]["reason"]).contains("KEY"), "{seen}");
        assert!(stage.expect(0, &["show", &run]).out.contains("SECRET_MISSING"));
        let token = crate::serve::client::token(&stage, &[["a", "b"][round], "--scope", "read"]);
        let shown = served.client(&token).json(&format!("/v1/runs/{run}"));
        assert_eq!([&shown["activity"], &shown["set_aside"]["code"]], ["set_aside", "SECRET_MISSING"]);
        served.process.signal(Signal::TERM);
        assert_eq!(served.process.done().code, Some(0));
    }
    let mut with_secret = stage.command(&["serve", "--listen", "127.0.0.1:0"]);
    let server = crate::stage::Process::spawn(with_secret.env("MY_KEY", "a long secret"));
    wait_until("its end", || row(&stage, &run)["status"] == "succeeded");
    server.signal(Signal::TERM);
    assert_eq!(server.done().code, Some(0));
    assert_eq!(stage.lines("did"), ["work", "14"]);
    assert_eq!(row(&stage, &run)["set_aside"], Value::Null);
}

#[test]
fn of_two_runs_in_one_workspace_that_a_server_finds_one_goes_on_and_the_other_says_why_not() {
    let step = "run: 'echo $ENVOI_RUN_ID >> did; while [ ! -e go ]; do sleep 0.02; done'";
    let flow = format!("flow: first\nsteps:\n  - id: a\n    {step}\n  - id: b\n    run: echo b >> did\n");
    let stage = Stage::with_flow(&flow);
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || stage.lines("did").len() == 1);
    engine.kill();
    let first = stage.run_id();
    stage.kill_attempts();
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || stage.lines("did").len() == 2);
    engine.kill();
    let second = stage.lines("did")[1].clone();
    let served = Served::start(&stage);
    wait_until("the first run to be aside", || row(&stage, &first)["activity"] == "set_aside");
    let seen = row(&stage, &first);
    assert_eq!(seen["set_aside"]["code"], "WORKSPACE_BUSY");
    assert!(
        !seen["set_aside"].to_string().contains(&second),
        "the other run may be another tenant's: {seen}"
    );
    stage.write("go", "");
    wait_until("the end of the second", || row(&stage, &second)["status"] == "succeeded");
    assert_eq!(stage.lines("did"), [first.as_str(), &second, "b"]);
    stage.expect(5, &["resume", &first]);
    served.process.signal(Signal::TERM);
    assert_eq!(served.process.done().code, Some(0));
}

#[test]
fn a_step_that_answers_its_own_run_at_a_server_and_would_wait_for_itself_is_refused() {
    let stage = Stage::new();
    let served = Served::start(&stage);
    let admin = served.client(served.first.as_deref().unwrap());
    let (token, binary) = (served.first.as_deref().unwrap(), env!("CARGO_BIN_EXE_envoi"));
    let envoi = format!("ENVOI_TOKEN={token} {binary} --server {}", served.url);
    let ask = |how: &str| {
        format!("{envoi} approve $ENVOI_RUN_ID {how} 2>> told && echo 0 >> codes || echo $? >> codes")
    };
    let run = format!(
        "flow: itself\nsteps:\n  - id: start\n    run: 'true'\n  - {{ id: a, needs: [start], ask: Go on? }}\n  \
         - id: b\n    needs: [start]\n    \
         run: 'while ! {envoi} inbox | grep -q int_; do sleep 0.05; done; {}; {envoi} resume $ENVOI_RUN_ID 2>> told || \
         echo $? >> codes; {}'\n",
        ask(""),
        ask("--no-resume"),
    );
    let run = admin.run(&run);
    admin.wait_until_run_is(&run, "succeeded");
    assert_eq!(stage.lines("codes"), ["6", "6", "0"], "{}", stage.read("told"));
    let told = stage.read("told");
    assert_eq!(told.matches("would wait for its own run").count(), 2, "{told}");
}

#[test]
fn a_run_whose_last_event_is_missing_is_set_aside_and_a_resume_of_it_ends() {
    let stage = Stage::with_flow(PLAIN);
    stage.expect(0, &["run", "flow.yaml"]);
    let run = stage.run_id();
    let script = "db.execute('DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)'); print('ready', flush=True)";
    assert!(database(&stage, script).0.wait().unwrap().success());
    stage.expect(8, &["repair"]);
    assert_eq!(row(&stage, &run)["activity"], "set_aside");
    for _ in 0..2 {
        let resumed = stage.expect(8, &["resume", &run]);
        assert!(resumed.err.contains("last events are missing"), "{resumed:?}");
        assert_eq!(row(&stage, &run)["set_aside"]["code"], "RUN_INCONSISTENT");
    }
    stage.expect(0, &["cancel", &run]);
    assert_eq!(stage.lines("did"), ["plain"]);
}
