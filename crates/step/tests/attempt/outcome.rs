//! How commands end by themselves, and what environment they get.

use std::fs;

use envoi_step::{Given, Outcome, Probe, SecretMark, boot_id, probe, wait_until_free};

use crate::stage::{Stage, exec, shell, start_by_an_engine_that_dies, start_in};

pub(crate) fn a_command_settles_with_its_exit_code() {
    for code in [0, 1, 255] {
        let stage = Stage::new();
        let exit = stage.run(&stage.shell(&format!("echo out; echo err >&2; exit {code}")));
        assert_eq!(exit.outcome, Outcome::Exited { code });
        assert_eq!((exit.stdout.total_bytes, exit.stderr.total_bytes), (4, 4));
        assert_eq!(exit.stderr_tail, "err\n");
        assert_eq!(stage.text(), "out\n");
        assert_eq!(exit.text.bytes, 4);
        assert_eq!(exit.ended_at_ms, exit.started_at_ms + exit.duration_ms);
        assert_eq!((exit.report, exit.files.len(), exit.ended_leftovers), (None, 0, 0));
        assert_eq!(stage.names(), ["exit.json", "stderr", "stdout"]);
    }
}

/// Rows: the script, and the files left in the attempt's folder.
pub(crate) fn an_attempt_leaves_the_record_of_its_end_and_what_it_wrote() {
    let rows = [
        ("true", &["exit.json"][..]),
        ("exit 3", &["exit.json"]),
        ("no-such-program-here 2>/dev/null", &["exit.json"]),
        ("echo out", &["exit.json", "stdout"]),
        ("echo err >&2", &["exit.json", "stderr"]),
        ("echo text > $ENVOI_OUTPUT", &["exit.json", "output"]),
        ("printf '\\033[31mred\\033[0m'", &["exit.json", "stdout", "text"]),
        // The lock of this attempt was removed, and the new file is not this attempt's lock.
        ("cd $(dirname $ENVOI_REPORT); rm lock; : > lock", &["exit.json", "lock"]),
        ("cd $(dirname $ENVOI_REPORT); rm stdout started.json", &["exit.json"]),
        ("cd $(dirname $ENVOI_REPORT); echo of the command > text", &["exit.json"]),
    ];
    for (script, left) in rows {
        let stage = Stage::new();
        let exit = stage.run(&stage.shell(script));
        assert_eq!(stage.names(), left, "{script}");
        let boot = boot_id().unwrap();
        let later = probe(&stage.dir, Given::Maybe, start_in(&boot), "a later boot").unwrap();
        assert!(matches!(later, Probe::Settled(found) if *found == exit), "{script}");
        let size = fs::metadata(stage.dir.exit()).unwrap().len();
        assert!(size < 2048, "{script}: {size} bytes");
    }
    let stage = Stage::new();
    let mut spec = stage.shell("true");
    spec.secret_marks = vec![SecretMark { name: "TOKEN".to_owned(), mark: "abcd".to_owned() }];
    stage.run(&spec);
    assert_eq!(stage.names(), ["exit.json", "started.json"], "the marks are of use later");
}

pub(crate) fn a_signal_is_told_from_an_exit_code() {
    let stage = Stage::new();
    let exit = stage.run(&stage.shell("kill -9 $$"));
    assert_eq!(exit.outcome, Outcome::Signalled { signal: 9 });
}

pub(crate) fn what_cannot_start_says_why() {
    let rows: &[(&[&str], bool, &str)] = &[
        (&["no-such-program-here"], true, "`no-such-program-here` was not found in PATH"),
        (&["./missing"], true, "there is no `./missing`"),
        (&["./plain"], false, "`./plain` cannot be started: Permission denied (os error 13)"),
        (&["./script"], true, "the interpreter that `./script` names was not found"),
        (&[], false, "`` cannot be started: the command is empty"),
    ];
    for (argv, not_found, reason) in rows {
        let stage = Stage::new();
        let folder = stage.workspace();
        shell(&format!(
            "cd {}; echo > plain; echo '#!/no/such/interpreter' > script; chmod +x script",
            folder.display()
        ));
        let exit = stage.run(&stage.spec(exec(argv)));
        assert_eq!(
            exit.outcome,
            Outcome::CannotStart { reason: (*reason).to_owned(), not_found: *not_found }
        );
        assert_eq!(exit.text.bytes, 0);
    }
    let stage = Stage::new();
    let mut spec = stage.shell("true");
    spec.cwd = stage.workspace().join("missing");
    assert!(matches!(stage.run(&spec).outcome, Outcome::CannotStart { not_found: false, .. }));
    spec = stage.shell("true");
    spec.artifacts = vec!["../out".to_owned()];
    let stage = Stage::new();
    assert!(matches!(stage.run(&spec).outcome, Outcome::CannotStart { not_found: false, .. }));
}

pub(crate) fn the_environment_is_exactly_the_given_one() {
    let stage = Stage::new();
    let mut spec = stage.spec(exec(&["/usr/bin/env"]));
    stage.run(&spec);
    let mut found: Vec<String> = stage.text().lines().map(str::to_owned).collect();
    let mut given: Vec<String> = spec.env.drain(..).map(|(key, value)| format!("{key}={value}")).collect();
    found.sort();
    given.sort();
    assert_eq!(found, given);
}

pub(crate) fn a_supervisor_settles_though_its_engine_is_killed() {
    let stage = Stage::new();
    let spec = stage.shell("echo begun > begun; while [ ! -e go ]; do sleep 0.01; done; echo done");
    start_by_an_engine_that_dies(&std::env::current_exe().unwrap(), &stage, &spec);
    stage.told("begun");
    std::fs::write(stage.workspace().join("go"), "").unwrap();
    wait_until_free(&stage.dir).unwrap();
    assert_eq!(stage.settled().outcome, Outcome::Exited { code: 0 });
    assert_eq!(stage.text(), "done\n");
}

pub(crate) fn a_program_that_was_replaced_still_starts_supervisors() {
    let stage = Stage::new();
    let program = stage.run_base().join("engine");
    // Another process copies it: a program that this process has open for writing, even in a child between
    // fork and exec, cannot be started.
    shell(&format!("cp {} {}", std::env::current_exe().unwrap().display(), program.display()));
    start_by_an_engine_that_dies(&program, &stage, &stage.shell("echo done"));
    assert!(!program.exists(), "it removes itself before it starts anything");
    wait_until_free(&stage.dir).unwrap();
    assert_eq!(stage.settled().outcome, Outcome::Exited { code: 0 });
}
