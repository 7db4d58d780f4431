//! A side has a folder where the other has a file or a link: `ours` and `theirs` settle it, in the merge of items and in an apply.

use crate::{
    files::stage,
    isolated::in_git,
    stage::{Stage, signal, text, wait_until},
};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Item 1 clashes with item 0 twice, each the other way round, and has a file of its own.
fn flow(on_conflict: &str) -> String {
    format!(
        "
flow: files
workspace: {{ folder: work, isolate: tree }}
steps:
  - id: fix
    for_each: [0, 1]
    isolate: true
    on_conflict: {on_conflict}
    on_in_doubt: rerun
    files: restore
    run: |
      echo $ENVOI_ITEM > own-$ENVOI_ITEM
      case $ENVOI_ITEM in
        0) mkdir -p d/deep; echo 0 > d/deep/f; ln -s old.sh e;;
        1) echo 1 > d; mkdir e; echo 1 > e/f; echo 1 > e/g;;
      esac
"
    )
}

const OURS: [(&str, &str); 2] = [("d/deep/f", "0\n"), ("e", "-> old.sh")];
const THEIRS: [(&str, &str); 3] = [("d", "1\n"), ("e/f", "1\n"), ("e/g", "1\n")];

/// The content of `d` and `e` in this folder, by path. A link is its target.
fn there(folder: &Path) -> BTreeMap<String, String> {
    fn look(folder: &Path, above: &str, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let name = format!("{above}{}", entry.file_name().into_string().unwrap());
            if above.is_empty() && !["d", "e"].contains(&name.as_str()) {
                continue;
            }
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                look(&entry.path(), &format!("{name}/"), found);
            } else if kind.is_symlink() {
                found.insert(name, format!("-> {}", fs::read_link(entry.path()).unwrap().display()));
            } else {
                found.insert(name, fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    look(folder, "", &mut found);
    found
}

fn files(expected: &[(&str, &str)]) -> BTreeMap<String, String> {
    expected.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned())).collect()
}

fn tree(stage: &Stage) -> PathBuf {
    stage.path(&format!(".local/state/envoi/trees/{}", stage.run_id()))
}

fn starts(stage: &Stage) -> usize {
    let events = stage.events(&stage.run_id());
    events.iter().filter(|event| event["type"] == "attempt_started").count()
}

#[test]
fn a_folder_and_a_file_of_two_items_are_settled_beforehand() {
    for (on_conflict, expected) in [("ours", &OURS[..]), ("theirs", &THEIRS)] {
        let stage = stage(&flow(on_conflict));
        in_git(&stage);
        stage.expect(0, &["run", "flow.yaml"]);
        assert_eq!(there(&tree(&stage)), files(expected), "{on_conflict}");
        assert!(tree(&stage).join("own-1").is_file(), "{on_conflict}");
        // A change that was not taken is in the snapshot of its item.
        let id = stage.run_id();
        let diff = ["0.fix", "1.fix"].map(|visit| stage.expect(0, &["diff", &id, visit]).out).concat();
        for path in OURS.iter().chain(&THEIRS).map(|(path, _)| path) {
            assert!(
                diff.contains(&format!("b/{path}\n")) || diff.contains(&format!(" {path}")),
                "{path}: {diff}"
            );
        }
        stage.expect(0, &["apply", &id]);
        assert_eq!(there(&stage.path("work")), files(expected), "{on_conflict}");
    }
}

#[test]
fn a_person_is_shown_all_of_them_at_once_and_settles_them_with_one_answer() {
    for (choice, expected) in [("ours", &OURS[..]), ("theirs", &THEIRS)] {
        let stage = stage(&flow("ask"));
        stage.expect(3, &["run", "flow.yaml"]);
        let id = stage.run_id();
        assert_eq!(there(&tree(&stage)), files(&OURS));
        let events = stage.events(&id);
        let raised = events.iter().find(|event| event["type"] == "interrupt_raised").unwrap();
        let named = |file: &Value| (text(&file["path"]), text(&file["kind"]));
        let shown = raised["evidence"]["conflicts"][0]["files"].as_array().unwrap();
        let shown: Vec<_> = shown.iter().map(named).collect();
        let both = [("d", "folder/file"), ("e", "link/folder")];
        assert_eq!(shown, both.map(|(path, kind)| (path.to_owned(), kind.to_owned())));
        assert_eq!(raised["evidence"]["edit"], json!(null), "no text can be made of them");
        let log = stage.expect(0, &["logs", &id, "--step", "fix"]).out;
        let said = "conflict in `d` (one side has a folder there, the other a file), \
                    `e` (one side has a folder there, the other a link)";
        assert!(log.contains(said), "{log}");
        stage.expect(0, &["resume", &id, "--review", choice]);
        assert_eq!(there(&tree(&stage)), files(expected), "{choice}");
        assert_eq!(starts(&stage), 4, "two items and two merges");
        stage.assert_nothing_left();
    }
}

