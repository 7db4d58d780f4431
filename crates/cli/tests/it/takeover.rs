//! Two engines on one store: one hands over, or is taken over; never do both start or commit.

use crate::stage::{Dice, Done, Process, Stage, lives, state, text, wait_for, wait_until};
use rustix::process::Signal;
use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const TWO_STEPS: &str = "flow: two\nsteps:\n  - id: first\n    run: \"echo $ENVOI_ATTEMPT >> ledger; while [ ! -e go ]; do sleep 0.01; done\"\n  \
                         - id: second\n    run: echo $ENVOI_ATTEMPT >> ledger\n";

fn stopped(engine: &Process) {
    wait_until("the stop", || state(engine.pid()) == Some('T'));
}

/// Wakes an engine that was taken over: it finds out, reports it, and has changed nothing.
fn wakes_up_and_finds_out(stage: &Stage, engine: Process, run: &str) {
    let before = stage.events(run);
    engine.signal(Signal::CONT);
    let done = engine.done();
    assert_eq!(done.code, Some(8), "{done:?}");
    assert!(done.err.contains("TAKEN_OVER"), "{done:?}");
    // The run has ended under the other engine.
    assert!(!done.err.contains("is not finished") && done.err.contains("is succeeded"), "{done:?}");
    assert_eq!(stage.events(run), before);
    stage.assert_nothing_left();
}

#[test]
fn an_engine_that_is_stopped_while_a_step_runs_can_be_taken_over() {
    let stage = Stage::with_flow(TWO_STEPS);
    let old = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    old.signal(Signal::STOP);
    stopped(&old);
    let run = stage.run_id();
    let new = stage.start(&["resume", &run, "--take-over"]);
    stage.write("go", "");
    assert_eq!(new.done().code, Some(0));
    assert_eq!(stage.lines("ledger"), ["first.1.1", "second.1.1"]);
    wakes_up_and_finds_out(&stage, old, &run);
    assert_eq!(stage.lines("ledger"), ["first.1.1", "second.1.1"]);
}

#[test]
fn an_engine_that_wakes_while_the_other_works_neither_commits_nor_starts() {
    let stage = Stage::with_flow(TWO_STEPS);
    let old = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    old.signal(Signal::STOP);
    stopped(&old);
    let run = stage.run_id();
    let new = stage.start(&["resume", &run, "--take-over"]);
    wait_until("the new engine", || {
        stage.read(".envoi/engine.lock").lines().next() == Some(new.pid().to_string().as_str())
    });
    old.signal(Signal::CONT);
    stage.write("go", "");
    assert_eq!(new.done().code, Some(0));
    let done = old.done();
    assert!(done.code == Some(8) && done.err.contains("TAKEN_OVER"), "{done:?}");
    assert_eq!(stage.lines("ledger"), ["first.1.1", "second.1.1"]);
    let count = |kind: &str| stage.events(&run).iter().filter(|event| event["type"] == kind).count();
    assert_eq!((count("attempt_started"), count("attempt_settled"), count("run_ended")), (2, 2, 1));
}

#[test]
fn an_engine_stopped_between_its_commit_and_its_spawn_starts_nothing_twice() {
    // Before it looks at the attempt, the other starts it. With the attempt's lock in its hand, it alone can, once.
    for point in ["before-probe", "before-spawn"] {
        let stage =
            Stage::with_flow("flow: one\nsteps:\n  - id: work\n    run: echo $ENVOI_ATTEMPT >> ledger\n");
        let old = Process::spawn(
            stage.command(&["run", "flow.yaml"]).env("ENVOI_FAILPOINT", format!("{point}:stop")),
        );
        stopped(&old);
        let run = stage.run_id();
        assert!(stage.events(&run).iter().any(|event| event["type"] == "attempt_started"));
        assert_eq!(stage.supervisor("work.1.1"), None);
        let new = stage.start(&["resume", &run, "--take-over"]);
        let done = if point == "before-probe" {
            let done = new.done();
            old.signal(Signal::CONT);
            done
        } else {
            wait_until("the new engine", || {
                stage.read(".envoi/engine.lock").lines().next() == Some(new.pid().to_string().as_str())
            });
            old.signal(Signal::CONT);
            new.done()
        };
        assert_eq!(done.code, Some(0), "{point}: {done:?}");
        let found_out = old.done();
        assert_eq!(found_out.code, Some(8), "{point}: {found_out:?}");
        assert!(found_out.err.contains("TAKEN_OVER"), "{found_out:?}");
        assert_eq!(stage.lines("ledger"), ["work.1.1"], "{point}");
        let settled =
            stage.events(&run).into_iter().filter(|event| event["type"] == "attempt_settled").count();
        assert_eq!(settled, 1);
    }
}

