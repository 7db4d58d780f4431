//! Files that are set back in the user's own folder, which is in git: of git itself nothing is written, not a byte below `.git`.

use crate::{
    cached,
    files::{FORKED, stage},
    isolated::{git, in_git, untouched},
    stage::{Stage, signal, text, wait_until},
};
use rustix::process::Signal;
use std::{collections::BTreeMap, fs, path::PathBuf};

/// Each file and folder below `.git`: `HEAD`, the index, the stash, all references and their logs, all objects, and locks if there are any.
fn of_git(stage: &Stage) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![stage.path("work/.git")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                all.insert(entry.path(), fs::read(entry.path()).unwrap());
            }
        }
        all.insert(folder, Vec::new());
    }
    all
}

/// In git, with work that is not committed, and a commit since the run, which a restore does not take back.
fn commit_since(stage: &Stage) {
    stage.write("work/since.txt", "since\n");
    git(stage, &["add", "since.txt"]);
    git(stage, &["commit", "-qm", "since", "--", "since.txt"]);
}

#[test]
fn a_restore_and_its_undo_write_nothing_of_git() {
    let stage = stage(FORKED);
    in_git(&stage);
    stage.expect(1, &["run", "flow.yaml", "--keep-files"]);
    let id = stage.run_id();
    commit_since(&stage);
    stage.write("work/a.txt", "edited since\n");
    let (of_user, before) = (of_git(&stage), untouched(&stage));
    stage.expect(0, &["restore", &id, "--at", "make", "--here"]);
    assert_eq!(of_git(&stage), of_user);
    let status = git(&stage, &["--no-optional-locks", "status", "--porcelain"]);
    assert!(status.contains(" D since.txt") && status.contains("M  b.txt"), "{status}");
    assert_eq!(stage.read("work/a.txt") + &stage.read("work/made.txt"), "a, not committed\none\n");
    stage.expect(0, &["restore", &id, "--undo"]);
    assert_eq!(of_git(&stage), of_user);
    assert_eq!(untouched(&stage), before);
}

#[test]
fn a_fork_that_sets_files_back_writes_nothing_of_git() {
    let stage = stage(FORKED);
    in_git(&stage);
    stage.expect(1, &["run", "flow.yaml", "--keep-files"]);
    let root = stage.run_id();
    commit_since(&stage);
    let (of_user, before) = (of_git(&stage), untouched(&stage));
    stage.write("well", "");
    stage.expect(0, &["fork", &root, "--files", "then"]);
    assert_eq!(stage.read("seen"), "one\nhalf\n");
    assert_eq!(of_git(&stage), of_user);
    let fork = text(&stage.runs()[0]["run"]);
    stage.expect(0, &["restore", &fork, "--undo"]);
    assert_eq!(of_git(&stage), of_user);
    assert_eq!(untouched(&stage), before);
}

#[test]
fn an_attempt_in_doubt_that_runs_again_on_files_set_back_writes_nothing_of_git() {
    let stage = stage(
        "
flow: files
workspace: work
steps:
  - { id: hang, run: 'echo half >> a.txt; touch ../at; until test -e ../go; do sleep 0.01; done' }
",
    );
    in_git(&stage);
    let run = stage.start(&["run", "flow.yaml", "--keep-files"]);
    wait_until("the command is at work", || stage.path("at").exists());
    let id = stage.run_id();
    signal(stage.supervisor("hang.1.1").unwrap(), Signal::KILL);
    run.done();
    let (of_user, before) = (of_git(&stage), untouched(&stage));
    stage.write("go", "");
    stage.expect(0, &["resume", &id, "--in-doubt", "rerun", "--files", "then"]);
    assert_eq!(stage.read("work/a.txt"), "a, not committed\nhalf\n", "not half twice");
    assert_eq!(of_git(&stage), of_user);
    stage.expect(0, &["restore", &id, "--undo"]);
    assert_eq!(of_git(&stage), of_user);
    assert_eq!(untouched(&stage), before);
}

#[test]
fn a_result_from_the_cache_writes_nothing_of_git() {
    let stage = stage(&cached::FLOW.replace("isolate: tree", "keep: true"));
    in_git(&stage);
    stage.write("work/src.txt", "echo tested\n");
    let of_user = of_git(&stage);
    stage.expect(0, &["run", "flow.yaml"]);
    assert_eq!(of_git(&stage), of_user);
    fs::remove_dir_all(stage.path("work/out")).unwrap();
    let done = stage.expect(0, &["run", "flow.yaml"]);
    assert!(done.err.contains("from the cache: build.1.1"), "{done:?}");
    assert_eq!(stage.read("work/out/app"), "echo tested\n");
    assert_eq!(of_git(&stage), of_user);
}
