//! Bad files that a step leaves where its files are read end its attempt, and nothing else: other runs of the store go on
//! beside it, and the next engine comes up.

mod agents;

use crate::{
    serve::client::Served,
    stage::{Process, Stage, lives, text, wait_until},
};

/// Each is done by a step that ends its own supervisor after it; none can be known to have ended well.
const LOST: &[&str] = &[
    "mkdir -p $ENVOI_OUTPUT",
    "mkfifo $ENVOI_OUTPUT",
    "ln -s /dev/zero $ENVOI_OUTPUT",
    "mkdir -p $ENVOI_REPORT",
    "mkfifo $ENVOI_REPORT",
    "ln -s report.json $ENVOI_REPORT",
    "truncate -s 5G $ENVOI_OUTPUT $ENVOI_REPORT",
    "mkdir $DIR/exit.json",
    "mkfifo $DIR/exit.json",
    "truncate -s 5G $DIR/exit.json",
    "ln -s /dev/zero $DIR/exit.json",
    "rm -f $DIR/before.json; mkfifo $DIR/before.json",
    "rm $DIR/started.json",
    "rm $DIR/started.json; mkfifo $DIR/started.json",
    "rm $DIR/stdout $DIR/stderr; mkfifo $DIR/stdout; ln -s stderr $DIR/stderr",
    "rm $DIR/lock; mkfifo $DIR/lock",
    "rm $DIR/lock",
    "rm -r $DIR",
    "rm -r $DIR; ln -s /dev/zero $DIR",
    "rm -r $ENVOI_RUN_BASE/attempts; touch $ENVOI_RUN_BASE/attempts",
    "rm $ENVOI_RUN_BASE/starts.log; mkfifo $ENVOI_RUN_BASE/starts.log",
];

fn stage() -> Stage {
    let stage = Stage::new();
    stage.write("good.yaml", "flow: good\nsteps:\n  - id: a\n    run: echo good >> good\n");
    stage
}

fn write_bad(stage: &Stage, script: &str) {
    stage.write(
        "bad.yaml",
        format!(
            "flow: bad\nsecrets: {{ TOKEN: {{ env: TOKEN }} }}\nsteps:\n  - id: work\n    run: |\n      \
             echo $ENVOI_ATTEMPT >> ledger; DIR=$ENVOI_RUN_BASE/attempts/$ENVOI_ATTEMPT\n      {script}\n"
        ),
    );
}

/// The command, with the secret that the bad flow wants.
fn with_secret(stage: &Stage, arguments: &[&str]) -> Process {
    Process::spawn(stage.command(arguments).env("TOKEN", "hunter22hunter22"))
}

#[test]
fn a_lost_attempt_is_in_doubt_whatever_stands_in_its_files_and_other_runs_go_on() {
    let stage = stage();
    for (nth, script) in LOST.iter().enumerate() {
        write_bad(&stage, &format!("{script}; kill -9 $PPID; exec sleep 600"));
        let done = with_secret(&stage, &["run", "bad.yaml"]).done();
        assert_eq!(done.code, Some(5), "{script}: {done:?}");
        let run = text(&stage.runs()[0]["run"]);
        let outcomes: Vec<_> =
            stage.events(&run).into_iter().filter(|event| event["type"] == "attempt_settled").collect();
        assert_eq!(outcomes.len(), 1, "{script}");
        assert!(!outcomes[0]["outcome"]["in_doubt"].is_null(), "{script}: {outcomes:?}");
        assert_eq!(stage.lines("ledger").len(), nth + 1, "{script}: it ran once");
        stage.assert_nothing_left();
        for command in ["show", "logs", "why"] {
            let done = stage.envoi(&[command, &run]);
            assert!(matches!(done.code, Some(0 | 5)), "{command} after {script}: {done:?}");
        }
        stage.expect(0, &["run", "good.yaml"]);
        assert_eq!(with_secret(&stage, &["resume", &run]).done().code, Some(5), "{script}");
    }
    assert_eq!(stage.lines("good").len(), LOST.len());
    let served = Served::start(&stage);
    drop(served);
    let run = text(&stage.runs().iter().find(|row| row["flow"] == "bad").unwrap()["run"]);
    assert_eq!(with_secret(&stage, &["cancel", &run]).done().code, Some(0));
}

#[test]
fn a_step_ends_whatever_it_leaves_in_its_files_while_its_supervisor_lives() {
    let stage = stage();
    for script in LOST {
        write_bad(&stage, script);
        let done = with_secret(&stage, &["run", "bad.yaml"]).done();
        // Done, failed, or in doubt: never the engine's failure.
        assert!(matches!(done.code, Some(0 | 1 | 5)), "{script}: {done:?}");
        stage.assert_nothing_left();
        stage.expect(0, &["run", "good.yaml"]);
    }
    assert_eq!(stage.lines("good").len(), LOST.len());
    assert_eq!(stage.lines("ledger").len(), LOST.len(), "each ran once");
}

