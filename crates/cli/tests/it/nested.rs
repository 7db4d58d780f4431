//! A step that calls `envoi run` waits for an inner run, and lends it its slot and its workspace.

use crate::stage::{Stage, wait_until};

/// A stage with flows that call each other: `flow.yaml` calls `middle.yaml` for each item, that one `inner.yaml`.
fn stage(items: &str) -> Stage {
    let envoi = env!("CARGO_BIN_EXE_envoi");
    let stage = Stage::with_flow(&format!(
        "flow: outer\nsteps:\n  - id: each\n    for_each: [{items}]\n    cwd: \"${{{{ item }}}}\"\n    run: '{envoi} run middle.yaml'\n"
    ));
    for item in items.split(", ") {
        let middle = format!("flow: middle\nsteps:\n  - id: call\n    run: '{envoi} run inner.yaml'\n");
        stage.write(&format!("{item}/middle.yaml"), middle);
        let inner = "flow: inner\nsteps:\n  - { id: first, run: 'echo first >> ledger' }\n  - { id: second, run: 'echo second >> ledger' }\n";
        stage.write(&format!("{item}/inner.yaml"), inner);
    }
    stage
}

#[test]
fn inner_runs_go_on_when_their_callers_hold_every_slot() {
    let items = "a, b, c, d, e, f, g, h";
    for jobs in ["1", "4"] {
        let stage = stage(items);
        stage.expect(0, &["run", "flow.yaml", "--jobs", jobs]);
        for item in items.split(", ") {
            assert_eq!(stage.lines(&format!("{item}/ledger")), ["first", "second"], "{item}");
        }
        assert_eq!(stage.runs().len(), 17);
    }
}

#[test]
fn two_inner_runs_of_one_step_share_the_slot_that_it_lends() {
    let envoi = env!("CARGO_BIN_EXE_envoi");
    let both = format!("cd a && {envoi} run inner.yaml & cd b && {envoi} run inner.yaml; wait");
    let stage = stage("a, b");
    stage.write("flow.yaml", format!("flow: outer\nsteps:\n  - id: both\n    run: '{both}'\n"));
    stage.expect(0, &["run", "flow.yaml", "--jobs", "1"]);
    for item in ["a", "b"] {
        assert_eq!(stage.lines(&format!("{item}/ledger")), ["first", "second"], "{item}");
    }
}

#[test]
fn an_engine_that_starts_nothing_new_sees_the_inner_runs_of_live_steps_through() {
    let envoi = env!("CARGO_BIN_EXE_envoi");
    let stage = stage("a");
    let call =
        format!("echo there > begun; until [ -e go ]; do sleep 0.02; done; cd a && {envoi} run inner.yaml");
    stage.write(
        "flow.yaml",
        format!(
            "flow: outer\nsteps:\n  - id: call\n    run: '{call}'\n  - id: after\n    run: touch after\n"
        ),
    );
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("begun").is_empty());
    engine.signal(rustix::process::Signal::INT);
    wait_until("the engine", || engine.said().contains("starting nothing new"));
    stage.write("go", "");
    assert_eq!(engine.done().code, Some(7));
    assert_eq!(stage.lines("a/ledger"), ["first", "second"]);
    assert!(!stage.path("after").exists());
}

#[test]
fn an_inner_run_in_another_store_has_slots_of_its_own() {
    let envoi = env!("CARGO_BIN_EXE_envoi");
    let stage = stage("a");
    let call = format!("{envoi} --home {} run a/inner.yaml --jobs 1", stage.path("elsewhere").display());
    stage.write("flow.yaml", format!("flow: outer\nsteps:\n  - id: call\n    run: '{call}'\n"));
    stage.expect(0, &["run", "flow.yaml", "--jobs", "1"]);
    assert_eq!(stage.lines("a/ledger"), ["first", "second"]);
    assert_eq!(stage.runs().len(), 1);
}

