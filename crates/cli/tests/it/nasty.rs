//! Commands that misbehave: the run goes on, and nothing is left behind.

use crate::stage::{Stage, lives, text};

/// Leaves its session and its parents for good, cannot be asked to end, and holds the pipes.
const DAEMON: &str = "setsid sh -c '(trap \"\" TERM HUP; echo $$ >> pids; sleep 600; sleep 601) & echo $! >> pids' & \
                      (trap '' TERM; sleep 600) & echo $! >> pids; \
                      while [ $(wc -l < pids) -lt 3 ]; do sleep 0.01; done";

fn flow(steps: &str) -> Stage {
    Stage::with_flow(&format!(
        "flow: nasty\nsteps:\n{steps}\n  - id: after\n    run: echo $ENVOI_STEP >> ledger\n"
    ))
}

/// The hand-off of a step's last visit.
fn handoff(stage: &Stage, step: &str) -> serde_json::Value {
    stage.json(&["show", "--handoff", step])
}

#[test]
fn a_step_that_leaves_daemons_does_not_hold_up_the_run_and_leaves_none() {
    let stage = flow(&format!("  - id: daemon\n    run: |\n      {DAEMON}"));
    stage.expect(0, &["run", "flow.yaml"]);
    let pids = stage.lines("pids");
    assert!(pids.len() >= 3, "{pids:?}");
    for pid in pids {
        assert!(!lives(pid.trim().parse().unwrap()), "{pid} lives on");
    }
    assert_eq!(stage.lines("ledger"), ["after"]);
    stage.assert_nothing_left();
}

#[test]
fn a_step_that_ignores_term_ends_after_its_timeout() {
    let stage = flow(
        "  - id: deaf\n    timeout: 5s\n    run: \"trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done\"",
    );
    let done = stage.expect(1, &["run", "flow.yaml"]);
    assert!(done.err.contains("TOOL_TIMEOUT"), "{done:?}");
    assert!(!lives(stage.read("pid").trim().parse().unwrap()));
    assert_eq!(stage.lines("ledger"), [""; 0]);
    stage.assert_nothing_left();
}

#[test]
fn a_step_that_prints_a_gigabyte_fills_no_disk() {
    let stage =
        flow("  - id: loud\n    run: \"head -c 1000000000 /dev/zero | tr '\\\\0' x; echo; echo the end\"");
    stage.expect(0, &["run", "flow.yaml"]);
    let kept = std::fs::metadata(stage.attempt("loud.1.1").unwrap().join("stdout")).unwrap().len();
    assert!((60 << 20..=65 << 20).contains(&kept), "{kept} bytes of stdout");
    assert!(size(&stage.store()) < 80 << 20, "{} bytes of store", size(&stage.store()));
    let summary = text(&handoff(&stage, "loud")["summary"]);
    assert!(summary.contains("the end") && summary.chars().count() <= 2000, "{summary}");
    assert_eq!(stage.lines("ledger"), ["after"]);
    // And it can be printed by who wants it.
    assert!(stage.expect(0, &["logs", "--step", "loud"]).out.contains("the end"));
}

fn size(folder: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries
        .map(
            |entry| if entry.path().is_dir() { size(&entry.path()) } else { entry.metadata().unwrap().len() },
        )
        .sum()
}

#[test]
fn a_step_that_reads_its_input_gets_its_end() {
    let stage = flow("  - id: curious\n    run: \"cat; read line || echo read: $?\"");
    stage.expect(0, &["run", "flow.yaml"]);
    assert_eq!(text(&handoff(&stage, "curious")["summary"]), "read: 1");
}

#[test]
fn a_step_that_dies_of_a_signal_has_failed() {
    let stage = flow("  - id: suicidal\n    run: kill -SEGV $$");
    let done = stage.expect(1, &["run", "flow.yaml"]);
    assert!(done.err.contains("TOOL_EXIT_NON_ZERO"), "{done:?}");
    assert_eq!(handoff(&stage, "suicidal")["status"], "failed");
    assert!(stage.lines("ledger").is_empty());
}

#[test]
fn a_command_that_is_not_there_is_not_tried_again() {
    let commands = ["[\"no-such-command-anywhere\"]", "no-such-command-anywhere", "[\"./missing.sh\"]"];
    for command in commands {
        let stage = flow(&format!(
            "  - id: missing\n    retry: {{ attempts: 3, backoff: 1s..2s }}\n    run: {command}"
        ));
        stage.expect(1, &["run", "flow.yaml"]);
        let run = stage.run_id();
        let started = stage.events(&run).into_iter().filter(|event| event["type"] == "attempt_started");
        assert_eq!(started.count(), 1, "{command}");
    }
}

#[test]
fn a_failing_step_is_tried_as_often_as_it_may() {
    let stage = flow(
        "  - id: flaky\n    retry: { attempts: 3, backoff: 10ms..20ms }\n    run: \"echo $ENVOI_ATTEMPT >> tries; test $ENVOI_ATTEMPT = flaky.1.3\"",
    );
    stage.expect(0, &["run", "flow.yaml"]);
    assert_eq!(stage.lines("tries"), ["flaky.1.1", "flaky.1.2", "flaky.1.3"]);
    let stage = flow(
        "  - id: hopeless\n    retry: { attempts: 2, backoff: 10ms..20ms }\n    run: \"echo $ENVOI_ATTEMPT >> tries; false\"",
    );
    stage.expect(1, &["run", "flow.yaml"]);
    assert_eq!(stage.lines("tries"), ["hopeless.1.1", "hopeless.1.2"]);
}

