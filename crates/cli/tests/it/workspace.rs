//! A workspace is taken only while something can still write in it: runs that are set aside, lost or in doubt let others in.

use crate::{
    serve::client::Served,
    stage::{Stage, lives, signal, text, wait_until},
};
use rustix::process::Signal;
use std::{fs, os::unix::fs::PermissionsExt as _};

/// Its step leaves a line and waits.
const FIRST: &str = "flow: first\nsteps:\n  - id: work\n    \
                     run: 'echo first >> did; while [ ! -e go ]; do sleep 0.02; done'\n";

/// Puts a file where its hand-offs belong, so that its run is set aside; then as [`FIRST`].
const ASIDE: &str = "flow: nasty\nsteps:\n  - id: spoil\n    \
                     run: 'echo spoil >> did; rm -rf \"$ENVOI_RUN_BASE/nasty\"; touch \"$ENVOI_RUN_BASE/nasty\"'\n  \
                     - id: work\n    run: echo work >> did\n";

const SECOND: &str = "flow: second\nsteps:\n  - id: only\n    run: echo second >> did\n";

const SECOND_WAITS: &str = "flow: second\nsteps:\n  - id: only\n    \
                            run: 'echo second >> did; while [ ! -e go2 ]; do sleep 0.02; done'\n";

fn stage(first: &str, second: &str) -> Stage {
    let stage = Stage::with_flow(first);
    stage.write("other.yaml", second);
    stage
}

/// The engine is killed while the step works, and then the step's supervisor. Its processes live on.
fn without_engine_and_supervisor(stage: &Stage) -> String {
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || stage.lines("did") == ["first"]);
    let supervisor = stage.supervisor("work.1.1").unwrap();
    engine.kill();
    signal(supervisor, Signal::KILL);
    wait_until("the supervisor's end", || !lives(supervisor));
    stage.run_id()
}

fn is_busy(stage: &Stage, arguments: &[&str]) {
    let refused = stage.expect(6, arguments);
    assert!(refused.err.contains("WORKSPACE_BUSY"), "{refused:?}");
}

#[test]
fn a_run_that_is_set_aside_lets_another_one_in() {
    let stage = stage(ASIDE, SECOND);
    stage.expect(8, &["run", "flow.yaml"]);
    let first = stage.run_id();
    assert_eq!(stage.runs()[0]["activity"], "set_aside");
    stage.expect(0, &["run", "other.yaml"]);
    assert_eq!(stage.lines("did"), ["spoil", "second"]);
    fs::remove_file(stage.store().join("runs").join(&first).join("nasty")).unwrap();
    stage.expect(0, &["resume", &first]);
    assert_eq!(stage.lines("did"), ["spoil", "second", "work"]);
}

#[test]
fn a_lost_run_lets_another_one_in_once_nothing_of_its_step_lives_and_comes_back_after_it() {
    let stage = stage(FIRST, SECOND_WAITS);
    let first = without_engine_and_supervisor(&stage);
    assert!(!stage.step_processes().is_empty(), "the step writes on without its supervisor");
    is_busy(&stage, &["run", "other.yaml"]);
    stage.write("go", "");
    wait_until("the step's end", || stage.step_processes().is_empty());
    let second = stage.start(&["run", "other.yaml"]);
    wait_until("the second run", || stage.lines("did") == ["first", "second"]);
    let before = stage.events(&first).len();
    is_busy(&stage, &["resume", &first]);
    assert_eq!(stage.events(&first).len(), before, "nothing happened");
    // The first run stays where it is. The second run keeps the workspace, also when its engine is killed.
    second.kill();
    is_busy(&stage, &["resume", &first]);
    stage.write("go2", "");
    stage.expect(0, &["resume", &text(&stage.runs()[0]["run"])]);
    stage.expect(5, &["resume", &first]);
    stage.expect(0, &["resume", &first, "--in-doubt", "rerun"]);
    assert_eq!(stage.lines("did"), ["first", "second", "first"]);
}

