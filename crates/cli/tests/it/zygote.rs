//! The process that makes the supervisors may die at any time, and leaves nothing behind.

use crate::stage::{Stage, arguments, lives, signal, text, wait_for, wait_until};
use rustix::process::Signal;

/// Each step leaves a line; the second waits for the file `go`.
const FLOW: &str = "flow: steps\nsteps:\n  - id: one\n    run: echo one >> did\n  - id: two\n    \
                    run: 'echo two >> did; while [ ! -e go ]; do sleep 0.02; done'\n  - id: three\n    run: echo three >> did\n";

/// The zygotes of all engines of this stage.
fn zygotes(stage: &Stage) -> Vec<u32> {
    let is_one = |pid: &u32| arguments(*pid).get(1).is_some_and(|argument| argument == "__zygote");
    stage.processes().into_iter().filter(is_one).collect()
}

fn zygote(stage: &Stage) -> u32 {
    wait_for("the zygote", || zygotes(stage).first().copied())
}

#[test]
fn a_run_goes_on_though_its_zygote_is_killed() {
    let stage = Stage::with_flow(FLOW);
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || stage.lines("did") == ["one", "two"]);
    let supervisor = stage.supervisor("two.1.1").unwrap();
    // That of the step before may not be over yet.
    wait_until("one that is called as if it had been started as a program, and no other", || {
        stage.supervisors() == [supervisor]
    });
    let zygote = zygote(&stage);
    signal(zygote, Signal::KILL);
    stage.write("go", "");
    assert_eq!(engine.done().code, Some(0));
    assert_eq!(stage.lines("did"), ["one", "two", "three"]);
    stage.assert_nothing_left();
}

#[test]
fn a_supervisor_outlives_the_engine_and_the_zygote_that_made_it() {
    let stage = Stage::with_flow(FLOW);
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || stage.lines("did") == ["one", "two"]);
    let (supervisor, zygote) = (stage.supervisor("two.1.1").unwrap(), zygote(&stage));
    engine.kill();
    wait_until("the zygote's end", || !lives(zygote));
    assert!(lives(supervisor));
    let next = stage.start(&["resume"]);
    stage.write("go", "");
    assert_eq!(next.done().code, Some(0));
    assert_eq!(stage.lines("did"), ["one", "two", "three"], "it was waited for, and not started again");
}

/// The last request lies unread in its socket, with the lock of the attempt.
#[test]
fn a_stopped_zygote_ends_with_its_engine_and_the_next_one_does_its_work() {
    let stage = Stage::with_flow(FLOW);
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || stage.lines("did") == ["one", "two"]);
    let zygote = zygote(&stage);
    signal(zygote, Signal::STOP);
    stage.write("go", "");
    wait_until("the next attempt", || {
        stage.attempt("three.1.1").is_some_and(|attempt| attempt.join("supervisor.log").exists())
    });
    engine.kill();
    wait_until("the zygote's end", || !lives(zygote));
    stage.expect(0, &["resume"]);
    assert_eq!(stage.lines("did"), ["one", "two", "three"]);
    stage.assert_nothing_left();
}

#[test]
fn a_step_that_runs_envoi_leaves_no_process_behind() {
    let stage = Stage::with_flow(
        "flow: outer\nsteps:\n  - id: nested\n    run: \"$BINARY --home inner run inner.yaml\"\n",
    );
    stage.write("inner.yaml", "flow: inner\nsteps:\n  - id: only\n    run: echo inner >> did\n");
    let flow = stage.read("flow.yaml").replace("$BINARY", env!("CARGO_BIN_EXE_envoi"));
    stage.write("flow.yaml", flow);
    stage.expect(0, &["run", "flow.yaml"]);
    assert_eq!(stage.lines("did"), ["inner"]);
    let exit = std::fs::read(stage.attempt("nested.1.1").unwrap().join("exit.json")).unwrap();
    let exit: serde_json::Value = serde_json::from_slice(&exit).unwrap();
    assert_eq!(exit["ended_leftovers"], 0, "{exit}");
    assert_eq!(zygotes(&stage), [] as [u32; 0]);
    assert_eq!(text(&stage.runs()[0]["status"]), "succeeded");
}

/// The allocator of `envoi` keeps huge pages from the engine, which programs would inherit.
#[test]
fn a_step_may_use_huge_pages_as_any_other_program() {
    let status =
        |command: &mut std::process::Command| String::from_utf8(command.output().unwrap().stdout).unwrap();
    let outside = status(std::process::Command::new("grep").args(["THP_enabled", "/proc/self/status"]));
    let stage = Stage::with_flow(
        "flow: pages\nsteps:\n  - id: look\n    run: 'grep THP_enabled /proc/self/status > did || true'\n",
    );
    assert_eq!(stage.start(&["run", "flow.yaml"]).done().code, Some(0));
    assert_eq!(stage.lines("did"), outside.lines().collect::<Vec<_>>());
}