#[test]
fn an_engine_that_does_not_answer_is_an_error_that_names_the_way_out() {
    let stage = Stage::with_flow(TWO_STEPS);
    let old = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    old.signal(Signal::STOP);
    stopped(&old);
    let done = stage.expect(8, &["resume"]);
    assert!(done.err.contains("ENGINE_UNREACHABLE") && done.err.contains("--take-over"), "{done:?}");
    let begun = stage.expect(8, &["run", "flow.yaml", "--share-workspace"]);
    assert!(begun.err.contains("ENGINE_UNREACHABLE"), "{begun:?}");
    old.signal(Signal::CONT);
    stage.write("go", "");
    assert_eq!(old.done().code, Some(0));
    assert_eq!(stage.runs().len(), 1, "what was refused is not done later");
}

#[test]
fn a_second_run_is_handed_over_and_both_finish() {
    let stage = Stage::with_flow(TWO_STEPS);
    let first = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    stage.write("quick.yaml", "flow: quick\nsteps:\n  - id: only\n    run: echo $PPID > parent\n");
    let second = stage.expect(0, &["run", "quick.yaml", "--share-workspace"]);
    assert!(second.out.contains("succeeded"), "{second:?}");
    // And a second terminal can follow the first run.
    let follower = stage.start(&["resume", &text(&stage.runs()[1]["run"])]);
    wait_until("the follower", || stage.read(".envoi/engine.lock").starts_with(&first.pid().to_string()));
    stage.write("go", "");
    assert_eq!(first.done().code, Some(0));
    assert_eq!(follower.done().code, Some(0));
    assert_eq!(stage.lines("ledger"), ["first.1.1", "second.1.1"]);
}

#[test]
fn a_client_whose_engine_is_killed_becomes_the_engine() {
    let stage = Stage::with_flow(TWO_STEPS);
    stage.write("hold.yaml", "flow: hold\nsteps:\n  - id: hold\n    run: \"echo x > held; sleep 600\"\n");
    let engine = stage.start(&["run", "hold.yaml"]);
    wait_until("the first run", || stage.path("held").exists());
    let client = stage.start(&["run", "flow.yaml", "--share-workspace"]);
    wait_until("the second run", || !stage.lines("ledger").is_empty());
    engine.kill();
    wait_until("the client to be the engine", || {
        stage.read(".envoi/engine.lock").starts_with(&client.pid().to_string())
    });
    stage.write("go", "");
    let done = client.done();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(stage.lines("ledger"), ["first.1.1", "second.1.1"]);
}

#[test]
fn commands_that_meet_an_engine_just_as_it_closes_find_their_way() {
    let stage =
        Stage::with_flow("flow: quick\nsteps:\n  - id: only\n    run: echo $ENVOI_RUN_ID >> ledger\n");
    // Each engine closes the moment its own run is over, and that is when the others come.
    let at_once = 6;
    for round in 1..=5 {
        let arguments = ["run", "flow.yaml", "--share-workspace"];
        let begun: Vec<_> = (0..at_once).map(|_| stage.start(&arguments)).collect();
        for run in begun {
            let done = run.done_when_heard(&stage, &arguments);
            assert_eq!(done.code, Some(0), "{done:?}");
        }
        assert_eq!(stage.lines("ledger").len(), at_once * round);
    }
    let mut ids = stage.lines("ledger");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), at_once * 5);
    assert!(stage.runs().iter().all(|run| run["status"] == "succeeded"));
    stage.assert_nothing_left();
}

