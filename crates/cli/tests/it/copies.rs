//! A store that was copied, moved or restored.

use crate::stage::{Dice, Done, Stage, lives, signal, text, wait_until};
use rustix::process::Signal;
use std::{fs, path::Path, process::Command};

const ASKS: &str = "flow: asks\nsteps:\n  - { id: draft, run: 'echo drafted > draft.txt', artifacts: [draft.txt] }\n  \
                    - { id: release, ask: 'Release it?' }\n  - { id: publish, run: 'echo published >> published.txt' }\n";

const LIVE: &str = "flow: live\nsteps:\n  - id: long\n    on_in_doubt: POLICY\n    \
                    run: 'echo $ENVOI_ATTEMPT >> ledger; until [ -e go ]; do sleep 0.02; done; echo done >> ledger'\n";

/// Runs a command for the project in this folder.
fn at(stage: &Stage, project: &str, arguments: &[&str]) -> Done {
    let home = format!("{project}/.envoi");
    let arguments: Vec<&str> = ["--home", &home].iter().chain(arguments).copied().collect();
    stage.envoi(&arguments)
}

fn expect(stage: &Stage, project: &str, code: i32, arguments: &[&str]) -> Done {
    let done = at(stage, project, arguments);
    assert_eq!(done.code, Some(code), "{project} {arguments:?}: {done:?}");
    done
}

/// A project `a` with a run that waits for an answer, and the run.
fn waiting() -> (Stage, String) {
    let stage = Stage::new();
    stage.write("a/flow.yaml", ASKS);
    expect(&stage, "a", 3, &["run", "a/flow.yaml"]);
    let run = run_in(&stage, "a");
    (stage, run)
}

fn run_in(stage: &Stage, project: &str) -> String {
    let done = expect(stage, project, 0, &["--json", "runs"]);
    let runs: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    text(&runs[0]["run"])
}

fn copy(stage: &Stage, how: &str, from: &str, to: &str) {
    let done = Command::new("cp").arg(how).args([stage.path(from), stage.path(to)]).status();
    assert!(done.unwrap().success());
}

