//! Ending a run on purpose, stopping an engine on purpose, and runs beside each other.

use crate::stage::{Process, Stage, lives, signal, text, wait_until};
use rustix::process::Signal;
use std::process::{Command, Stdio};

const HANGING: &str = "flow: hanging\nsteps:\n  - id: work\n    run: \"echo $ENVOI_ATTEMPT >> ledger; while [ ! -e go ]; do sleep 0.01; done\"\n  \
                       - id: after\n    run: echo $ENVOI_ATTEMPT >> ledger\n";

fn cancelled(stage: &Stage, run: &str) {
    let row = stage.json(&["--json", "show", run]);
    assert_eq!(
        (&row["status"], &row["terminal_reason"]),
        (&"cancelled".into(), &"user_cancelled".into()),
        "{row}"
    );
    stage.assert_nothing_left();
    assert_eq!(stage.lines("ledger"), ["work.1.1"]);
}

#[test]
fn a_cancelled_run_ends_with_its_step_under_any_engine() {
    let stage = Stage::with_flow(HANGING);
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    let run = stage.run_id();
    stage.expect(0, &["cancel", &run]);
    assert_eq!(engine.done().code, Some(130));
    cancelled(&stage, &run);
    stage.expect(0, &["cancel", &run]);
    // A cancelled run can be reopened.
    stage.write("go", "");
    stage.expect(0, &["resume", &run]);
    assert_eq!(stage.lines("ledger"), ["work.1.1", "work.2.1", "after.1.1"]);
    let late = stage.expect(6, &["cancel", &run]);
    assert!(late.err.contains("RUN_OVER"), "{late:?}");
}

#[test]
fn a_run_without_an_engine_can_be_cancelled() {
    let stage = Stage::with_flow(HANGING);
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    engine.kill();
    let run = stage.run_id();
    stage.expect(0, &["cancel", &run]);
    cancelled(&stage, &run);
    stage.expect(0, &["repair"]);
}

#[test]
fn a_run_whose_supervisor_is_stopped_ends_and_names_what_it_waits_for() {
    // The command is not ended by SIGTERM, so that the supervisor waits before it kills it.
    let stage = Stage::with_flow(&HANGING.replace("while [", "trap '' TERM; while ["));
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    let supervisor = stage.supervisor("work.1.1").unwrap();
    signal(supervisor, Signal::STOP);
    let cancel = stage.start(&["cancel"]);
    let line =
        format!("waiting for attempt `work.1.1` (process {supervisor}) to end; the cancellation stands");
    // It is stopped again whenever it is continued.
    wait_until("the line", || {
        signal(supervisor, Signal::STOP);
        cancel.said().contains(&line)
    });
    let done = cancel.done();
    assert_eq!((done.code, done.err.matches(&line).count()), (Some(0), 1), "{done:?}");
    assert_eq!(engine.done().code, Some(130));
    cancelled(&stage, &stage.run_id());
}

#[test]
fn a_run_that_waits_can_be_cancelled() {
    let stage = Stage::with_flow(
        "flow: loops\nsteps:\n  - id: critic\n    run: \"echo 'Status: UNVERIFIED'; echo work.1.1 > ledger\"\n    \
         routing: { kind: microloop, success_values: [VERIFIED], max_iterations: 1 }\n",
    );
    stage.expect(3, &["run", "flow.yaml"]);
    let run = stage.run_id();
    stage.expect(0, &["cancel", &run]);
    cancelled(&stage, &run);
}

#[test]
fn ctrl_c_once_waits_for_the_live_step_and_the_run_goes_on_later() {
    let stage = Stage::with_flow(HANGING);
    let mut engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    engine.signal(Signal::INT);
    wait_until("its obeying", || engine.said().contains("starting nothing new"));
    stage.write("go", "");
    wait_until("its end", || engine.is_over());
    assert_eq!(engine.done().code, Some(7));
    assert_eq!(stage.lines("ledger"), ["work.1.1"]);
    stage.assert_nothing_left();
    assert!(stage.attempt("work.1.1").unwrap().join("exit.json").exists(), "the step was waited for");
    stage.expect(0, &["resume"]);
    assert_eq!(stage.lines("ledger"), ["work.1.1", "after.1.1"]);
}