#[test]
fn clients_of_a_killed_engine_all_finish_their_runs_once() {
    let stage = Stage::with_flow(
        "flow: many\nsteps:\n  - id: a\n    run: echo $ENVOI_RUN_ID.a >> ledger; sleep 0.05\n  - id: b\n    run: echo $ENVOI_RUN_ID.b >> ledger; sleep 0.05\n",
    );
    stage.write("hold.yaml", "flow: hold\nsteps:\n  - id: hold\n    run: \"echo x > held; sleep 600\"\n");
    for kill_at in 1..=4_usize {
        drop(std::fs::remove_file(stage.path("held")));
        drop(std::fs::remove_file(stage.path("ledger")));
        let engine = stage.start(&["run", "hold.yaml", "--share-workspace"]);
        wait_until("the engine", || stage.path("held").exists());
        let clients: Vec<_> =
            (0..4).map(|_| stage.start(&["run", "flow.yaml", "--share-workspace"])).collect();
        wait_until("some work", || stage.lines("ledger").len() >= kill_at);
        engine.kill();
        for client in clients {
            let done = client.done();
            assert_eq!(done.code, Some(0), "{done:?}");
        }
        let mut lines = stage.lines("ledger");
        lines.sort();
        assert_eq!(lines.len(), 8, "{lines:?}");
        lines.dedup();
        assert_eq!(lines.len(), 8);
        let hold = wait_for("the holder", || stage.runs().into_iter().find(|run| run["status"] == "running"));
        stage.expect(0, &["cancel", &text(&hold["run"])]);
    }
    assert!(stage.supervisors().iter().all(|pid| !lives(*pid)));
}

#[test]
fn runs_that_were_let_into_one_workspace_all_go_on_after_a_crash() {
    let stage = Stage::with_flow(TWO_STEPS);
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    let other = stage.start(&["run", "flow.yaml", "--share-workspace"]);
    wait_until("the other step", || stage.lines("ledger").len() == 2);
    let refused = stage.expect(6, &["run", "flow.yaml"]);
    assert!(refused.err.contains("WORKSPACE_BUSY"), "{refused:?}");
    other.kill();
    engine.kill();
    let runs: Vec<_> = stage.runs().iter().map(|row| text(&row["run"])).collect();
    assert_eq!(runs.len(), 2);
    let engines: Vec<_> = runs.iter().map(|run| stage.start(&["resume", run])).collect();
    stage.write("go", "");
    for (engine, run) in engines.into_iter().zip(&runs) {
        let done = engine.done_when_heard(&stage, &["resume", run]);
        assert_eq!(done.code, Some(0), "{done:?}");
    }
    assert_eq!(stage.lines("ledger").len(), 4);
}

#[test]
fn engines_that_are_stopped_anywhere_and_taken_over_do_every_step_once() {
    let mut dice = Dice::new();
    // On a busy machine each one of a run may have been past its last commit when it was stopped. That says nothing.
    assert!((0..5).any(|_| passed_on(&mut dice) > 0), "no engine was taken over");
}

/// A run whose engines are stopped and taken over; how many of them were.
fn passed_on(dice: &mut Dice) -> usize {
    const STEPS: usize = 15;
    let step = |n: usize| format!("  - id: s{n:02}\n    run: \"echo $ENVOI_STEP >> ledger; sleep 0.01\"\n");
    let stage =
        Stage::with_flow(&format!("flow: passed-on\nsteps:\n{}", (1..=STEPS).map(step).collect::<String>()));
    let mut engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the first step", || !stage.lines("ledger").is_empty());
    let run = stage.run_id();
    let found_out = |done: &Done| done.code == Some(8) && done.err.contains("TAKEN_OVER");
    let (mut taken_over, mut is_finished) = (0, false);
    for _ in 0..12 {
        pause(dice.micros(1_000, 60_000));
        if engine.is_over() {
            break;
        }
        engine.signal(Signal::STOP);
        wait_until("the stop", || matches!(state(engine.pid()), Some('T' | 'Z')));
        let next = stage.start(&["resume", &run, "--take-over"]);
        pause(dice.micros(1_000, 80_000));
        engine.signal(Signal::CONT);
        let done = engine.done();
        // It may have been past its last commit, or was killed because it held the database.
        assert!(found_out(&done) || matches!(done.code, Some(0) | None), "{done:?}");
        taken_over += usize::from(done.code != Some(0));
        is_finished |= done.code == Some(0);
        engine = next;
    }
    // An engine that was stopped before its takeover takes over when it goes on: then it has finished the run, and the last one finds out.
    let done = engine.done();
    assert!(done.code == Some(0) || is_finished && found_out(&done), "{done:?}");
    let expected: Vec<_> = (1..=STEPS).map(|n| format!("s{n:02}")).collect();
    assert_eq!(stage.lines("ledger"), expected);
    eprintln!("{taken_over} engines were taken over");
    stage.assert_nothing_left();
    taken_over
}

