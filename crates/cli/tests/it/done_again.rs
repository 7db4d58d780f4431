//! `files: restore`: a step that is done again begins with the files that it began with the first time.

use crate::{
    files::stage,
    stage::{Stage, signal, text, wait_until},
};
use rustix::process::Signal;
use std::fs;

/// The tree of the only run.
fn tree(stage: &Stage) -> String {
    format!(".local/state/envoi/trees/{}", stage.run_id())
}

/// The events of this type of the only run.
fn events(stage: &Stage, name: &str) -> Vec<serde_json::Value> {
    stage.events(&stage.run_id()).into_iter().filter(|event| event["type"] == name).collect()
}

const LOOP: &str = "
flow: files
workspace: work
steps:
  - { id: plan, run: 'echo planned > plan.txt' }
  - id: fix
    run: 'ls >> $ENVOI_RUN_BASE/seen; echo $ENVOI_ITERATION >> made.txt; touch only-$ENVOI_ITERATION; rm plan.txt'
    files: restore
  - id: test
    run: 'test $ENVOI_ITERATION = 2'
    routing:
      kind: microloop
      loop_to: fix
      status_from_exit: { 0: VERIFIED, 1: UNVERIFIED }
      success_values: [VERIFIED]
      max_iterations: 5
";

#[test]
fn a_loop_begins_with_the_files_of_its_first_round_and_that_is_undone() {
    let stage = stage(LOOP);
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let (id, tree) = (stage.run_id(), tree(&stage));
    let seen = stage.read(&format!(".envoi/runs/{id}/seen"));
    let first = &seen[..seen.len() / 3];
    assert!(first.contains("plan.txt") && !first.contains("made.txt"), "{seen}");
    assert_eq!(seen, first.repeat(3), "each round sees what the first one saw");
    assert_eq!(stage.read(&format!("{tree}/made.txt")), "2\n");
    assert!(!stage.path(&format!("{tree}/only-1")).exists());
    let begun = events(&stage, "attempt_started");
    let settled = events(&stage, "attempt_settled");
    let of = |events: &[serde_json::Value], visit: &str| {
        let found = events.iter().find(|event| text(&event["attempt"]) == format!("{visit}.1"));
        found.unwrap_or_else(|| panic!("{visit}"))["set_back"].clone()
    };
    assert!(
        of(&begun, "fix.1").is_null() && of(&settled, "fix.1").is_null() && of(&begun, "test.2").is_null()
    );
    assert_eq!(of(&begun, "fix.3"), of(&begun, "fix.2"));
    assert_eq!(of(&settled, "fix.3")["to"], of(&begun, "fix.3"));
    assert!(
        stage.expect(0, &["why", &id]).out.contains("files set back"),
        "{}",
        stage.expect(0, &["why", &id]).out
    );
    // The state before the last time the files were set back: the second round.
    stage.expect(0, &["restore", &id, "--undo"]);
    assert_eq!(stage.read(&format!("{tree}/made.txt")), "1\n");
    assert!(stage.path(&format!("{tree}/only-1")).exists());
    stage.expect(0, &["doctor"]);
}

#[test]
fn a_step_that_is_tried_again_or_was_in_doubt_begins_anew_without_a_question() {
    let stage = stage(
        "
flow: files
workspace: work
steps:
  - id: build
    run: 'echo half >> made.txt; touch $ENVOI_RUN_BASE/at-$ENVOI_ATTEMPT; case $ENVOI_ATTEMPT in *.1) exit 1;; *.2) exec sleep 600;; esac'
    retry: { attempts: 2, backoff: 1ms }
    on_in_doubt: rerun
    files: restore
",
    );
    let run = stage.start(&["run", "flow.yaml", "--isolate"]);
    wait_until("the second attempt is at work", || {
        stage.runs().first().is_some_and(|row| {
            stage.path(&format!(".envoi/runs/{}/at-build.1.2", text(&row["run"]))).exists()
        })
    });
    signal(stage.supervisor("build.1.2").unwrap(), Signal::KILL);
    let done = run.done();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(stage.read(&format!("{}/made.txt", tree(&stage))), "half\n", "not half three times");
    stage.assert_nothing_left();
}

#[test]
fn a_supervisor_that_is_killed_while_it_sets_files_back_does_it_again_and_what_stood_there_comes_back() {
    let stage = stage(
        "
flow: files
workspace: work
steps:
  - id: build
    run: 'for i in $(seq 1000 2500); do echo $ENVOI_ATTEMPT > f$i; done; mkdir d; echo d > d/f; case $ENVOI_ATTEMPT in *.1) exit 1;; esac'
    retry: { attempts: 2, backoff: 1ms }
    files: restore
",
    );
    for i in 1000..2500 {
        stage.write(&format!("work/f{i}"), "first\n");
    }
    loop {
        let run = stage.start(&["run", "flow.yaml", "--isolate"]);
        let id = || stage.runs().first().map(|row| text(&row["run"])).unwrap_or_default();
        let before = || {
            let path = stage.path(&format!(".envoi/runs/{}/attempts/build.1.2/before.json", id()));
            fs::read_to_string(path).unwrap_or_default()
        };
        wait_until("the files are about to be set back", || before().contains("set_back"));
        stage.supervisors().into_iter().for_each(|supervisor| signal(supervisor, Signal::KILL));
        // With a snapshot in it, the command may have been started.
        let killed = !before().contains("\"snapshot\"");
        let done = run.done();
        let id = id();
        if killed {
            assert_eq!(done.code, Some(0), "{done:?}");
            let tree = format!(".local/state/envoi/trees/{id}");
            assert!(stage.read(&format!("{tree}/f1500")).contains("build.1.2"));
            stage.expect(0, &["restore", &id, "--undo"]);
            assert!(stage.read(&format!("{tree}/f1000")).contains("build.1.1"), "not what was half set back");
            assert_eq!(stage.read(&format!("{tree}/d/f")), "d\n");
            assert!(stage.read(&format!("{tree}/f2499")).contains("build.1.1"));
            return;
        }
    }
}

#[test]
fn nobodys_own_folder_is_set_back_by_a_loop() {
    let stage = stage(LOOP);
    for arguments in
        [&["run", "flow.yaml"][..], &["run", "flow.yaml", "--keep-files"], &["run", "flow.yaml", "--copy"]]
    {
        let done = stage.expect(6, arguments);
        assert!(done.err.contains("NOT_ISOLATED") && done.err.contains("`fix`"), "{done:?}");
    }
    assert!(!stage.path("work/plan.txt").exists());
    assert!(stage.runs().is_empty());
}
