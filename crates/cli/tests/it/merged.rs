//! `isolate: true`: the items of a step work in trees of their own, and their changes are merged in their order.

use crate::{
    asking::{prompts, waits_for},
    files::stage,
    full::{can_mount, script_of},
    isolated::{git, in_git, untouched},
    stage::{Dice, Stage, signal, text, wait_until},
    terminal::Terminal,
};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{fs, path::PathBuf, time::Instant};

/// Six items. Each has a file and a line of its own; items 1 and 2, and 3 and 4, also change the same line.
fn flow(more: &str) -> String {
    format!(
        "
flow: files
workspace: {{ folder: work, isolate: tree }}
steps:
  - id: fix
    for_each: [0, 1, 2, 3, 4, 5]
    max_parallel: 3
    isolate: true
{more}
    on_in_doubt: rerun
    files: restore
    run: |
      i=$ENVOI_ITEM
      test ! -e own-$i
      echo item $i > own-$i
      sed -i \"s/^line $i$/line $i by $i/\" lines.txt
      case $i in 1|2) sed -i \"s/^first.*/& by $i/\" shared.txt;; 3|4) sed -i \"s/^last.*/& by $i/\" shared.txt;; esac
      if grep -q shared.txt \"${{ENVOI_FEEDBACK:-/dev/null}}\"; then echo told >> own-$i; fi
      echo done $i >> own-$i
"
    )
}

fn with_lines(stage: &Stage) {
    let lines: Vec<String> = (0..6).map(|nth| format!("line {nth}\n\n\n")).collect();
    stage.write("work/lines.txt", lines.concat());
    stage.write("work/shared.txt", "first\n\n\n\n\nlast\n");
}

fn tree(stage: &Stage, id: &str) -> PathBuf {
    stage.path(&format!(".local/state/envoi/trees/{id}"))
}

/// The files in the tree of a run, by name, without `.git`. The run must not be at work: a file that is deleted meanwhile is a panic.
fn result(stage: &Stage, id: &str) -> Vec<(String, String)> {
    let mut found: Vec<_> = fs::read_dir(tree(stage, id))
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_type().unwrap().is_file() && entry.file_name() != ".git")
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap()))
        .collect();
    found.sort();
    found
}

fn content<'r>(result: &'r [(String, String)], name: &str) -> &'r str {
    result.iter().find(|(other, _)| other == name).map_or("", |(_, content)| content)
}

fn trees_of_items(stage: &Stage, id: &str) -> usize {
    fs::read_dir(stage.path(&format!(".local/state/envoi/trees/{id}.items"))).map_or(0, Iterator::count)
}

#[test]
fn what_items_have_changed_apart_is_merged_and_the_folder_of_the_user_is_left_alone() {
    let stage = stage(&flow("    on_conflict: theirs"));
    in_git(&stage);
    with_lines(&stage);
    let before = untouched(&stage);
    stage.expect(0, &["run", "flow.yaml"]);
    let id = stage.run_id();
    assert_eq!(untouched(&stage), before);
    let found = result(&stage, &id);
    for nth in 0..6 {
        assert_eq!(content(&found, &format!("own-{nth}")), format!("item {nth}\ndone {nth}\n"));
        assert!(content(&found, "lines.txt").contains(&format!("line {nth} by {nth}\n")), "{found:?}");
    }
    assert_eq!(content(&found, "shared.txt"), "first by 2\n\n\n\n\nlast by 4\n");
    assert_eq!(trees_of_items(&stage, &id), 0);
    assert_eq!(git(&stage, &["worktree", "list"]).lines().count(), 2, "the user's, and the run's");
    let diff = stage.expect(0, &["diff", &id, "2.fix"]).out;
    assert!(diff.contains("+first by 2") && !diff.contains("own-1"), "{diff}");
    stage.expect(0, &["apply", &id]);
    assert_eq!(stage.read("work/own-5"), "item 5\ndone 5\n");
    stage.expect(0, &["gc"]);
    stage.expect(0, &["doctor"]);
    stage.assert_nothing_left();
}

