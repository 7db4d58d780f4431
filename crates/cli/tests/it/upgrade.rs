//! The binary is replaced while it works.

use crate::stage::{Stage, arguments, lives, wait_until};
use std::fs;

const FLOW: &str = "flow: upgrade\nsteps:\n  - id: long\n    run: \"echo $ENVOI_ATTEMPT >> ledger; while [ ! -e go ]; do sleep 0.01; done\"\n  \
                    - id: after\n    run: echo $ENVOI_ATTEMPT >> ledger\n";

/// Puts a fresh copy of the binary, another file, in the place of `name`.
fn install(stage: &Stage, name: &str) {
    let temp = stage.path("envoi.new");
    // In a process of its own: a child that another test forks meanwhile must not hold the copy open for writing, because a
    // file that is written to cannot be executed.
    let copied = std::process::Command::new("cp").arg(env!("CARGO_BIN_EXE_envoi")).arg(&temp).status();
    assert!(copied.unwrap().success());
    fs::rename(&temp, stage.path(name)).unwrap();
}

fn stage() -> Stage {
    let mut stage = Stage::with_flow(FLOW);
    install(&stage, "envoi");
    stage.use_binary(stage.path("envoi"));
    stage
}

#[test]
fn a_new_build_adopts_the_step_that_the_old_one_started() {
    let stage = stage();
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    let supervisor = stage.supervisor("long.1.1").unwrap();
    install(&stage, "envoi");
    engine.kill();
    let mut new = stage.start(&["resume"]);
    wait_until("the new engine", || {
        stage.store().join("engine.lock").metadata().is_ok_and(|lock| lock.len() > 0)
    });
    assert!(lives(supervisor) && !new.is_over(), "{:?}", arguments(supervisor));
    let old = fs::read_link(format!("/proc/{supervisor}/exe")).unwrap();
    assert!(old.to_string_lossy().ends_with(" (deleted)"), "{}", old.display());
    stage.write("go", "");
    assert_eq!(new.done().code, Some(0));
    assert_eq!(stage.lines("ledger"), ["long.1.1", "after.1.1"]);
}

#[test]
fn an_engine_whose_file_is_gone_still_starts_its_next_step() {
    let stage = stage();
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    fs::remove_file(stage.path("envoi")).unwrap();
    stage.write("go", "");
    assert_eq!(engine.done().code, Some(0));
    assert_eq!(stage.lines("ledger"), ["long.1.1", "after.1.1"]);
}