#[test]
fn a_merge_that_settles_them_and_is_killed_ends_with_the_same_files() {
    type Moment = (&'static str, fn(&Stage) -> bool);
    let moments: [Moment; 3] = [
        ("the merge has begun", |stage| starts(stage) == 4),
        ("the file has the place of the folder", |stage| tree(stage).join("d").is_file()),
        ("the folder has the place of the link", |stage| {
            fs::symlink_metadata(tree(stage).join("e")).is_ok_and(|found| found.is_dir())
        }),
    ];
    for (what, is_reached) in moments {
        let stage = stage(&flow("ask"));
        stage.expect(3, &["run", "flow.yaml"]);
        let id = stage.run_id();
        let answer = stage.start(&["resume", &id, "--review", "theirs"]);
        wait_until(what, || is_reached(&stage));
        answer.kill();
        stage.supervisors().into_iter().for_each(|pid| signal(pid, Signal::KILL));
        if text(&stage.json(&["--json", "show", &id])["status"]) != "succeeded" {
            stage.expect(0, &["resume", &id]);
        }
        assert_eq!(there(&tree(&stage)), files(&THEIRS), "{what}");
        stage.assert_nothing_left();
    }
}

/// A run makes what items 0 or 1 of [`flow`] make.
fn applied(item: u8) -> Stage {
    let of_item = [
        "mkdir -p d/deep; echo 0 > d/deep/f; ln -s old.sh e",
        "echo 1 > d; mkdir e; echo 1 > e/f; echo 1 > e/g",
    ];
    let stage = stage(&format!(
        "flow: files\nworkspace: work\nsteps: [{{ id: make, run: '{}; echo more > came' }}]\n",
        of_item[usize::from(item)]
    ));
    in_git(&stage);
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    stage
}

fn lay(stage: &Stage, files: &[(&str, &str)]) {
    for (path, content) in files {
        match content.strip_prefix("-> ") {
            Some(target) => std::os::unix::fs::symlink(target, stage.path(&format!("work/{path}"))).unwrap(),
            None => stage.write(&format!("work/{path}"), content),
        }
    }
}

#[test]
fn an_apply_names_all_of_them_and_takes_one_side_and_that_is_undone() {
    for (item, mine, of_run) in [(1, &OURS[..], &THEIRS[..]), (0, &THEIRS, &OURS)] {
        let stage = applied(item);
        let id = stage.run_id();
        lay(&stage, mine);
        let refused = stage.expect(6, &["apply", &id]).err;
        for part in ["APPLY_CONFLICT", "`d` (one side has", "`e` (one side has", "--ours", "--theirs"] {
            assert!(refused.contains(part), "{part}: {refused}");
        }
        assert_eq!(there(&stage.path("work")), files(mine));
        assert!(!stage.path("work/came").exists(), "nothing was written");
        stage.expect(0, &["apply", &id, "--ours"]);
        assert_eq!((there(&stage.path("work")), stage.read("work/came").as_str()), (files(mine), "more\n"));
        stage.expect(0, &["apply", &id, "--theirs"]);
        assert_eq!(there(&stage.path("work")), files(of_run));
        stage.expect(0, &["apply", &id, "--undo"]);
        assert_eq!(there(&stage.path("work")), files(mine), "what made room is there again");
        stage.expect(0, &["apply", &id, "--undo"]);
        assert_eq!(there(&stage.path("work")), files(of_run), "undo has an undo");
    }
}

#[test]
fn an_ignored_file_in_a_folder_is_not_displaced_by_a_file_of_the_run() {
    let stage = applied(1);
    lay(&stage, &[("d/secret", "mine\n"), ("d/f", "mine\n")]);
    let refused = stage.expect(6, &["apply", &stage.run_id(), "--theirs"]).err;
    assert!(refused.contains("`d/secret` is ignored and in the way"), "{refused}");
    assert_eq!(stage.read("work/d/secret"), "mine\n");
    stage.expect(0, &["apply", &stage.run_id(), "--ours"]);
    assert_eq!(stage.read("work/d/secret") + &stage.read("work/e/f"), "mine\n1\n");
}