fn pause(long: Duration) {
    let until = Instant::now() + long;
    wait_until("the moment", || Instant::now() >= until);
}

/// Holds the store as a stopped engine does that was in the middle of a transaction.
const HOLDER: &str = "import fcntl, os, sqlite3, time
lock = open('.envoi/engine.lock', 'w')
fcntl.flock(lock, fcntl.LOCK_EX)
lock.write('%d\\n/nowhere\\n' % os.getpid())
lock.flush()
database = sqlite3.connect('.envoi/envoi.db', isolation_level=None)
database.execute('BEGIN IMMEDIATE')
open('held', 'w').close()
time.sleep(600)
";

#[test]
fn an_engine_that_keeps_the_database_busy_is_killed_by_who_takes_over() {
    let stage = Stage::with_flow(TWO_STEPS);
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    engine.kill();
    let mut python = Command::new("python3");
    python.args(["-c", HOLDER]).current_dir(stage.path("")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut holder = Process::spawn(&mut python);
    wait_until("the holder", || stage.path("held").exists() || holder.is_over());
    stage.write("go", "");
    stage.expect(0, &["resume", "--take-over"]);
    assert_eq!(holder.done().code, None, "it was killed");
    assert_eq!(stage.lines("ledger"), ["first.1.1", "second.1.1"]);
}

#[test]
fn an_engine_stopped_before_it_shows_a_hand_off_puts_no_old_file_over_a_newer_one() {
    let stage = Stage::with_flow(
        "flow: round\nsteps:\n  - id: work\n    artifacts: [out.txt]\n    run: echo $ENVOI_ATTEMPT | tee out.txt\n  - id: critic\n    run: test $ENVOI_VISIT = 2\n    \
         routing: { kind: microloop, loop_to: work, status_from_exit: { 0: VERIFIED, 1: UNVERIFIED }, success_values: [VERIFIED] }\n",
    );
    let old = Process::spawn(stage.command(&["run", "flow.yaml"]).env("ENVOI_FAILPOINT", "before-show:stop"));
    stopped(&old);
    let run = stage.run_id();
    assert!(stage.handoffs().is_empty(), "committed, and not yet shown");
    stage.expect(0, &["resume", &run, "--take-over"]);
    let artifact = format!(".envoi/runs/{run}/round/out.txt");
    let shown = stage.handoffs();
    assert_eq!((shown.len(), stage.read(&artifact).trim()), (6, "work.2.1"));
    wakes_up_and_finds_out(&stage, old, &run);
    assert!(stage.handoffs() == shown, "the hand-offs are as they were");
    assert_eq!(stage.read(&artifact).trim(), "work.2.1");
}

#[test]
fn a_follower_that_became_the_engine_waits_for_its_live_step_at_ctrl_c() {
    let stage = Stage::with_flow(TWO_STEPS);
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    let follower = stage.start(&["resume", &stage.run_id()]);
    wait_until("the follower to listen for signals", || has_thread(follower.pid(), "signals"));
    engine.kill();
    wait_until("the follower to wait for the step as its engine", || {
        has_thread(follower.pid(), "attempt-first")
    });
    follower.signal(Signal::INT);
    wait_until("its obeying", || follower.said().contains("starting nothing new"));
    stage.write("go", "");
    let done = follower.done();
    assert_eq!(done.code, Some(7), "{done:?}");
    assert!(
        done.err.contains("starting nothing new") && !done.err.contains("goes on in process"),
        "{done:?}"
    );
    assert!(stage.attempt("first.1.1").unwrap().join("exit.json").exists(), "the step was waited for");
    stage.expect(0, &["resume"]);
    assert_eq!(stage.lines("ledger"), ["first.1.1", "second.1.1"]);
}

/// Whether the process has a thread whose name begins so.
fn has_thread(pid: u32, name: &str) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks
        .map(|task| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default())
        .any(|comm| comm.starts_with(name))
}
