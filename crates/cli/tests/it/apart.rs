//! `isolate: true` on steps of a graph that are no lists: each works in a tree of its own, and is merged at its end, before what needs it begins.

use crate::{
    files::stage,
    isolated::{git, in_git, untouched},
    stage::{Stage, signal, text, wait_until},
};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::MetadataExt as _, path::PathBuf};

/// Two steps side by side: each has a file and a line of its own, and both change the first line of `shared.txt` if they clash. `one` ends
/// only when `two` has done its work.
fn flow(clash: bool, on_conflict: &str) -> String {
    // Before it is told of a conflict, it sees nothing of what `one` has done.
    with_two(clash, on_conflict, "if test -z \"$ENVOI_FEEDBACK\"; then test ! -e own-one; fi")
}

/// As [`flow`]; `checks` stands at the end of `two`.
fn with_two(clash: bool, on_conflict: &str, checks: &str) -> String {
    let shared = if clash { r#"sed -i "s/^first.*/& by $ENVOI_STEP/" shared.txt"# } else { ":" };
    let step = |id: &str, more: &str, checks: &str| {
        format!(
            "
  - id: {id}
    isolate: true
    on_in_doubt: rerun
    files: restore
{more}
    run: |
      test -z \"$ENVOI_ITEM\"
      echo $ENVOI_STEP > own-$ENVOI_STEP
      sed -i \"s/^line {id}$/& changed/\" lines.txt
      {shared}
      if grep -q shared.txt \"${{ENVOI_FEEDBACK:-/dev/null}}\"; then echo told >> own-$ENVOI_STEP; fi
      touch $ENVOI_RUN_BASE/$ENVOI_STEP-is-done
      {checks}
      echo said by $ENVOI_STEP"
        )
    };
    let waits = "test ! -e own-two; while test ! -e $ENVOI_RUN_BASE/two-is-done; do sleep 0.01; done";
    let (one, two) = (step("one", "", waits), step("two", on_conflict, checks));
    format!(
        "flow: branches
workspace: {{ folder: work, isolate: tree }}
steps:{one}{two}
  - id: join
    needs: [one, two]
    on_in_doubt: rerun
    env: {{ ONE: '${{{{ steps.one.text }}}}', TWO: '${{{{ steps.two.status }}}}' }}
    run: cat own-* lines.txt shared.txt > joined; echo $ONE, $TWO >> joined
"
    )
}

fn with_lines(stage: &Stage) {
    stage.write("work/lines.txt", "line one\n\n\n\nline two\n");
    stage.write("work/shared.txt", "first\n\n\n\nlast\n");
}

fn tree(stage: &Stage, id: &str) -> PathBuf {
    stage.path(&format!(".local/state/envoi/trees/{id}"))
}

fn content(stage: &Stage, id: &str, name: &str) -> String {
    fs::read_to_string(tree(stage, id).join(name)).unwrap_or_default()
}

/// Trees beside that of the run.
fn trees(stage: &Stage, id: &str) -> usize {
    fs::read_dir(stage.path(&format!(".local/state/envoi/trees/{id}.items"))).map_or(0, Iterator::count)
}

fn starts(stage: &Stage, id: &str) -> Vec<String> {
    let events = stage.events(id);
    let begun = events.iter().filter(|event| event["type"] == "attempt_started");
    begun.map(|event| text(&event["attempt"])).collect()
}

fn place(events: &[Value], kind: &str, attempt: &str) -> usize {
    events.iter().position(|event| event["type"] == kind && event["attempt"] == attempt).unwrap()
}

const LINES: &str = "line one changed\n\n\n\nline two changed\n";
const BY_ONE: &str = "first by one\n\n\n\nlast\n";
const BY_TWO: &str = "first by two\n\n\n\nlast\n";

#[test]
fn two_steps_work_apart_and_the_one_that_needs_both_begins_with_what_both_have_done() {
    let stage = stage(&flow(false, ""));
    in_git(&stage);
    with_lines(&stage);
    let before = untouched(&stage);
    let done = stage.expect(0, &["run", "flow.yaml"]);
    let id = stage.run_id();
    assert_eq!(untouched(&stage), before);
    let joined = format!("one\ntwo\n{LINES}first\n\n\n\nlast\nsaid by one, succeeded\n");
    assert_eq!(content(&stage, &id, "joined"), joined);
    assert_eq!(trees(&stage, &id), 0);
    assert_eq!(git(&stage, &["worktree", "list"]).lines().count(), 2, "the user's, and the run's");
    let events = stage.events(&id);
    let order = [
        ("attempt_started", "one.1.1"),
        ("attempt_settled", "one.1.1"),
        ("attempt_started", "two.1.1"),
        ("attempt_settled", "two.1.1"),
        ("attempt_started", "join.1.1"),
    ];
    let places: Vec<usize> = order.iter().map(|(kind, attempt)| place(&events, kind, attempt)).collect();
    assert!(places.is_sorted(), "{places:?}");
    // It is shown as a step, not as a list.
    assert!(done.err.contains("works in a tree of its own"), "{done:?}");
    assert!(done.err.contains("said by two") && !done.err.contains("1 item"), "{done:?}");
    let shown = stage.expect(0, &["show", &id]).out;
    assert!(!shown.contains("1 item") && shown.contains("said by one"), "{shown}");
    let why = stage.expect(0, &["why", &id]).out;
    assert!(why.contains("one.1  works in a tree of its own"), "{why}");
    let log = stage.expect(0, &["logs", &id, "--step", "one"]).out;
    assert!(log.contains("step `one`: 2 files"), "{log}");
    let diff = stage.expect(0, &["diff", &id, "two"]).out;
    assert!(diff.contains("own-two") && !diff.contains("own-one"), "{diff}");
    stage.expect(0, &["apply", &id]);
    assert_eq!(stage.read("work/lines.txt"), LINES);
    stage.expect(0, &["gc"]);
    stage.expect(0, &["doctor"]);
    stage.assert_nothing_left();
}

#[test]
fn a_person_decides_what_becomes_of_a_step_that_does_not_fit() {
    for choice in ["again", "ours", "theirs", "proceed", "stop"] {
        let stage = stage(&flow(true, ""));
        in_git(&stage);
        with_lines(&stage);
        let before = untouched(&stage);
        let said = stage.expect(3, &["run", "flow.yaml"]);
        assert!(said.err.contains("Step `two` has changed the same lines as others"), "{said:?}");
        let id = stage.run_id();
        assert_eq!(content(&stage, &id, "shared.txt"), BY_ONE, "the other one is merged");
        assert_eq!(content(&stage, &id, "own-two"), "");
        let events = stage.events(&id);
        let raised = events.iter().find(|event| event["type"] == "interrupt_raised").unwrap();
        assert_eq!((&raised["about"], &raised["visit"]["step"]), (&json!("conflict"), &json!("two")));
        let file = &raised["evidence"]["conflicts"][0]["files"][0];
        assert_eq!((&file["path"], &file["kind"]), (&json!("shared.txt"), &json!("content")));
        for version in ["base", "ours", "theirs"] {
            assert!(text(&file[version]).starts_with("sha256:"), "{raised}");
        }
        let done = stage.expect(i32::from(choice == "stop"), &["resume", &id, "--review", choice]);
        let (shared, own_two, more) = match choice {
            "again" => (
                "first by one by two\n\n\n\nlast\n",
                "two\ntold\n",
                &["0.two.2.1", "two.2.1", "join.1.1"][..],
            ),
            "ours" => (BY_ONE, "two\n", &["two.2.1", "join.1.1"][..]),
            "theirs" => (BY_TWO, "two\n", &["two.2.1", "join.1.1"][..]),
            "proceed" => (BY_ONE, "", &["join.1.1"][..]),
            _ => (BY_ONE, "", &[][..]),
        };
        assert_eq!(content(&stage, &id, "shared.txt"), shared, "{choice}: {done:?}");
        assert_eq!(content(&stage, &id, "own-two"), own_two, "{choice}");
        assert_eq!(starts(&stage, &id)[4..], *more, "{choice}");
        assert_eq!(trees(&stage, &id), usize::from(own_two.is_empty()), "{choice}");
        assert_eq!(untouched(&stage), before, "{choice}");
        stage.assert_nothing_left();
    }
}

#[test]
fn a_person_edits_the_files_of_a_step_that_does_not_fit() {
    let stage = stage(&flow(true, ""));
    with_lines(&stage);
    stage.expect(3, &["run", "flow.yaml"]);
    let id = stage.run_id();
    let events = stage.events(&id);
    let raised = events.iter().find(|event| event["type"] == "interrupt_raised").unwrap();
    let place = stage.store().join("runs").join(&id).join(text(&raised["evidence"]["edit"]));
    let marked = fs::read_to_string(place.join("shared.txt")).unwrap();
    assert!(
        marked.starts_with("<<<<<<< ours\nfirst by one\n") && marked.contains(">>>>>>> two\n"),
        "{marked}"
    );
    let answer = ["answer", &text(&raised["interrupt"]), "--choice", "edit"];
    assert!(stage.expect(2, &answer).err.contains("markers"));
    fs::write(place.join("shared.txt"), "first by both\n").unwrap();
    stage.expect(0, &answer);
    assert_eq!(content(&stage, &id, "shared.txt"), "first by both\n");
    assert_eq!((content(&stage, &id, "own-two").as_str(), trees(&stage, &id)), ("two\n", 0));
    stage.assert_nothing_left();
}

#[test]
fn the_flow_decides_beforehand() {
    for (on_conflict, code, shared, own_two) in [
        ("again", 0, "first by one by two\n\n\n\nlast\n", "two\ntold\n"),
        ("ours", 0, BY_ONE, "two\n"),
        ("theirs", 0, BY_TWO, "two\n"),
        ("fail", 1, BY_ONE, ""),
    ] {
        let stage = stage(&flow(true, &format!("    on_conflict: {on_conflict}")));
        with_lines(&stage);
        let done = stage.expect(code, &["run", "flow.yaml"]);
        let id = stage.run_id();
        assert_eq!(content(&stage, &id, "shared.txt"), shared, "{on_conflict}: {done:?}");
        assert_eq!(content(&stage, &id, "own-two"), own_two, "{on_conflict}");
        if on_conflict == "fail" {
            assert!(
                done.err.contains("MERGE_CONFLICT") && done.err.contains("step `two`: `shared.txt`"),
                "{done:?}"
            );
            stage.write("decided.yaml", flow(true, "    on_conflict: theirs"));
            stage.expect(0, &["resume", &id, "--flow", "decided.yaml", "--yes"]);
            assert_eq!(content(&stage, &id, "shared.txt"), BY_TWO);
            assert_eq!(starts(&stage, &id)[4..], ["two.2.1", "join.2.1"], "the step is not done again");
        }
        assert_eq!(trees(&stage, &id), 0, "{on_conflict}");
        stage.assert_nothing_left();
    }
}

#[test]
fn steps_and_merges_that_are_killed_end_with_the_same_files_each_time() {
    type Moment = (&'static str, fn(&Stage, &str) -> bool);
    let moments: [Moment; 7] = [
        ("a step has begun", |stage, id| !starts(stage, id).is_empty()),
        ("a tree is made", |stage, id| {
            fs::read_dir(stage.store().join("runs").join(id).join("items")).is_ok_and(|made| made.count() > 0)
        }),
        ("the first merge has begun", |stage, id| starts(stage, id).contains(&"one.1.1".to_owned())),
        ("files of the first are in the run's tree", |stage, id| !content(stage, id, "own-one").is_empty()),
        ("the second merge has begun", |stage, id| starts(stage, id).contains(&"two.1.1".to_owned())),
        ("a step in conflict is done again", |stage, id| starts(stage, id).contains(&"0.two.2.1".to_owned())),
        ("files of the second are in the run's tree", |stage, id| !content(stage, id, "own-two").is_empty()),
    ];
    for (what, is_reached) in moments {
        for with_supervisors in [false, true] {
            let stage = stage(&flow(true, "    on_conflict: again"));
            in_git(&stage);
            with_lines(&stage);
            let before = untouched(&stage);
            let run = stage.start(&["run", "flow.yaml"]);
            wait_until("the run is there", || !stage.runs().is_empty());
            let id = stage.run_id();
            wait_until(what, || is_reached(&stage, &id));
            run.kill();
            if with_supervisors {
                stage.supervisors().into_iter().for_each(|pid| signal(pid, Signal::KILL));
            }
            if text(&stage.json(&["--json", "show", &id])["status"]) != "succeeded" {
                stage.expect(0, &["resume", &id]);
            }
            let what = format!("{what}, with supervisors: {with_supervisors}");
            assert_eq!(untouched(&stage), before, "{what}");
            let shared = "first by one by two\n\n\n\nlast\n";
            let joined = format!("one\ntwo\ntold\n{LINES}{shared}said by one, succeeded\n");
            assert_eq!(content(&stage, &id, "joined"), joined, "{what}");
            assert_eq!(trees(&stage, &id), 0, "{what}");
            assert_eq!(git(&stage, &["branch", "--list", "envoi/*"]).lines().count(), 1, "{what}");
            stage.expect(0, &["doctor"]);
            stage.assert_nothing_left();
        }
    }
}

#[test]
fn a_step_that_fails_leaves_its_files_in_its_tree_and_a_resumed_run_does_it_again_from_the_runs_tree() {
    let stage = stage(&with_two(false, "", "test -e own-one"));
    in_git(&stage);
    with_lines(&stage);
    let done = stage.expect(1, &["run", "flow.yaml"]);
    let id = stage.run_id();
    assert!(done.err.contains("TOOL_EXIT_NON_ZERO") && !done.err.contains("ITEMS_FAILED"), "{done:?}");
    assert_eq!(
        (content(&stage, &id, "own-one").as_str(), content(&stage, &id, "own-two")),
        ("one\n", String::new())
    );
    assert_eq!(trees(&stage, &id), 1, "the tree of the failed step");
    stage.expect(0, &["resume", &id]);
    assert_eq!(starts(&stage, &id)[3..], ["0.two.2.1", "two.2.1", "join.2.1"]);
    assert!(content(&stage, &id, "joined").starts_with("one\ntwo\n"));
    stage.assert_nothing_left();
}

/// Whether a process waits for this lock, which is held elsewhere.
fn is_waited_for(lock: &fs::File) -> bool {
    let inode = format!(":{} ", lock.metadata().unwrap().ino());
    let locks = fs::read_to_string("/proc/locks").unwrap();
    locks.lines().any(|line| line.contains("->") && line.contains("FLOCK") && line.contains(&inode))
}

#[test]
fn no_tree_is_made_while_files_are_merged_and_nothing_is_merged_while_a_tree_is_made() {
    let stage = stage(
        "flow: branches
workspace: { folder: work, isolate: tree }
steps:
  - { id: plan, run: 'while test ! -e $ENVOI_RUN_BASE/go; do sleep 0.01; done' }
  - { id: one, needs: [plan], isolate: true, run: 'while test ! -e $ENVOI_RUN_BASE/end; do sleep 0.01; done; echo one > own-one' }
",
    );
    let run = stage.start(&["run", "flow.yaml"]);
    wait_until("the first step is at work", || {
        stage.runs().first().is_some_and(|run| starts(&stage, &text(&run["run"])) == ["plan.1.1"])
    });
    let id = stage.run_id();
    let base = stage.store().join("runs").join(&id);
    let open = || {
        fs::File::options().create(true).truncate(false).write(true).open(base.join("items.lock")).unwrap()
    };
    let lock = open();
    lock.lock().unwrap();
    fs::write(base.join("go"), "").unwrap();
    wait_until("a tree is to be made", || is_waited_for(&lock));
    assert_eq!(trees(&stage, &id), 0);
    lock.unlock().unwrap();
    wait_until("it is made", || base.join("items/0.one.1").exists());
    lock.lock_shared().unwrap();
    fs::write(base.join("end"), "").unwrap();
    wait_until("it is to be merged", || is_waited_for(&lock));
    assert_eq!(content(&stage, &id, "own-one"), "");
    lock.unlock().unwrap();
    assert_eq!(run.done().code, Some(0));
    assert_eq!(content(&stage, &id, "own-one"), "one\n");
    stage.assert_nothing_left();
}

#[test]
fn a_cancelled_run_merges_what_was_done_when_it_is_resumed_and_does_it_not_again() {
    let stage = stage(&flow(false, "").replace("/two-is-done;", "/go;"));
    with_lines(&stage);
    let run = stage.start(&["run", "flow.yaml"]);
    wait_until("the second step is over", || {
        stage.runs().first().is_some_and(|run| {
            let events = stage.events(&text(&run["run"]));
            events.iter().any(|event| event["type"] == "attempt_settled" && event["attempt"] == "0.two.1.1")
        })
    });
    let id = stage.run_id();
    stage.expect(0, &["cancel", &id]);
    run.done();
    assert_eq!(text(&stage.json(&["--json", "show", &id])["status"]), "cancelled");
    fs::write(stage.store().join("runs").join(&id).join("go"), "").unwrap();
    stage.expect(0, &["resume", &id]);
    assert_eq!(starts(&stage, &id)[2..], ["0.one.2.1", "one.2.1", "two.2.1", "join.1.1"]);
    assert_eq!(content(&stage, &id, "lines.txt"), LINES);
    stage.assert_nothing_left();
}

#[test]
fn a_fork_begins_with_what_was_merged_and_does_it_not_again() {
    let stage = stage(&flow(false, ""));
    in_git(&stage);
    with_lines(&stage);
    stage.expect(0, &["run", "flow.yaml"]);
    let id = stage.run_id();
    stage.expect(0, &["fork", &id, "--from", "join", "--isolate"]);
    let fork = stage.runs().into_iter().map(|run| text(&run["run"])).find(|run| *run != id).unwrap();
    assert_eq!(starts(&stage, &fork).last().map(String::as_str), Some("join.1.1"));
    assert!(content(&stage, &fork, "joined").starts_with("one\ntwo\n"));
    stage.assert_nothing_left();
}