/// Every file below a folder with its bytes, but for those that SQLite makes to read.
fn files(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(files(&path));
        } else if !path.to_string_lossy().ends_with("-shm") && !path.to_string_lossy().ends_with("-wal") {
            found.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_copy_is_read_and_not_used_until_it_is_adopted() {
    let (stage, run) = waiting();
    copy(&stage, "-r", "a", "b");
    let (original, whole) = (files(&stage.path("a")), files(&stage.path("b")));
    for read in [&["runs"][..], &["show", &run], &["logs", &run], &["why", &run], &["inbox"], &["doctor"]] {
        expect(&stage, "b", 0, read);
    }
    for used in [
        &["run", "b/flow.yaml"][..],
        &["approve", &run],
        &["deny", &run],
        &["resume", &run],
        &["cancel", &run],
        &["fork", &run],
        &["raise", &run, "--llm-calls", "1"],
        &["resume", &run, "--flow", "b/flow.yaml"],
        &["run", "b/flow.yaml", "--detach"],
        &["restore", &run, "--at", "start", "--here"],
        &["restore", &run, "--undo"],
        &["apply", &run],
        &["gc"],
        &["cache", "rm", "--all"],
        &["token", "revoke", "me"],
        &["page"],
        &["answer", &run, "--text", "yes"],
        &["repair"],
        &["token", "create", "me"],
        &["serve", "--listen", "127.0.0.1:0"],
    ] {
        let refused = expect(&stage, "b", 6, used);
        assert!(refused.err.contains("STORE_COPIED") && refused.err.contains("/a/.envoi"), "{refused:?}");
    }
    assert_eq!(files(&stage.path("b")), whole);
    let told = expect(&stage, "b", 0, &["doctor"]).out;
    assert!(told.contains("envoi store adopt"), "{told}");
    // Nothing that they show would be refused here.
    for looks in [&["runs"][..], &["show", &run]] {
        let told = expect(&stage, "b", 0, looks);
        let told = format!("{}{}", told.out, told.err);
        assert!(
            told.contains("/a/.envoi`: nothing goes on here until `envoi store adopt`"),
            "{looks:?}: {told}"
        );
        assert!(!told.contains("envoi resume"), "{looks:?}: {told}");
    }

    let adopted = expect(&stage, "b", 0, &["store", "adopt"]).out;
    assert!(adopted.contains("1 unfinished runs"), "{adopted}");
    expect(&stage, "b", 0, &["approve", &run]);
    assert_eq!(stage.lines("b/published.txt"), ["published"]);
    assert_eq!(files(&stage.path("a")), original, "nothing of the copy changes the original");
    expect(&stage, "a", 0, &["approve", &run]);
    assert_eq!((stage.lines("a/published.txt").len(), stage.lines("b/published.txt").len()), (1, 1));
    let again = expect(&stage, "b", 0, &["store", "adopt"]).out;
    assert!(again.contains("no copy"), "{again}");
    expect(&stage, "b", 3, &["run", "b/flow.yaml"]);
}

#[test]
fn every_copy_is_one_whatever_it_was_copied_from() {
    let (stage, run) = waiting();
    copy(&stage, "-r", "a", "b");
    copy(&stage, "-r", "a", "c");
    copy(&stage, "-r", "b", "d");
    let refused_for = |project: &str, original: &str| {
        let refused = expect(&stage, project, 6, &["approve", &run]);
        assert!(refused.err.contains(&format!("/{original}/.envoi`, which")), "{refused:?}");
    };
    ["b", "c", "d"].iter().for_each(|project| refused_for(project, "a"));
    expect(&stage, "b", 0, &["store", "adopt"]);
    copy(&stage, "-r", "b", "e");
    refused_for("c", "a");
    refused_for("e", "b");
    // Is the original gone, the copy is what was moved.
    fs::remove_dir_all(stage.path("b")).unwrap();
    expect(&stage, "e", 0, &["approve", &run]);
    assert_eq!(stage.lines("e/published.txt"), ["published"]);
    assert!(!stage.path("a/published.txt").exists() && !stage.path("b").exists());
}

#[test]
fn a_project_that_was_moved_goes_on_where_it_is() {
    let (stage, run) = waiting();
    fs::rename(stage.path("a"), stage.path("b")).unwrap();
    let shown = expect(&stage, "b", 0, &["--json", "runs"]).out;
    assert!(shown.contains("/b\"") && !shown.contains("/a\""), "{shown}");
    expect(&stage, "b", 0, &["approve", &run]);
    assert_eq!(stage.lines("b/published.txt"), ["published"]);
    assert!(!stage.path("a").exists(), "nothing is made where it lay");
    // By another name of the same folder it is no other store.
    std::os::unix::fs::symlink(stage.path("b"), stage.path("link")).unwrap();
    expect(&stage, "link", 3, &["run", "b/flow.yaml"]);
    expect(&stage, "b", 3, &["run", "b/flow.yaml"]);
}

#[test]
fn a_step_that_is_live_in_the_original_is_in_doubt_in_the_copy_and_a_person_decides() {
    for policy in ["rerun", "fail", "{ verify: [touch, verified] }"] {
        let stage = Stage::new();
        stage.write("a/flow.yaml", LIVE.replace("POLICY", policy));
        let engine = stage.start(&["--home", "a/.envoi", "run", "a/flow.yaml"]);
        wait_until("the step", || !stage.lines("a/ledger").is_empty());
        let attempts = format!("a/.envoi/runs/{}/attempts/long.1.1/started.json", run_in(&stage, "a"));
        wait_until("its supervisor", || stage.path(&attempts).exists());
        let started: serde_json::Value = serde_json::from_str(&stage.read(&attempts)).unwrap();
        let supervisor = u32::try_from(started["supervisor_pid"].as_u64().unwrap()).unwrap();
        copy(&stage, "-r", "a", "b");
        expect(&stage, "b", 0, &["store", "adopt"]);
        let run = run_in(&stage, "b");
        let doubt = expect(&stage, "b", 5, &["resume", &run]);
        assert!(doubt.err.contains("in doubt"), "{policy}: {doubt:?}");
        assert_eq!(stage.lines("b/ledger"), ["long.1.1"], "{policy}: it is not run again by itself");
        assert!(!stage.path("b/verified").exists(), "nor is it verified");
        assert!(lives(supervisor), "what runs of the original is not ended");
        stage.write("b/go", "");
        expect(&stage, "b", 0, &["resume", &run, "--in-doubt", "rerun"]);
        assert_eq!(stage.lines("b/ledger"), ["long.1.1", "long.1.2", "done"]);
        stage.write("a/go", "");
        assert_eq!(engine.done().code, Some(0));
        assert_eq!(stage.lines("a/ledger"), ["long.1.1", "done"]);
    }
}

#[test]
fn an_adopted_copy_does_not_work_in_a_workspace_that_was_not_copied_unless_that_is_agreed() {
    let stage = Stage::new();
    fs::create_dir(stage.path("out")).unwrap();
    stage.write("a/flow.yaml", ASKS.replace("steps:", "workspace: ../out\nsteps:"));
    expect(&stage, "a", 3, &["run", "a/flow.yaml"]);
    let run = run_in(&stage, "a");
    copy(&stage, "-r", "a", "b");
    let adopted = expect(&stage, "b", 0, &["store", "adopt"]).out;
    assert!(adopted.contains(&run) && adopted.contains("--share-workspaces"), "{adopted}");
    let refused = expect(&stage, "b", 6, &["approve", &run]);
    assert!(refused.err.contains("STORE_COPIED") && refused.err.contains("/out`"), "{refused:?}");
    assert!(!stage.path("out/published.txt").exists());
    expect(&stage, "b", 0, &["store", "adopt", "--share-workspaces"]);
    let went_on = at(&stage, "b", &["resume", &run]);
    assert!(matches!(went_on.code, Some(0 | 3)), "{went_on:?}");
}

#[test]
fn a_copy_whose_files_are_those_of_the_original_is_not_adopted() {
    let (stage, run) = waiting();
    copy(&stage, "-al", "a", "b");
    let refused = expect(&stage, "b", 6, &["store", "adopt"]);
    assert!(refused.err.contains("hard links"), "{refused:?}");
    expect(&stage, "a", 0, &["approve", &run]);
}

#[test]
fn a_backup_that_is_restored_to_its_place_is_no_copy() {
    let (stage, run) = waiting();
    copy(&stage, "-r", "a", "backup");
    fs::remove_dir_all(stage.path("a")).unwrap();
    copy(&stage, "-r", "backup", "a");
    expect(&stage, "a", 0, &["approve", &run]);
    assert_eq!(stage.lines("a/published.txt"), ["published"]);
    expect(&stage, "backup", 6, &["approve", &run]);
}

#[test]
fn a_store_that_may_not_be_written_says_so_and_is_read() {
    let (stage, run) = waiting();
    let is_root = rustix::process::geteuid().is_root();
    let root = stage.path("");
    let mode = |mode: &str| {
        let done = Command::new("chmod").args(["-R", mode]).arg(&root).status();
        assert!(done.unwrap().success());
    };
    // The superuser may write everything: another user is asked.
    let ask = |arguments: &[&str]| {
        let mut command = stage.command(arguments);
        if is_root {
            let mut other = Command::new("setpriv");
            other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(command.get_program());
            other.args(command.get_args()).current_dir(&root).env_clear();
            other.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
            other.stdin(std::process::Stdio::null());
            other.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
            command = other;
        }
        crate::stage::Process::spawn(&mut command).done()
    };
    if is_root {
        let done = Command::new("chown").args(["-R", "65534:65534"]).arg(&root).status();
        assert!(done.unwrap().success());
        // The user cannot read what root writes into the user's store.
        let refused = stage.expect(8, &["--home", "a/.envoi", "approve", &run]);
        assert!(refused.err.contains("belongs to user 65534, and this process is user 0"), "{refused:?}");
        stage.expect(0, &["--home", "a/.envoi", "show", &run]);
    }
    mode("a+rX,a-w");
    let refused = ask(&["--home", "a/.envoi", "approve", &run]);
    let shown = ask(&["--home", "a/.envoi", "show", &run]);
    let doctor = ask(&["--home", "a/.envoi", "doctor"]);
    mode("u+w");
    assert_eq!(refused.code, Some(8), "{refused:?}");
    assert!(refused.err.contains("Permission denied") && refused.err.contains("/a/.envoi"), "{refused:?}");
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert_eq!(doctor.code, Some(8), "{doctor:?}");
    assert!(doctor.out.contains("Permission denied"), "{doctor:?}");
}

/// A project `a` with a live step, its engine, and the run.
fn live() -> (Stage, crate::stage::Process, String) {
    let stage = Stage::new();
    // The step knows its project by absolute paths, as the supervisor does.
    let ledger = stage.path("ledger").display().to_string();
    let go = stage.path("go").display().to_string();
    let flow = format!(
        "flow: live\nsteps:\n  - id: long\n    run: 'echo $ENVOI_ATTEMPT >> {ledger}; until [ -e {go} ]; do sleep 0.02; done; \
         echo done >> {ledger}'\n  - {{ id: after, run: 'echo after >> {ledger}' }}\n"
    );
    stage.write("a/flow.yaml", flow);
    let engine = stage.start(&["--home", "a/.envoi", "run", "a/flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    let run = run_in(&stage, "a");
    (stage, engine, run)
}

#[test]
fn a_live_step_whose_project_is_moved_is_waited_for_and_then_in_doubt() {
    let (stage, engine, run) = live();
    engine.kill();
    fs::rename(stage.path("a"), stage.path("b")).unwrap();
    let resumed = stage.start(&["--home", "b/.envoi", "resume", &run]);
    let working =
        || expect(&stage, "b", 0, &["--json", "show", &run]).out.contains("\"running\":[\"long.1.1\"]");
    wait_until("the engine to find it", working);
    assert_eq!(stage.lines("ledger"), ["long.1.1"], "it lives, so that it is not run again");
    stage.write("go", "");
    let doubt = resumed.done();
    assert_eq!(doubt.code, Some(5), "{doubt:?}");
    assert_eq!(stage.lines("ledger"), ["long.1.1", "done"]);
    assert!(!stage.path("a").exists(), "nothing is made where it lay");
    expect(&stage, "b", 0, &["resume", &run, "--in-doubt", "rerun"]);
    assert_eq!(stage.lines("ledger"), ["long.1.1", "done", "long.1.2", "done", "after"]);
}

#[test]
fn a_project_that_is_moved_under_its_engine_loses_and_repeats_nothing() {
    let (stage, engine, run) = live();
    fs::rename(stage.path("a"), stage.path("b")).unwrap();
    stage.write("go", "");
    let stopped = engine.done();
    assert_eq!(stopped.code, Some(8), "{stopped:?}");
    assert!(stopped.err.contains("the project was moved or removed"), "{stopped:?}");
    assert!(!stage.path("a").exists(), "nothing is made where it lay");
    let row = expect(&stage, "b", 0, &["--json", "show", &run]).out;
    assert!(row.contains(r#""activity":"stopped""#), "{row}");
    expect(&stage, "b", 5, &["resume", &run]);
    assert_eq!(stage.lines("ledger"), ["long.1.1", "done"]);
    expect(&stage, "b", 0, &["resume", &run, "--in-doubt", "rerun"]);
    assert_eq!(stage.lines("ledger"), ["long.1.1", "done", "long.1.2", "done", "after"]);
}

/// Its lock has moved along, so that the engine of the old place is asked.
#[test]
fn a_command_in_a_moved_project_starts_nothing_beside_the_engine_of_the_old_place() {
    let (stage, engine, run) = live();
    fs::rename(stage.path("a"), stage.path("b")).unwrap();
    for asks in [&["resume", &run][..], &["cancel", &run], &["run", "b/flow.yaml"]] {
        let refused = expect(&stage, "b", 8, asks);
        assert!(
            refused.err.contains("/a/.envoi/envoi.db` is gone: the project was moved"),
            "{asks:?}: {refused:?}"
        );
        assert!(refused.err.contains("that engine ends with those steps"), "{asks:?}: {refused:?}");
    }
    assert_eq!(stage.lines("ledger"), ["long.1.1"], "it lives, so that it is not run again");
    stage.write("go", "");
    assert_eq!(engine.done().code, Some(8));
    assert!(!stage.path("a").exists(), "nothing is made where it lay");
    expect(&stage, "b", 5, &["resume", &run]);
    assert_eq!(stage.lines("ledger"), ["long.1.1", "done"]);
}

#[test]
fn a_copy_whose_adoption_is_killed_is_a_copy_or_adopted() {
    let mut dice = Dice::new();
    let (mut killed, mut adopted) = (0, 0);
    while killed < 20 || adopted < 3 {
        let (stage, run) = waiting();
        copy(&stage, "-r", "a", "b");
        let original = files(&stage.path("a"));
        // Killed at any time, or not at all: each time it has a little longer, so that it comes to its end however slow the machine is.
        let mut most = 30_000;
        while stage
            .start(&["--home", "b/.envoi", "store", "adopt"])
            .done_within(dice.micros(1_000, most))
            .is_none()
        {
            killed += 1;
            most += 5_000;
            let standing = expect(&stage, "b", 0, &["doctor"]).out;
            if !standing.contains("a copy of") {
                break;
            }
            expect(&stage, "b", 6, &["approve", &run]);
        }
        adopted += 1;
        expect(&stage, "b", 0, &["approve", &run]);
        assert_eq!(stage.lines("b/published.txt"), ["published"]);
        assert_eq!(files(&stage.path("a")), original, "the original is as it was");
    }
}

/// A run that failed at its second step, a backup of its project, and the run gone on after that.
fn gone_on_after_a_backup() -> (Stage, String) {
    let stage = Stage::new();
    stage.write(
        "a/flow.yaml",
        "flow: late\nsteps:\n  - { id: ask, ask: 'Go on?' }\n  \
         - { id: work, run: 'echo $ENVOI_ATTEMPT >> ledger; echo done > result.txt', artifacts: [result.txt] }\n",
    );
    expect(&stage, "a", 3, &["run", "a/flow.yaml"]);
    let run = run_in(&stage, "a");
    copy(&stage, "-r", "a", "backup");
    expect(&stage, "a", 0, &["approve", &run]);
    assert_eq!(stage.lines("a/ledger"), ["work.1.1"]);
    (stage, run)
}

/// Copies a backup over the present files, as `tar` unpacks it: newer files stay.
fn unpack_over(stage: &Stage, name: &str) {
    for beside in ["envoi.db-wal", "envoi.db-shm"] {
        // They belong to the newer database.
        drop(fs::remove_file(stage.path(&format!("a/.envoi/{beside}"))));
    }
    let from = stage.path(&format!("backup/{name}/."));
    let done = Command::new("cp").arg("-r").arg(from).arg(stage.path(&format!("a/{name}"))).status();
    assert!(done.unwrap().success());
}

#[test]
fn a_result_that_is_newer_than_an_unpacked_backup_is_not_that_of_a_step_that_is_to_run() {
    let (stage, run) = gone_on_after_a_backup();
    unpack_over(&stage, "");
    fs::remove_file(stage.path("a/result.txt")).unwrap();
    expect(&stage, "a", 0, &["approve", &run]);
    assert_eq!(stage.lines("a/ledger"), ["work.1.1", "work.1.1"], "the step has run again");
    assert_eq!(stage.read("a/result.txt"), "done\n");
    let replaced = stage.path(&format!("a/.envoi/runs/{run}/_replaced/work.1.1.1/exit.json"));
    assert!(replaced.exists(), "what was there is kept");
}

#[test]
fn a_step_that_the_database_of_a_backup_does_not_know_is_in_doubt_if_it_was_started_since() {
    let (stage, run) = gone_on_after_a_backup();
    // The database alone is replaced: the list of starts is newer than that.
    for beside in ["envoi.db-wal", "envoi.db-shm"] {
        drop(fs::remove_file(stage.path(&format!("a/.envoi/{beside}"))));
    }
    fs::copy(stage.path("backup/.envoi/envoi.db"), stage.path("a/.envoi/envoi.db")).unwrap();
    let doubt = expect(&stage, "a", 5, &["approve", &run]);
    assert!(doubt.err.contains("in doubt"), "{doubt:?}");
    assert_eq!(stage.lines("a/ledger"), ["work.1.1"], "a person decides");
    let shown = expect(&stage, "a", 0, &["show", &run, "--events"]).out;
    assert!(shown.contains("are of another start of it"), "{shown}");
    expect(&stage, "a", 0, &["resume", &run, "--in-doubt", "rerun"]);
    assert_eq!(stage.lines("a/ledger"), ["work.1.1", "work.1.2"]);
}

#[test]
fn a_step_that_an_older_copy_of_the_runs_folders_does_not_know_is_in_doubt() {
    let stage = Stage::with_flow(
        "flow: late\nsteps:\n  - { id: ask, ask: 'Go on?' }\n  \
         - { id: work, run: 'echo $ENVOI_ATTEMPT >> ledger; while [ ! -e go ]; do sleep 0.02; done' }\n",
    );
    stage.expect(3, &["run", "flow.yaml"]);
    copy(&stage, "-r", ".envoi/runs", "older");
    let engine = stage.start(&["approve"]);
    wait_until("the step", || stage.lines("ledger") == ["work.1.1"]);
    let supervisor = stage.supervisor("work.1.1").unwrap();
    engine.kill();
    signal(supervisor, Signal::KILL);
    stage.write("go", "");
    wait_until("the end of both", || !lives(supervisor) && stage.step_processes().is_empty());
    fs::remove_dir_all(stage.path(".envoi/runs")).unwrap();
    fs::rename(stage.path("older"), stage.path(".envoi/runs")).unwrap();
    let doubt = stage.expect(5, &["resume"]);
    assert!(doubt.err.contains("in doubt"), "{doubt:?}");
    assert_eq!(stage.lines("ledger"), ["work.1.1"], "a person decides");
}

/// A project `a` whose run had a tree of its own.
fn isolated() -> (Stage, String) {
    let stage = Stage::new();
    stage.write("a/flow.yaml", "flow: f\nsteps: [{ id: change, run: 'echo one >> f.txt' }]\n");
    stage.write("a/f.txt", "base\n");
    expect(&stage, "a", 0, &["run", "a/flow.yaml", "--isolate"]);
    let run = run_in(&stage, "a");
    (stage, run)
}

#[test]
fn an_adopted_copy_changes_no_files_of_the_original() {
    let (stage, run) = isolated();
    copy(&stage, "-r", "a", "b");
    expect(&stage, "b", 0, &["store", "adopt"]);
    let tree = stage.path(&format!(".local/state/envoi/trees/{run}/f.txt"));
    for arguments in
        [&["apply", &run][..], &["apply", &run, "--undo"], &["restore", &run, "--at", "start", "--here"]]
    {
        let refused = expect(&stage, "b", 6, arguments);
        assert!(refused.err.contains("STORE_COPIED"), "{arguments:?}: {refused:?}");
    }
    assert_eq!(stage.read("a/f.txt") + &fs::read_to_string(tree).unwrap(), "base\nbase\none\n");
    expect(&stage, "b", 0, &["store", "adopt", "--share-workspaces"]);
    expect(&stage, "b", 0, &["apply", &run]);
    assert_eq!(stage.read("a/f.txt") + &stage.read("b/f.txt"), "base\nbase\none\n");
}

#[test]
fn a_project_that_was_moved_gets_the_result_of_its_runs_where_it_is_now() {
    let (stage, run) = isolated();
    fs::rename(stage.path("a"), stage.path("c")).unwrap();
    stage.write("a/f.txt", "of somebody else\n");
    expect(&stage, "c", 0, &["apply", &run]);
    assert_eq!(stage.read("c/f.txt"), "base\none\n");
    expect(&stage, "c", 0, &["apply", &run, "--undo"]);
    assert_eq!(stage.read("a/f.txt") + &stage.read("c/f.txt"), "of somebody else\nbase\n");
}