#[test]
fn a_conflict_fails_the_step_and_changes_nothing_until_it_is_decided() {
    let stage = stage(&flow("    on_conflict: fail"));
    with_lines(&stage);
    let done = stage.expect(1, &["run", "flow.yaml"]);
    let id = stage.run_id();
    for part in ["MERGE_CONFLICT", "item 2: `shared.txt`", "item 4: `shared.txt`"] {
        assert!(done.err.contains(part), "{part}: {done:?}");
    }
    assert!(!done.err.contains("item 1:"), "{done:?}");
    let found = result(&stage, &id);
    assert!(found.iter().all(|(name, _)| !name.starts_with("own")), "{found:?}");
    assert_eq!(content(&found, "shared.txt"), "first\n\n\n\n\nlast\n");
    assert_eq!(trees_of_items(&stage, &id), 6);
    let starts = |stage: &Stage| {
        let events = stage.events(&id);
        let begun = events.iter().filter(|event| event["type"] == "attempt_started");
        begun.map(|event| text(&event["attempt"])).collect::<Vec<_>>()
    };
    assert_eq!(starts(&stage).len(), 7);
    stage.write("decided.yaml", flow("    on_conflict: ours"));
    stage.expect(0, &["resume", &id, "--flow", "decided.yaml", "--yes"]);
    let found = result(&stage, &id);
    assert_eq!(content(&found, "shared.txt"), "first by 1\n\n\n\n\nlast by 3\n");
    assert_eq!(content(&found, "own-4"), "item 4\ndone 4\n");
    assert_eq!(starts(&stage)[7..], ["fix.2.1"], "no item is done again");
}

#[test]
fn in_a_graph_steps_that_wait_for_the_items_begin_with_all_of_them() {
    let flow = flow("    on_conflict: theirs\n    needs: [before]").replacen(
        "steps:\n",
        "steps:
  - id: before
    run: echo before > before
  - id: count
    needs: [fix]
    run: ls own-* | wc -l > count
  - id: names
    needs: [fix]
    run: cat before own-* > names
",
        1,
    );
    let stage = stage(&flow);
    in_git(&stage);
    with_lines(&stage);
    let before = untouched(&stage);
    stage.expect(0, &["run", "flow.yaml"]);
    let id = stage.run_id();
    assert_eq!(untouched(&stage), before);
    let found = result(&stage, &id);
    let all: String = (0..6).map(|nth| format!("item {nth}\ndone {nth}\n")).collect();
    assert_eq!(content(&found, "count").trim(), "6");
    assert_eq!(content(&found, "names"), format!("before\n{all}"));
    assert_eq!(content(&found, "shared.txt"), "first by 2\n\n\n\n\nlast by 4\n");
    assert_eq!(trees_of_items(&stage, &id), 0);
    stage.assert_nothing_left();
}

/// Events of a type that name this attempt, or any.
fn count(stage: &Stage, id: &str, kind: &str, attempt: Option<&str>) -> usize {
    let events = stage.events(id);
    let of =
        |event: &&Value| event["type"] == kind && attempt.is_none_or(|attempt| event["attempt"] == attempt);
    events.iter().filter(of).count()
}