#[test]
fn a_step_whose_folder_was_removed_is_in_doubt_and_never_started_again() {
    for removed in ["", "run_", "attempts", "attempts/work.1.1"] {
        let stage = Stage::with_flow(
            "flow: hanging\nsteps:\n  - id: work\n    run: \"echo $ENVOI_ATTEMPT >> ledger; exec sleep 600\"\n",
        );
        let engine = stage.start(&["run", "flow.yaml"]);
        wait_until("the step", || !stage.lines("ledger").is_empty());
        let supervisor = stage.supervisor("work.1.1").unwrap();
        let run = stage.run_id();
        engine.kill();
        let runs = stage.store().join("runs");
        let folder = match removed {
            "" => runs,
            "run_" => runs.join(&run),
            within => runs.join(&run).join(within),
        };
        std::fs::remove_dir_all(&folder).unwrap();
        stage.expect(5, &["resume", &run]);
        assert_eq!(stage.lines("ledger"), ["work.1.1"], "without {}", folder.display());
        stage.assert_nothing_left();
        wait_until("the supervisor's end", || !lives(supervisor));
        stage.expect(1, &["resume", &run, "--in-doubt", "fail"]);
    }
}

#[test]
fn a_step_that_was_announced_is_started_unless_its_run_s_folder_was_removed() {
    for (removed, code, ledger) in [(false, 0, 1), (true, 5, 0)] {
        let stage =
            Stage::with_flow("flow: early\nsteps:\n  - id: work\n    run: echo $ENVOI_ATTEMPT >> ledger\n");
        let mut command = stage.command(&["run", "flow.yaml"]);
        let engine = Process::spawn(command.env("ENVOI_FAILPOINT", "before-probe:stop"));
        wait_until("the engine's stop", || crate::stage::state(engine.pid()) == Some('T'));
        engine.kill();
        if removed {
            std::fs::remove_dir_all(stage.store().join("runs")).unwrap();
        }
        stage.expect(code, &["resume"]);
        assert_eq!(stage.lines("ledger").len(), ledger, "removed: {removed}");
    }
}

#[test]
fn a_supervisor_that_cannot_be_started_fails_its_step_alone() {
    let stage = stage();
    // An earlier step has put a folder where the supervisor is to write its errors.
    stage.write(
        "bad.yaml",
        "flow: bad\nsteps:\n  - id: first\n    run: mkdir -p $ENVOI_RUN_BASE/attempts/third.1.1/supervisor.log\n  \
         - id: third\n    run: echo $ENVOI_ATTEMPT >> ledger\n",
    );
    let done = stage.expect(1, &["run", "bad.yaml"]);
    assert!(done.err.contains("TOOL_CANNOT_START") && done.err.contains("supervisor.log"), "{done:?}");
    assert_eq!(stage.lines("ledger").len(), 0);
    stage.expect(0, &["run", "good.yaml"]);
}

/// Done in the run's folder while nothing of it runs: the damage, the reported name, and the remedy.
const IN_THE_WAY: &[(&str, &str, &str)] = &[
    ("rm starts.log; mkdir starts.log", "starts.log", "rmdir starts.log"),
    ("mv attempts away; touch attempts", "attempts", "rm attempts; mv away attempts"),
    ("mv attempts away; mkfifo attempts", "attempts", "rm attempts; mv away attempts"),
    ("mv attempts away; ln -s away attempts", "attempts", "rm attempts; mv away attempts"),
    ("touch attempts/second.1.1", "attempts/second.1.1", "rm attempts/second.1.1"),
    ("mkfifo attempts/second.1.1", "attempts/second.1.1", "rm attempts/second.1.1"),
    ("ln -s first.1.1 attempts/second.1.1", "attempts/second.1.1", "rm attempts/second.1.1"),
];