/// As in `nohup cargo test &` of a script.
#[test]
fn these_tests_know_ctrl_c_also_where_they_are_started_with_it_ignored() {
    let mut ignoring = Command::new("sh");
    ignoring.args(["-c", "trap '' INT; exec \"$@\"", "sh"]).arg(std::env::current_exe().unwrap());
    let name = "cancel::ctrl_c_once_waits_for_the_live_step_and_the_run_goes_on_later";
    let done = ignoring.args(["--exact", name]).output().unwrap();
    let out = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && out.contains("1 passed"), "{done:?}");
}

/// As after `nohup envoi run flow.yaml &` in a script: a Ctrl-C is meant for what runs in front.
#[test]
fn ctrl_c_is_nothing_to_a_command_that_was_started_with_it_ignored() {
    let stage = Stage::with_flow(HANGING);
    let plain = stage.command(&["run", "flow.yaml"]);
    let mut ignoring = Command::new("sh");
    ignoring.args(["-c", "trap '' INT; exec \"$@\"", "sh"]).arg(plain.get_program()).args(plain.get_args());
    ignoring.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    ignoring.current_dir(plain.get_current_dir().unwrap());
    ignoring.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let engine = Process::spawn(&mut ignoring);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    assert!(!handles_int(engine.pid()), "there is no handler");
    engine.signal(Signal::INT);
    stage.write("go", "");
    let done = engine.done();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(stage.lines("ledger"), ["work.1.1", "after.1.1"]);
}

#[test]
fn ctrl_c_twice_leaves_the_step_to_its_supervisor() {
    for first in [Signal::INT, Signal::TERM] {
        let stage = Stage::with_flow(HANGING);
        let engine = stage.start(&["run", "flow.yaml"]);
        wait_until("the step", || !stage.lines("ledger").is_empty());
        let supervisor = stage.supervisor("work.1.1").unwrap();
        engine.signal(first);
        // Two signals of a kind that are pending at once are one.
        wait_until("the first to be heard", || pending_none(engine.pid()));
        engine.signal(Signal::INT);
        let done = engine.done();
        assert_eq!(done.code, Some(7), "{done:?}");
        assert!(lives(supervisor));
        let resumed = stage.start(&["resume"]);
        stage.write("go", "");
        assert_eq!(resumed.done().code, Some(0));
        assert_eq!(stage.lines("ledger"), ["work.1.1", "after.1.1"]);
    }
}

/// Whether no signal waits for this process.
fn pending_none(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"));
    pending.is_some_and(|bits| bits.trim().chars().all(|bit| bit == '0'))
}

#[test]
fn ctrl_c_of_a_follower_leaves_the_run_to_its_engine() {
    let stage = Stage::with_flow(HANGING);
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    let follower = stage.start(&["--json", "resume", &stage.run_id()]);
    wait_until("the follower to listen", || handles_int(follower.pid()));
    follower.signal(Signal::INT);
    assert_eq!(follower.done().code, Some(7));
    stage.write("go", "");
    assert_eq!(engine.done().code, Some(0));
}

fn handles_int(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught =
        status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or_default().trim().to_owned();
    u64::from_str_radix(&caught, 16).is_ok_and(|bits| bits & 0b10 != 0)
}

#[test]
fn a_detached_run_goes_on_alone_and_its_engine_goes_away() {
    let stage = Stage::with_flow(HANGING);
    let done = stage.expect(0, &["run", "flow.yaml", "--detach"]);
    let run = done.out.trim().to_owned();
    wait_until("the step", || !stage.lines("ledger").is_empty());
    let engine: u32 = stage.read(".envoi/engine.lock").lines().next().unwrap().parse().unwrap();
    assert!(lives(engine));
    stage.write("go", "");
    wait_until("its end", || stage.json(&["--json", "show", &run])["status"] == "succeeded");
    wait_until("the engine's end", || !lives(engine));
    assert_eq!(stage.lines("ledger"), ["work.1.1", "after.1.1"]);
    // Detached a second time, beside an engine.
    std::fs::remove_file(stage.path("go")).unwrap();
    let holder = stage.start(&["run", "flow.yaml"]);
    wait_until("the second", || stage.lines("ledger").len() == 3);
    stage.expect(0, &["run", "flow.yaml", "--detach", "--share-workspace"]);
    stage.write("go", "");
    assert_eq!(holder.done().code, Some(0));
    wait_until("all", || stage.runs().iter().all(|row| row["status"] == "succeeded"));
}