#[test]
fn items_that_are_killed_and_resumed_end_with_the_same_files_each_time() {
    type Moment = (&'static str, fn(&Stage, &str) -> bool);
    let moments: [Moment; 6] = [
        ("an item has begun", |stage, id| count(stage, id, "attempt_started", None) > 0),
        ("the tree of an item is made", |stage, id| {
            fs::read_dir(stage.store().join("runs").join(id).join("items")).is_ok_and(|made| made.count() > 0)
        }),
        ("three items are over", |stage, id| count(stage, id, "attempt_settled", None) > 2),
        ("the merge has begun", |stage, id| count(stage, id, "attempt_started", Some("fix.1.1")) > 0),
        ("files are in the run's tree", |stage, id| {
            fs::metadata(tree(stage, id).join("own-0")).is_ok_and(|file| file.len() > 0)
        }),
        ("the items in conflict are done again", |stage, id| {
            count(stage, id, "attempt_started", Some("4.fix.2.1")) > 0
        }),
    ];
    let mut results = Vec::new();
    for (nth, (what, is_reached)) in moments.into_iter().enumerate() {
        let stage = stage(&flow("    on_conflict: again"));
        in_git(&stage);
        with_lines(&stage);
        let before = untouched(&stage);
        let run = stage.start(&["run", "flow.yaml"]);
        wait_until("the run is there", || !stage.runs().is_empty());
        let id = stage.run_id();
        wait_until(what, || is_reached(&stage, &id));
        run.kill();
        if nth % 2 == 1 {
            stage.supervisors().into_iter().for_each(|pid| signal(pid, Signal::KILL));
        }
        if text(&stage.json(&["--json", "show", &id])["status"]) != "succeeded" {
            stage.expect(0, &["resume", &id]);
        }
        assert_eq!(untouched(&stage), before, "{what}");
        assert_eq!(trees_of_items(&stage, &id), 0, "{what}");
        assert_eq!(git(&stage, &["branch", "--list", "envoi/*"]).lines().count(), 1, "{what}");
        results.push(result(&stage, &id));
        stage.assert_nothing_left();
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{results:?}");
    is_done_again(&results[0]);
}

/// Several kills of each run, at moments that the seed chooses, of the engine alone or of all that works.
#[test]
fn items_that_are_killed_at_random_end_with_the_same_files_each_time() {
    let mut dice = Dice::new();
    let mut kills = 0;
    for round in 0..3 {
        let stage = stage(&flow("    on_conflict: again"));
        in_git(&stage);
        with_lines(&stage);
        let before = untouched(&stage);
        let mut engine = stage.start(&["run", "flow.yaml"]);
        wait_until("the run is there", || !stage.runs().is_empty());
        let id = stage.run_id();
        // A visit in doubt is run again three times, and then a person is asked.
        let mut doubts = 0..3;
        for _ in 0..dice.between(2, 6) {
            let until = Instant::now() + dice.micros(1_000, 700_000);
            wait_until("the moment has come", || Instant::now() >= until);
            kills += u32::from(!engine.is_over());
            engine.kill();
            if dice.between(0, 2) == 0 && doubts.next().is_some() {
                stage.supervisors().into_iter().for_each(|pid| signal(pid, Signal::KILL));
            }
            engine = stage.start(&["resume", &id]);
        }
        engine.done();
        if text(&stage.json(&["--json", "show", &id])["status"]) != "succeeded" {
            stage.expect(0, &["resume", &id]);
        }
        assert_eq!(untouched(&stage), before, "{round}");
        assert_eq!(trees_of_items(&stage, &id), 0, "{round}");
        assert_eq!(git(&stage, &["branch", "--list", "envoi/*"]).lines().count(), 1, "{round}");
        is_done_again(&result(&stage, &id));
        stage.expect(0, &["doctor"]);
        stage.assert_nothing_left();
    }
    eprintln!("{kills} engines were killed at work");
    assert!(kills > 0);
}

/// Items 2 and 4 were done again, with the conflict as feedback, from what the others had left.
fn is_done_again(result: &[(String, String)]) {
    assert_eq!(content(result, "shared.txt"), "first by 1 by 2\n\n\n\n\nlast by 3 by 4\n");
    for nth in 0..6 {
        let told = if nth == 2 || nth == 4 { "told\n" } else { "" };
        assert_eq!(content(result, &format!("own-{nth}")), format!("item {nth}\n{told}done {nth}\n"));
        assert!(content(result, "lines.txt").contains(&format!("line {nth} by {nth}\n")), "{result:?}");
    }
}

/// Its tree is not that of the run, which would be set back in its place.
#[test]
fn an_item_in_doubt_is_not_run_again_on_the_files_of_the_run() {
    let stage = stage(
        "
flow: files
workspace: { folder: work, isolate: tree }
steps:
  - id: fix
    for_each: [0]
    isolate: true
    run: 'echo half >> made.txt; touch $ENVOI_RUN_BASE/at; sleep 600'
",
    );
    with_lines(&stage);
    let run = stage.start(&["run", "flow.yaml"]);
    wait_until("the command is at work", || {
        let events = stage.runs().first().map(|run| stage.events(&text(&run["run"]))).unwrap_or_default();
        events.iter().any(|event| event["type"] == "attempt_started")
            && stage.supervisor("0.fix.1.1").is_some()
    });
    let id = stage.run_id();
    signal(stage.supervisor("0.fix.1.1").unwrap(), Signal::KILL);
    run.done();
    let refused = stage.expect(2, &["resume", &id, "--in-doubt", "rerun", "--files", "then"]).err;
    assert!(
        refused.contains("NOT_YET_SUPPORTED") && refused.contains("a tree of the item's own"),
        "{refused}"
    );
    assert_eq!(count(&stage, &id, "files_restoring", None), 0);
    stage.expect(1, &["resume", &id, "--in-doubt", "fail"]);
}

#[test]
fn a_person_may_stop_at_a_conflict_and_all_trees_of_the_items_in_conflict_stay() {
    let stage = stage(&flow(""));
    with_lines(&stage);
    stage.expect(3, &["run", "flow.yaml"]);
    let id = stage.run_id();
    let done = stage.expect(1, &["resume", &id, "--review", "stop"]);
    assert!(done.err.contains("Stopped at step `fix`"), "{done:?}");
    let events = stage.events(&id);
    let errors = events.iter().filter_map(|event| event["handoff"]["error"].as_str());
    assert_eq!(errors.filter(|error| error.contains("MERGE_CONFLICT")).count(), 1, "{events:?}");
    assert_eq!(text(&stage.json(&["--json", "show", &id])["status"]), "failed");
    let found = result(&stage, &id);
    assert_eq!(content(&found, "shared.txt"), "first by 1\n\n\n\n\nlast by 3\n", "the others are merged");
    assert!(content(&found, "own-2").is_empty() && content(&found, "own-4").is_empty(), "{found:?}");
    assert_eq!(trees_of_items(&stage, &id), 2);
    let left = tree(&stage, &format!("{id}.items"));
    assert!(left.is_dir());
    stage.assert_nothing_left();
}

#[test]
fn a_person_is_asked_about_items_in_conflict_and_may_have_them_done_again_or_leave_them_out() {
    for (choice, starts) in [("again", 10), ("proceed", 7), ("ours", 8), ("theirs", 8)] {
        let stage = stage(&flow(""));
        with_lines(&stage);
        let said = stage.expect(3, &["run", "flow.yaml"]);
        assert!(
            said.err.contains("changed the same lines as others: 2 (2), 4 (4). The others are merged"),
            "{said:?}"
        );
        let id = stage.run_id();
        let events = stage.events(&id);
        let raised = events.iter().find(|event| event["type"] == "interrupt_raised").unwrap();
        assert_eq!(raised["about"], "conflict");
        assert_eq!(raised["evidence"]["in_conflict"], json!([2, 4]));
        let file = &raised["evidence"]["conflicts"][1]["files"][0];
        assert_eq!((&file["path"], &file["kind"]), (&json!("shared.txt"), &json!("content")));
        for version in ["base", "ours", "theirs"] {
            assert!(text(&file[version]).starts_with("sha256:"), "{raised}");
        }
        assert_eq!(trees_of_items(&stage, &id), 2);
        // Each item is named once, although those in conflict were tried twice.
        let log = stage.expect(0, &["logs", &id, "--step", "fix"]).out;
        let named = |part: &str| log.lines().filter(|line| line.contains(part)).count();
        for nth in [2, 4] {
            assert_eq!(named(&format!("item {nth}: conflict in `shared.txt`")), 1, "{log}");
        }
        assert_eq!([named(": 2 files"), named(": 3 files")], [2, 2], "{log}");
        // A yes could mean any of them.
        let refused = stage.expect(6, &["approve", &id]).err;
        assert!(refused.contains("WRONG_ANSWER") && refused.contains("again, ours, theirs"), "{refused}");
        stage.expect(0, &["resume", &id, "--review", choice]);
        let found = result(&stage, &id);
        match choice {
            "again" => is_done_again(&found),
            "theirs" => assert_eq!(content(&found, "shared.txt"), "first by 2\n\n\n\n\nlast by 4\n"),
            _ => assert_eq!(content(&found, "shared.txt"), "first by 1\n\n\n\n\nlast by 3\n"),
        }
        let is_in = choice != "proceed";
        for nth in [2, 4] {
            assert_eq!(!content(&found, &format!("own-{nth}")).is_empty(), is_in, "{choice}: {found:?}");
        }
        assert_eq!(trees_of_items(&stage, &id), if is_in { 0 } else { 2 }, "{choice}");
        assert_eq!(count(&stage, &id, "attempt_started", None), starts);
        stage.assert_nothing_left();
    }
}

/// A flow whose items also have a file that one changes and another deletes. With a secret, strange files in the folder of
/// an attempt are removed; the files to be edited are not strange.
const TO_BE_EDITED: &str = "
flow: files
secrets: { KEY: { file: key } }
workspace: { folder: work, isolate: tree }
steps:
  - id: fix
    for_each: [0, 1, 2]
    isolate: true
    on_in_doubt: rerun
    files: restore
    run: |
      sed -i \"s/^first.*/& by $ENVOI_ITEM/\" shared.txt
      case $ENVOI_ITEM in 0) echo more >> gone.txt;; 1) rm gone.txt;; esac