#[test]
fn what_is_in_the_way_of_a_run_s_attempts_sets_it_aside_and_no_step_runs_twice() {
    for (script, named, mending) in IN_THE_WAY {
        let stage = stage();
        stage.write(
            "asks.yaml",
            "flow: asks\nsteps:\n  - id: first\n    run: echo $ENVOI_ATTEMPT >> ledger\n  - { id: sure, ask: Go on? }\n  \
             - id: second\n    run: echo $ENVOI_ATTEMPT >> ledger\n",
        );
        stage.expect(3, &["run", "asks.yaml"]);
        let run = stage.run_id();
        let folder = stage.store().join("runs").join(&run);
        let shell = |script: &str| {
            let done = std::process::Command::new("sh").args(["-ec", script]).current_dir(&folder).status();
            assert!(done.unwrap().success(), "{script}");
        };
        shell(script);
        let file = folder.join(named).display().to_string();
        let answered = stage.envoi(&["approve", &run]);
        let is_named = |text: &str| text.contains("RUN_FILES_FAILED") && text.contains(&file);
        assert!(answered.code == Some(8) && is_named(&answered.err), "{script}: {answered:?}");
        stage.expect(0, &["run", "--share-workspace", "good.yaml"]);
        let repair = stage.expect(8, &["repair", &run]);
        let told = format!("in the way of its steps; remove it, or make it writable: `{file}` is ");
        assert!(is_named(&repair.out) && repair.out.contains(&told), "{script}: {repair:?}");
        let again = stage.envoi(&["resume", &run]);
        assert!(again.code == Some(8) && is_named(&again.err), "{script}: {again:?}");
        assert_eq!(stage.lines("ledger"), ["first.1.1"], "{script}");
        shell(mending);
        stage.expect(0, &["resume", &run]);
        assert_eq!(stage.lines("ledger"), ["first.1.1", "second.1.1"], "{script}");
        stage.expect(0, &["repair", &run]);
        stage.assert_nothing_left();
    }
}

/// Done by a step in the store's folder: the damage, the reported name with its cause, and the remedy.
const IN_THE_STORE: &[(&str, &str, &str)] = &[
    ("rmdir artifacts/tmp; touch artifacts/tmp", "artifacts/tmp", "rm artifacts/tmp"),
    ("mv artifacts/tmp away; ln -s ../away artifacts/tmp", "artifacts/tmp", "rm artifacts/tmp"),
    (
        "mv artifacts/sha256 away; ln -s ../away artifacts/sha256",
        "artifacts/sha256",
        "rm artifacts/sha256; mv away artifacts/sha256",
    ),
    ("mv artifacts away; ln -s away artifacts", "artifacts", "rm artifacts; mv away artifacts"),
    ("mv $R away; ln -s ../away $R", "$R", "rm $R; mv away $R"),
];

#[test]
fn what_is_in_the_way_in_the_store_is_named_with_its_cause_and_nothing_is_written_behind_it() {
    for (script, named, mending) in IN_THE_STORE {
        let stage = stage();
        // Its text is too large for the database.
        let large = "head -c 30000 /dev/zero | tr '\\0' x";
        stage.write(
            "breaks.yaml",
            format!(
                "flow: breaks\nsteps:\n  - id: first\n    run: {large}\n  - {{ id: sure, ask: Go on? }}\n  - id: second\n    \
                 run: echo $ENVOI_ATTEMPT >> ledger; {large} | tr x y\n"
            ),
        );
        stage.expect(3, &["run", "breaks.yaml"]);
        let run = stage.run_id();
        let shell = |script: &str| {
            let mut shell = std::process::Command::new("sh");
            let done = shell.args(["-ec", script]).env("R", format!("runs/{run}")).current_dir(stage.store());
            assert!(done.status().unwrap().success(), "{script}");
        };
        shell(script);
        let file = stage.store().join(named.replace("$R", &format!("runs/{run}"))).display().to_string();
        let answered = stage.envoi(&["approve", &run]);
        let is_named =
            answered.err.contains(&format!("`{file}`")) && answered.err.contains(" a folder belongs there");
        assert!(answered.code == Some(8) && is_named, "{script}: {answered:?}");
        shell(mending);
        let resumed = stage.envoi(&["resume", &run]);
        if resumed.code == Some(3) {
            stage.expect(0, &["approve", &run]);
        }
        assert_eq!(stage.lines("ledger"), ["second.1.1"], "{script}: {resumed:?}");
        assert_eq!(stage.runs()[0]["status"], "succeeded", "{script}");
        stage.assert_nothing_left();
    }
}

#[test]
fn a_live_engine_names_what_cannot_be_written_first_and_goes_on_when_it_can() {
    let stage = stage();
    stage.write(
        "breaks.yaml",
        "flow: breaks\nsteps:\n  - id: first\n    artifacts: [made]\n    \
         run: cd $ENVOI_RUN_BASE/../../artifacts; rmdir tmp; touch tmp; cd -; echo $ENVOI_ATTEMPT > made\n  \
         - id: second\n    run: echo $ENVOI_ATTEMPT >> ledger\n",
    );
    let done = stage.expect(8, &["run", "breaks.yaml"]);
    let temporary = stage.store().join("artifacts/tmp");
    let told = format!("`{}` cannot be written: a folder belongs there", temporary.display());
    assert!(done.err.contains("RUN_FILES_FAILED") && done.err.contains(&told), "{done:?}");
    std::fs::remove_file(temporary).unwrap();
    let run = stage.run_id();
    stage.expect(0, &["resume", &run]);
    assert_eq!(stage.lines("ledger"), ["second.1.1"]);
    assert_eq!(stage.read(&format!(".envoi/runs/{run}/breaks/made")), "first.1.1\n");
}