#[test]
fn a_step_that_lives_keeps_its_workspace_after_its_engine() {
    let stage = stage(FIRST, SECOND);
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || stage.lines("did") == ["first"]);
    engine.kill();
    is_busy(&stage, &["run", "other.yaml"]);
    stage.write("go", "");
    wait_until("the end of the step", || stage.supervisors().is_empty());
    stage.expect(0, &["run", "other.yaml"]);
    stage.expect(0, &["resume", &text(&stage.runs()[1]["run"])]);
    assert_eq!(stage.lines("did"), ["first", "second"], "its step counts, and did not run again");
}

#[test]
fn a_step_whose_folder_was_removed_keeps_its_workspace_while_it_lives() {
    let stage = stage(FIRST, SECOND);
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || stage.lines("did") == ["first"]);
    engine.kill();
    fs::remove_dir_all(stage.attempt("work.1.1").unwrap()).unwrap();
    is_busy(&stage, &["run", "other.yaml"]);
    stage.write("go", "");
    wait_until("the step's end", || stage.step_processes().is_empty());
    stage.expect(0, &["run", "other.yaml"]);
}

#[test]
fn beside_a_server_a_run_that_is_set_aside_lets_another_one_in_and_is_taken_up_only_after_it() {
    let stage = stage(ASIDE, SECOND_WAITS);
    stage.expect(8, &["run", "flow.yaml"]);
    let first = stage.run_id();
    fs::remove_file(stage.store().join("runs").join(&first).join("nasty")).unwrap();
    let served = Served::start(&stage);
    let second = stage.start(&["run", "other.yaml"]);
    wait_until("the second run", || stage.lines("did") == ["spoil", "second"]);
    is_busy(&stage, &["resume", &first]);
    assert_eq!(stage.json(&["--json", "show", &first])["activity"], "set_aside", "it waits for the next try");
    stage.write("go2", "");
    assert_eq!(second.done().code, Some(0));
    stage.expect(0, &["resume", &first]);
    assert_eq!(stage.lines("did"), ["spoil", "second", "work"]);
    served.process.signal(Signal::TERM);
    assert_eq!(served.process.done().code, Some(0));
}

#[test]
fn a_pipe_in_place_of_the_lock_of_a_step_blocks_no_command() {
    let flow = FIRST.replace(
        "echo first",
        "rm \"$ENVOI_RUN_BASE/attempts/$ENVOI_ATTEMPT/lock\"; \
                              mkfifo \"$ENVOI_RUN_BASE/attempts/$ENVOI_ATTEMPT/lock\"; echo first",
    );
    let stage = stage(&flow, SECOND);
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || stage.lines("did") == ["first"]);
    engine.kill();
    assert_eq!(stage.runs()[0]["status"], "running");
    is_busy(&stage, &["run", "other.yaml"]);
    stage.write("go", "");
    wait_until("the step's end", || stage.step_processes().is_empty());
    stage.expect(0, &["run", "other.yaml"]);
}

#[test]
fn of_runs_that_begin_at_the_same_moment_the_refused_ones_hear_that_the_workspace_is_busy() {
    let stage = stage(FIRST, "flow: before\nsteps:\n  - id: a\n    run: \"true\"\n");
    // The store is there, so that the runs meet while the first engine comes up.
    stage.expect(0, &["run", "other.yaml"]);
    let begun: Vec<_> = (0..4).map(|_| stage.start(&["run", "flow.yaml"])).collect();
    wait_until("a run at work", || !stage.lines("did").is_empty());
    // A late run finds the workspace free. A refused run that has become the engine stays until the run is over.
    stage.write("go", "");
    let done: Vec<_> = begun.into_iter().map(|run| run.done()).collect();
    let (succeeded, refused): (Vec<_>, Vec<_>) = done.iter().partition(|done| done.code == Some(0));
    assert_eq!(stage.lines("did").len(), succeeded.len(), "{done:?}");
    for refused in refused {
        // On a loaded machine an engine may take longer to come up than a command waits for it.
        let is_late = refused.code == Some(8) && refused.err.contains("ENGINE_UNREACHABLE");
        let is_busy = refused.code == Some(6) && refused.err.contains("WORKSPACE_BUSY");
        assert!(is_busy || is_late, "{refused:?}");
    }
}