";

/// A run that asks about its items 1 and 2, its id, its question, and the folder with the files that can be edited.
fn to_be_edited() -> (Stage, String, String, String) {
    let stage = stage(TO_BE_EDITED);
    with_lines(&stage);
    stage.write("work/gone.txt", "kept\n");
    stage.write("key", "a-key-of-the-flow\n");
    stage.expect(3, &["run", "flow.yaml"]);
    let id = stage.run_id();
    let events = stage.events(&id);
    let raised = events.iter().find(|event| event["type"] == "interrupt_raised").unwrap();
    let interrupt = text(&raised["interrupt"]);
    let place = stage.store().join("runs").join(&id).join(text(&raised["evidence"]["edit"]));
    let shown = stage.expect(0, &["show", &interrupt]).out;
    assert!(shown.contains(place.to_str().unwrap()) && shown.contains("--choice edit"), "{shown}");
    (stage, id, interrupt, place.to_str().unwrap().to_owned())
}

#[test]
fn a_person_edits_the_files_in_conflict_and_a_marker_that_is_left_is_refused() {
    let (stage, id, interrupt, place) = to_be_edited();
    let edit = |name: &str| format!("{place}/{name}");
    let marked = fs::read_to_string(edit("shared.txt")).unwrap();
    let conflict = "<<<<<<< ours\nfirst by 0\n======= item 1\nfirst by 1\n======= item 2\nfirst by 2\n>>>>>>> item 1, item 2\n";
    assert!(marked.starts_with(conflict) && marked.ends_with("\nlast\n"), "{marked}");
    let gone = fs::read_to_string(edit("gone.txt")).unwrap();
    assert!(gone.contains("kept\nmore\n=======\n(deleted)\n>>>>>>> item 1\n"), "{gone}");
    let answer = ["answer", &interrupt, "--choice", "edit"];
    let refused = stage.expect(2, &answer).err;
    assert!(refused.contains("markers") && refused.contains("gone.txt"), "{refused}");
    fs::remove_file(edit("gone.txt")).unwrap();
    fs::write(edit("shared.txt"), "first by all\nlast\n").unwrap();
    stage.expect(0, &answer);
    let found = result(&stage, &id);
    assert_eq!(content(&found, "shared.txt"), "first by all\nlast\n");
    assert!(found.iter().all(|(name, _)| name != "gone.txt"), "{found:?}");
    assert_eq!(trees_of_items(&stage, &id), 0);
    assert_eq!(stage.read("work/shared.txt"), "first\n\n\n\n\nlast\n");
    stage.assert_nothing_left();
}