#[test]
fn a_step_that_would_wait_for_its_own_run_is_refused_and_may_answer_without_waiting() {
    let envoi = env!("CARGO_BIN_EXE_envoi");
    let step = format!(
        "{envoi} resume $ENVOI_RUN_ID 2> resume || echo $? >> resume\n\
         {envoi} approve $ENVOI_RUN_ID 2> follows || echo $? >> follows\n\
         {envoi} approve $ENVOI_RUN_ID --no-resume; echo $? > records\n"
    );
    let script = step.lines().map(|line| format!("      {line}\n")).collect::<String>();
    let stage = Stage::with_flow(&format!(
        "flow: own\nsteps:\n  - id: ask\n    needs: []\n    ask: Go on?\n  - id: answers\n    needs: []\n    run: |\n{script}\
         \x20 - {{ id: after, needs: [ask], run: touch after }}\n"
    ));
    stage.expect(0, &["run", "flow.yaml"]);
    for name in ["resume", "follows"] {
        let said = stage.read(name);
        assert!(said.contains("REFUSED") && said.contains("answers.1.1"), "{name}: {said}");
        assert_eq!(said.lines().last(), Some("6"), "{name}");
    }
    assert_eq!(stage.lines("records"), ["0"]);
    assert!(stage.path("after").exists());
}

#[test]
fn a_run_below_the_workspace_of_another_is_refused_unless_a_step_of_that_one_calls_it() {
    let stage = Stage::with_flow(
        "flow: long\nsteps:\n  - { id: wait, run: 'echo there > begun; until [ -e go ]; do sleep 0.02; done' }\n",
    );
    let quick = |workspace: &str| {
        format!("flow: quick\nworkspace: {workspace}\nsteps:\n  - {{ id: a, run: 'true' }}\n")
    };
    stage.write("sub/quick.yaml", quick("."));
    stage.write("through.yaml", quick("link"));
    std::os::unix::fs::symlink(stage.path("sub"), stage.path("link")).unwrap();
    stage.write("around.yaml", quick("sub/.."));
    let mut long = stage.start(&["run", "flow.yaml"]);
    wait_until("the long step", || !stage.lines("begun").is_empty());
    let (whole, part) = (stage.path(""), stage.path("sub"));
    let whole = std::fs::canonicalize(whole).unwrap();
    for flow in ["sub/quick.yaml", "through.yaml", "around.yaml"] {
        let refused = stage.expect(6, &["run", flow]);
        assert!(refused.err.contains("WORKSPACE_BUSY"), "{refused:?}");
        assert!(refused.err.contains(&format!("`{}`", whole.display())), "{refused:?}");
        let names_both = refused.err.contains("/sub`");
        assert_eq!(names_both, flow != "around.yaml", "{refused:?} {}", part.display());
    }
    stage.expect(0, &["run", "sub/quick.yaml", "--copy"]);
    stage.expect(0, &["run", "sub/quick.yaml", "--share-workspace"]);
    assert!(!long.is_over());
    stage.write("go", "");
    assert_eq!(long.done().code, Some(0));
}

#[test]
fn a_flow_may_have_the_name_of_what_a_run_keeps_in_its_folder() {
    for name in ["workspace", "a2a", "handoff"] {
        let stage = Stage::with_flow(&format!(
            "flow: {name}\nsteps:\n  - id: first\n    run: 'echo one > page.html'\n    artifacts: [page.html]\n  \
             - id: second\n    run: 'echo two >> page.html'\n    artifacts: [page.html]\n  - id: third\n    run: 'cat page.html'\n"
        ));
        stage.expect(0, &["run", "--copy", "flow.yaml"]);
        let run = stage.run_id();
        assert_eq!(stage.lines(&format!(".envoi/runs/{run}/_workspace/page.html")), ["one", "two"]);
        assert_eq!(stage.lines(&format!(".envoi/runs/{run}/{name}/page.html")), ["one", "two"]);
        let copy = stage.path(&format!(".envoi/runs/{run}/_workspace"));
        let names: Vec<_> =
            std::fs::read_dir(&copy).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(!names.iter().any(|name| name == "handoff"), "{names:?}");
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &copy.join("page.html").metadata().unwrap().permissions(),
        );
        assert_ne!(mode & 0o200, 0, "a file of the workspace stays writable: {mode:o}");
    }
}