/// Two stores in one project folder know nothing of each other's journals.
#[test]
fn a_run_of_another_store_in_the_same_folder_is_refused_while_one_is_at_work() {
    let stage = stage(FIRST, SECOND);
    let other = ["--home", "other-home"];
    let beside = |arguments: &[&'static str]| [&other[..], arguments].concat();
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || stage.lines("did") == ["first"]);
    is_busy(&stage, &beside(&["run", "other.yaml"]));
    // Its supervisor lives on, and keeps the workspace.
    engine.kill();
    is_busy(&stage, &beside(&["run", "other.yaml"]));
    stage.expect(0, &beside(&["run", "other.yaml", "--copy"]));
    stage.expect(0, &beside(&["run", "other.yaml", "--share-workspace"]));
    assert_eq!(stage.lines("did"), ["first", "second"], "the copy has a file of its own");
    let resumed = stage.start(&["resume"]);
    stage.write("go", "");
    assert_eq!(resumed.done().code, Some(0));
    stage.expect(0, &beside(&["run", "other.yaml"]));
    assert_eq!(stage.lines("did"), ["first", "second", "second"]);
}

#[test]
fn a_run_that_rested_does_not_start_a_step_beside_a_run_of_another_store() {
    let stage = stage(
        "flow: asks\nsteps:\n  - { id: first, ask: Go on? }\n  - { id: work, run: 'echo asked >> did' }\n",
        SECOND_WAITS,
    );
    stage.expect(3, &["run", "flow.yaml"]);
    let other = ["--home", "other-home"];
    let second = stage.start(&[&other[..], &["run", "other.yaml"]].concat());
    wait_until("the other run", || stage.lines("did") == ["second"]);
    is_busy(&stage, &["approve"]);
    stage.write("go2", "");
    assert_eq!(second.done().code, Some(0));
    stage.expect(0, &["approve"]);
    assert_eq!(stage.lines("did"), ["second", "asked"]);
}

/// A step may use a store of its own for what it calls.
#[test]
fn a_run_that_a_step_calls_with_another_store_works_beside_it() {
    let envoi = env!("CARGO_BIN_EXE_envoi");
    let calls = format!("'{envoi} --home inner-home run other.yaml && echo outer >> did'");
    let stage = stage(&format!("flow: outer\nsteps:\n  - id: calls\n    run: {calls}\n"), SECOND);
    stage.expect(0, &["run", "flow.yaml"]);
    assert_eq!(stage.lines("did"), ["second", "outer"]);
}

#[test]
fn a_copy_is_not_made_within_itself_and_keeps_the_modes_of_files() {
    let stage = Stage::with_flow("flow: f\nworkspace: .envoi\nsteps:\n  - id: a\n    run: 'true'\n");
    fs::create_dir(stage.store()).unwrap();
    let refused = stage.expect(2, &["run", "flow.yaml", "--copy"]);
    assert!(
        refused.err.contains("WORKSPACE_MISSING") && refused.err.contains("in which the copy would lie"),
        "{refused:?}"
    );
    assert_eq!(stage.runs_made(), [""; 0]);
    stage.write("tool.sh", "#!/bin/sh\necho ran\n");
    fs::set_permissions(stage.path("tool.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    stage.write(
        "flow.yaml",
        "flow: f\nsteps:\n  - id: a\n    run: test $(stat -c %a tool.sh) = 750 && ./tool.sh\n",
    );
    stage.expect(0, &["run", "flow.yaml", "--copy"]);
}