/// An editor that does what a file beside it orders.
const EDITOR: &str = r#"
case $(cat "$(dirname "$0")/does") in
    fail) exit 3;;
    leave) ;;
    write) for file; do case $file in */gone.txt) rm "$file";; *) printf 'first by all\nlast\n' > "$file";; esac; done;;
esac
"#;

#[test]
fn files_in_conflict_are_edited_at_the_prompt_and_an_editor_that_fails_or_leaves_markers_answers_nothing() {
    let (stage, id, _, _) = to_be_edited();
    stage.write("editor", EDITOR);
    let editor = format!("sh '{}'", stage.path("editor").display());
    for [name, other] in [["VISUAL", "EDITOR"], ["EDITOR", "VISUAL"]] {
        let answered = || count(&stage, &id, "interrupt_answered", None);
        stage.write("does", "fail");
        let is_last = name == "EDITOR";
        let terminal = Terminal::start(&stage, &["resume", &id], 200, &[(name, &editor), (other, "")]);
        prompts(&terminal, "show, later?");
        assert!(terminal.shows().contains("edit, "), "{}", terminal.shows());
        for (does, said) in [("fail", "failed: exit status: 3"), ("leave", "conflict markers are still in")] {
            stage.write("does", does);
            terminal.types("edit\n");
            waits_for(&terminal, said);
            prompts(&terminal, "show, later?");
            assert_eq!(answered(), 0);
        }
        if !is_last {
            terminal.types("later\n");
            assert_eq!(terminal.done().1, Some(3));
            continue;
        }
        stage.write("does", "write");
        terminal.types("edit\n");
        prompts(&terminal, "note (Enter for none):");
        terminal.types("by hand\n");
        let (text, code, _) = terminal.done();
        assert_eq!(code, Some(0), "{text}");
    }
    let found = result(&stage, &id);
    assert_eq!(content(&found, "shared.txt"), "first by all\nlast\n");
    assert!(found.iter().all(|(name, _)| name != "gone.txt"), "{found:?}");
}