#[test]
fn artifacts_are_taken_from_inside_the_workspace_alone() {
    let stage = flow(
        "  - id: work\n    artifacts: [\"out/**\"]\n    run: \"mkdir -p out/deep ../elsewhere-$$; echo x > ../elsewhere-$$/y; \
         rmdir ../elsewhere-$$ 2>/dev/null || rm -r ../elsewhere-$$; echo kept > out/deep/kept.txt; ln -s /etc/hostname out/link; \
         mkfifo out/pipe; printf 'a\\\\nb' > \\\"out/odd name\\\"\"",
    );
    stage.expect(0, &["run", "flow.yaml"]);
    let handoff = handoff(&stage, "work");
    let artifacts: Vec<_> = handoff["artifacts"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(artifacts, ["out/deep/kept.txt", "out/odd name"]);
    let placed = stage.store().join("runs").join(stage.run_id()).join("nasty/out/deep/kept.txt");
    assert_eq!(std::fs::read_to_string(&placed).unwrap(), "kept\n");
    assert!(std::fs::metadata(&placed).unwrap().permissions().readonly());
    for outside in ["../x", "/etc/passwd", "handoff/a", "a/../../b"] {
        stage.write(
            "bad.yaml",
            format!("flow: bad\nsteps:\n  - id: a\n    artifacts: [\"{outside}\"]\n    run: x\n"),
        );
        stage.expect(2, &["check", "bad.yaml"]);
    }
}

#[test]
fn an_artifact_whose_place_another_one_has_is_named() {
    let stage = Stage::with_flow(
        "flow: places\nsteps:\n  - { id: a, run: 'mkdir d; echo one > d/f', artifacts: [d/f] }\n  \
         - { id: b, run: 'rm -r d; echo two > d', artifacts: [d] }\n  \
         - { id: c, run: 'rm d; mkdir d; echo three > d/g; echo x > file', artifacts: [d/g, file] }\n  \
         - { id: e, run: 'rm file; mkdir file; echo four > file/deep', artifacts: [file/deep] }\n  \
         - { id: g, run: 'rm -r d; echo five > d', artifacts: [d, 'd/**'] }\n",
    );
    stage.expect(0, &["run", "flow.yaml"]);
    let shown = stage.expect(0, &["show"]).out;
    let warned = |attempt: &str, artifact: &str, other: &str| {
        format!(
            "{attempt}: artifact `{artifact}` is not in the run's folder: artifact `{other}` of an earlier step is in its place"
        )
    };
    assert!(shown.contains(&warned("b.1.1", "d", "d/f")), "{shown}");
    assert!(shown.contains(&warned("e.1.1", "file/deep", "file")), "{shown}");
    assert!(!shown.contains("c.1.1: artifact"), "{shown}");
    // It names what it has removed, but `d/f`, which was gone before it began.
    assert!(shown.contains(&warned("g.1.1", "d", "d/f")), "{shown}");
    assert!(!shown.contains("`d/g` of an earlier step"), "{shown}");
}

#[test]
fn nothing_in_a_name_or_a_title_moves_the_cursor_or_breaks_a_line_of_ours() {
    const ESC: &str = "\u{1b}[31mred";
    let folder = format!("at {ESC}");
    let stage = Stage::new();
    stage.write(&format!("{folder}/flow.yaml"), "flow: f\ntitle: \"one\\nstatus     lies\\u001b[2J\"\nsteps: [{ id: s, run: 'true' }, { id: q, ask: 'ok?' }]\n");
    stage.write(&format!("{folder}/bad.yaml"), "flow: f\nsteps: [{ id: s, rnu: 'true' }]\n");
    stage.write(
        &format!("{folder}/warned.yaml"),
        "flow: f\nenv_file: none.env\nsteps: [{ id: s, run: 'true' }]\n",
    );
    stage.write(&format!("{folder}/worse.yaml"), format!("flow: f # {ESC}\nsteps: []\n"));
    let [flow, bad, warned, home, missing] =
        ["flow.yaml", "bad.yaml", "warned.yaml", ".envoi", "none"].map(|name| format!("{folder}/{name}"));
    let silent = |code: i32, arguments: &[&str]| {
        let done = stage.expect(code, arguments);
        for said in [&done.out, &done.err] {
            assert!(!said.contains('\u{1b}'), "{arguments:?}: {done:?}");
        }
        done
    };
    silent(0, &["check", &flow]);
    silent(2, &["check", &bad]);
    silent(2, &["run", &bad]);
    silent(2, &["check", &format!("{folder}/worse.yaml")]);
    silent(0, &["check", &warned]);
    silent(2, &["check", &missing]);
    silent(3, &["--home", &home, "run", &flow]);
    let shown = silent(0, &["--home", &home, "show"]);
    assert!(!shown.out.lines().any(|line| line.starts_with("status     lies")), "{shown:?}");
}