#[test]
fn one_job_at_a_time_is_one_attempt_at_a_time() {
    let exclusive = "flow: one\nsteps:\n  - id: a\n    run: mkdir busy && sleep 0.05 && rmdir busy\n  - id: b\n    run: mkdir busy && sleep 0.05 && rmdir busy\n";
    let stage = Stage::with_flow(exclusive);
    stage.write("hold.yaml", "flow: hold\nsteps:\n  - id: hold\n    run: \"echo x > held; while [ ! -e go ]; do sleep 0.01; done\"\n");
    let holder = stage.start(&["run", "hold.yaml", "--jobs", "1"]);
    wait_until("the holder", || stage.path("held").exists());
    let runs: Vec<_> = (0..3).map(|_| stage.start(&["run", "flow.yaml", "--share-workspace"])).collect();
    wait_until("all to be accepted", || stage.runs().len() == 4);
    assert!(stage.runs().iter().filter(|row| row["flow"] == "one").all(|row| row["live_attempts"] == 0));
    stage.write("go", "");
    for run in runs {
        let done = run.done();
        assert_eq!(done.code, Some(0), "{done:?}");
    }
    assert_eq!(holder.done().code, Some(0));
}

#[test]
fn a_workspace_is_used_by_one_run_by_default() {
    let stage = Stage::with_flow(HANGING);
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    let refused = stage.expect(6, &["run", "flow.yaml"]);
    assert!(refused.err.contains("WORKSPACE_BUSY") && refused.err.contains("--copy"), "{refused:?}");
    assert_eq!(stage.runs().len(), 1, "nothing was committed");
    let fifo = std::process::Command::new("mkfifo").arg(stage.path("pipe")).status().unwrap();
    assert!(fifo.success());
    stage.write("quick.yaml", "flow: quick\nsteps:\n  - id: a\n    run: echo mine > ledger; pwd\n");
    let copy = stage.expect(0, &["run", "quick.yaml", "--copy"]);
    assert_eq!(stage.lines("ledger"), ["work.1.1"], "the copy has its own: {copy:?}");
    let row = stage.runs().into_iter().find(|row| row["flow"] == "quick").unwrap();
    assert!(text(&row["workspace"]).ends_with("/_workspace"), "{row}");
    stage.write("go", "");
    assert_eq!(engine.done().code, Some(0));
}

#[test]
fn ctrl_c_in_a_terminal_reaches_every_process_of_the_group_and_no_step() {
    use rustix::process::{Pid, kill_process_group};
    use std::os::unix::process::CommandExt as _;
    let stage = Stage::with_flow(HANGING);
    let engine = Process::spawn(stage.command(&["run", "flow.yaml"]).process_group(0));
    wait_until("the step", || !stage.lines("ledger").is_empty());
    kill_process_group(Pid::from_raw(i32::try_from(engine.pid()).unwrap()).unwrap(), Signal::INT).unwrap();
    wait_until("its obeying", || engine.said().contains("starting nothing new"));
    stage.write("go", "");
    let done = engine.done();
    assert_eq!(done.code, Some(7), "{done:?}");
    let run = stage.run_id();
    let settled = stage.events(&run).into_iter().find(|event| event["type"] == "attempt_settled");
    assert_eq!(settled.unwrap()["ok"], true);
    stage.expect(0, &["resume", &run, "--detach"]);
    wait_until("its end", || stage.json(&["--json", "show", &run])["status"] == "succeeded");
    assert_eq!(stage.lines("ledger"), ["work.1.1", "after.1.1"]);
}

#[test]
fn cancelling_a_run_without_an_engine_starts_nothing_of_it() {
    let stage = Stage::with_flow(HANGING);
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    engine.signal(Signal::INT);
    wait_until("its obeying", || engine.said().contains("starting nothing new"));
    stage.write("go", "");
    assert_eq!(engine.done().code, Some(7));
    let run = stage.run_id();
    let started = || stage.events(&run).iter().filter(|event| event["type"] == "attempt_started").count();
    assert_eq!(started(), 1);
    stage.expect(0, &["cancel", &run]);
    assert_eq!(started(), 1, "the step after it was not started");
    cancelled(&stage, &run);
}