#[test]
fn a_file_in_conflict_that_has_changed_since_it_was_shown_is_asked_about_again() {
    let (stage, id, interrupt, place) = to_be_edited();
    fs::remove_file(format!("{place}/gone.txt")).unwrap();
    fs::write(format!("{place}/shared.txt"), "first by all\n").unwrap();
    stage.write(&format!(".local/state/envoi/trees/{id}/shared.txt"), "first by a person\n\n\n\n\nlast\n");
    let said = stage.expect(3, &["answer", &interrupt, "--choice", "edit"]);
    assert!(said.err.contains("changed the same lines"), "{said:?}");
    assert_eq!(content(&result(&stage, &id), "shared.txt"), "first by a person\n\n\n\n\nlast\n");
    stage.expect(0, &["resume", &id, "--review", "ours"]);
    let found = result(&stage, &id);
    assert_eq!(content(&found, "shared.txt"), "first by a person\n\n\n\n\nlast\n");
}

#[test]
fn a_merge_of_edited_files_that_is_killed_ends_with_the_same_files() {
    type Moment = (&'static str, fn(&Stage, &str) -> bool);
    let moments: [Moment; 2] = [
        ("the merge has begun", |stage, id| count(stage, id, "attempt_started", Some("fix.2.1")) > 0),
        ("files are in the run's tree", |stage, id| {
            fs::read_to_string(tree(stage, id).join("shared.txt")).is_ok_and(|text| text.contains("all"))
        }),
    ];
    for (what, is_reached) in moments {
        let (stage, id, interrupt, place) = to_be_edited();
        fs::remove_file(format!("{place}/gone.txt")).unwrap();
        fs::write(format!("{place}/shared.txt"), "first by all\n").unwrap();
        let answer = stage.start(&["answer", &interrupt, "--choice", "edit"]);
        wait_until(what, || is_reached(&stage, &id));
        answer.kill();
        stage.supervisors().into_iter().for_each(|pid| signal(pid, Signal::KILL));
        if text(&stage.json(&["--json", "show", &id])["status"]) != "succeeded" {
            stage.expect(0, &["resume", &id]);
        }
        let found = result(&stage, &id);
        assert_eq!(content(&found, "shared.txt"), "first by all\n", "{what}");
        assert!(found.iter().all(|(name, _)| name != "gone.txt"), "{what}: {found:?}");
        assert_eq!(trees_of_items(&stage, &id), 0, "{what}");
        stage.assert_nothing_left();
    }
}

#[test]
fn a_tree_of_an_item_stays_with_what_no_snapshot_keeps_and_no_store_is_copied_into_one() {
    let stage = stage(
        "
flow: files
workspace: { folder: work, isolate: tree }
steps:
  - { id: make, run: 'mkdir kept; printf \"SQLite format 3\\0\" > kept/envoi.db' }
  - id: each
    for_each: [0, 1, 2]
    isolate: true
    run: |
      test ! -e kept
      case $ENVOI_ITEM in
        0) rm .git; git init -q; git -c user.name=N -c user.email=n@example.org commit -q --allow-empty -m own; echo > zero;;
        1) mkdir with; printf \"SQLite format 3\\0\" > with/envoi.db;;
      esac
",
    );
    in_git(&stage);
    stage.expect(0, &["run", "flow.yaml"]);
    let id = stage.run_id();
    let tree = stage.path(&format!(".local/state/envoi/trees/{id}"));
    for there in ["kept/envoi.db", "zero", "with/envoi.db"] {
        assert!(tree.join(there).is_file(), "{there}");
    }
    assert_eq!(trees_of_items(&stage, &id), 2);
    let said = stage.expect(0, &["logs", &id, "--step", "each.1"]).out;
    for why in ["no snapshot keeps the history in `.git`", "the runs of the store in `./with`"] {
        assert!(said.contains(why), "{why}: {said}");
    }
    let items = format!(".local/state/envoi/trees/{id}.items");
    let place = format!("{items}/{id}.0.each.1/place");
    fs::create_dir(stage.path(&place)).unwrap();
    stage.write("precious/file", "a person's\n");
    let mount = format!("mount --bind precious {place}");
    if can_mount(&stage, &mount) {
        let script = format!(
            "{mount}; for with in '' '--drop {id}'; do \"$0\" gc $with >> said 2>&1; done; umount {place}"
        );
        assert!(script_of(&stage, &script, true).status().unwrap().success());
        let said = stage.read("said");
        assert_eq!(said.matches("something is mounted at").count(), 2, "{said}");
        assert_eq!((stage.read("precious/file").as_str(), trees_of_items(&stage, &id)), ("a person's\n", 2));
    }
    let stays = stage.expect(0, &["gc"]).out;
    assert!(stays.contains("the tree of an item is left") && tree.is_dir(), "{stays}");
    stage.expect(0, &["gc", "--drop", &id]);
    assert!(!tree.exists() && !stage.path(&items).exists());
    assert_eq!(git(&stage, &["worktree", "list"]).lines().count(), 1);
    assert_eq!(stage.read("precious/file"), "a person's\n");
}

#[test]
fn an_ignored_file_of_the_run_that_an_item_has_changed_is_in_conflict_and_not_lost() {
    let flow = |on_conflict: &str| {
        format!(
            "flow: files\nworkspace: {{ folder: work, isolate: tree, bring: [secret] }}\nsteps:\n  - {{ id: each, for_each: [0], isolate: true, \
             on_conflict: {on_conflict}, run: 'rm .gitignore; echo theirs > secret' }}\n"
        )
    };
    let stage = stage(&flow("fail"));
    in_git(&stage);
    let done = stage.expect(1, &["run", "flow.yaml"]);
    assert!(done.err.contains("MERGE_CONFLICT") && done.err.contains("`secret`"), "{done:?}");
    let id = stage.run_id();
    assert_eq!(content(&result(&stage, &id), "secret"), "hush\n");
    stage.write("decided.yaml", flow("theirs"));
    stage.expect(0, &["resume", &id, "--flow", "decided.yaml", "--yes"]);
    let found = result(&stage, &id);
    assert_eq!((content(&found, "secret"), content(&found, ".gitignore")), ("theirs\n", ""));
    assert_eq!(trees_of_items(&stage, &id), 0);
}
