//! A folder that an apply or a restore has removed comes back with `--undo` as it was.

use crate::{
    files::stage,
    isolated::{git, in_git},
    stage::{Stage, wait_until},
};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

/// Each folder below `work/d`, and that itself, with its mode; nothing if `d` is none.
fn folders(stage: &Stage) -> Vec<String> {
    fn look(folder: &Path, name: &str, found: &mut Vec<String>) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mode = fs::metadata(folder).unwrap().permissions().mode() & 0o7777;
        found.push(format!("{name} {mode:o}"));
        let below = entries.flatten().map(|entry| (entry.path(), entry.file_name().into_string().unwrap()));
        below.for_each(|(path, inner)| look(&path, &format!("{name}/{inner}"), found));
    }
    let mut found = Vec::new();
    look(&stage.path("work/d"), "d", &mut found);
    found.sort();
    found
}

fn mode(stage: &Stage, folder: &str, mode: u32) {
    fs::set_permissions(stage.path(&format!("work/{folder}")), fs::Permissions::from_mode(mode)).unwrap();
}

/// A person's folder, with folders in it.
fn fill(stage: &Stage) {
    stage.write("work/d/f", "f\n");
    stage.write("work/d/deep/g", "g\n");
    fs::create_dir(stage.path("work/d/empty")).unwrap();
    mode(stage, "d/empty", 0o711);
    mode(stage, "d/deep", 0o555);
    mode(stage, "d", 0o700);
}

const FILLED: [&str; 3] = ["d 700", "d/deep 555", "d/empty 711"];

fn isolated(run: &str, is_git: bool) -> Stage {
    let stage = stage(&format!("flow: files\nworkspace: work\nsteps: [{{ id: make, run: '{run}' }}]\n"));
    if is_git {
        in_git(&stage);
        git(&stage, &["add", "."]);
        git(&stage, &["commit", "-qm", "second"]);
    }
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    stage
}

#[test]
fn a_folder_that_made_room_for_a_file_is_undone_as_it_was() {
    for (is_git, side) in [(false, "--theirs"), (true, "--theirs")] {
        let stage = isolated("echo of the run > d", is_git);
        fill(&stage);
        let id = stage.run_id();
        for _ in 0..2 {
            stage.expect(0, &["apply", &id, side]);
            assert_eq!(stage.read("work/d"), "of the run\n");
            let undone = stage.expect(0, &["apply", &id, "--undo"]);
            assert!(!undone.err.contains("mode"), "{undone:?}");
            assert_eq!(folders(&stage), FILLED, "git: {is_git}");
            assert_eq!(stage.read("work/d/f") + &stage.read("work/d/deep/g"), "f\ng\n");
            // The undo is undone, and that too.
            stage.expect(0, &["apply", &id, "--undo"]);
            assert_eq!(stage.read("work/d"), "of the run\n");
            stage.expect(0, &["apply", &id, "--undo"]);
            assert_eq!(folders(&stage), FILLED, "git: {is_git}");
        }
    }
}

#[test]
fn an_empty_folder_and_one_whose_files_a_run_has_deleted_are_undone_as_they_were() {
    for (is_git, run, option) in [
        (true, "rm -rf d; echo of the run > d", "--theirs"),
        (false, "rm -rf d; echo of the run > d", "--theirs"),
        (true, "rm -rf d", "--ours"),
        (false, "rm -rf d", "--ours"),
    ] {
        let case = format!("git: {is_git}, {run}");
        let stage = stage(&format!("flow: files\nworkspace: work\nsteps: [{{ id: make, run: '{run}' }}]\n"));
        stage.write("work/d/f", "f\n");
        if is_git {
            in_git(&stage);
            git(&stage, &["add", "."]);
            git(&stage, &["commit", "-qm", "second"]);
        }
        mode(&stage, "d", 0o750);
        stage.expect(0, &["run", "flow.yaml", "--isolate"]);
        if option == "--theirs" {
            // The person's is empty meanwhile.
            fs::remove_file(stage.path("work/d/f")).unwrap();
        }
        let id = stage.run_id();
        stage.expect(0, &["apply", &id, option]);
        assert!(!stage.path("work/d").is_dir(), "{case}");
        stage.expect(0, &["apply", &id, "--undo"]);
        assert_eq!(folders(&stage), ["d 750"], "{case}");
        assert_eq!(stage.path("work/d/f").exists(), option == "--ours", "{case}");
    }
}

#[test]
fn a_killed_undo_that_is_done_again_gives_the_folders_their_modes() {
    for what in ["d", "d/deep", "d/deep/g", "d/empty"] {
        let stage = isolated("echo of the run > d", true);
        fill(&stage);
        let id = stage.run_id();
        stage.expect(0, &["apply", &id, "--theirs"]);
        let undo = stage.start(&["apply", &id, "--undo"]);
        let path = stage.path(&format!("work/{what}"));
        wait_until(what, || fs::symlink_metadata(&path).is_ok_and(|found| what != "d" || found.is_dir()));
        undo.kill();
        stage.expect(0, &["apply", &id, "--undo"]);
        if !stage.path("work/d").is_dir() {
            // The first one was complete before it was killed, and the second one has undone it.
            stage.expect(0, &["apply", &id, "--undo"]);
        }
        assert_eq!(folders(&stage), FILLED, "killed at {what}");
        assert_eq!(stage.read("work/d/f") + &stage.read("work/d/deep/g"), "f\ng\n", "killed at {what}");
    }
}

#[test]
fn a_folder_that_a_person_has_made_again_keeps_its_mode_and_a_note_says_so() {
    let stage = stage("flow: files\nworkspace: work\nsteps: [{ id: make, run: 'rm -r d' }]\n");
    stage.write("work/d/f", "f\n");
    mode(&stage, "d", 0o700);
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let id = stage.run_id();
    stage.expect(0, &["apply", &id]);
    assert!(!stage.path("work/d").exists());
    stage.write("work/d/mine", "mine\n");
    mode(&stage, "d", 0o755);
    let undone = stage.expect(0, &["apply", &id, "--undo"]);
    assert_eq!((folders(&stage), stage.read("work/d/f").as_str()), (vec!["d 755".to_owned()], "f\n"));
    let note = "the folder `d` was there already and keeps its mode 755; it had 700";
    assert!(undone.err.contains(note) || undone.out.contains(note), "{undone:?}");
    // Nothing of it was recorded as removed, so that the undo of the undo leaves it.
    stage.expect(0, &["apply", &id, "--undo"]);
    assert_eq!((folders(&stage), stage.read("work/d/mine").as_str()), (vec!["d 755".to_owned()], "mine\n"));
}

#[test]
fn a_restored_workspace_gets_its_folders_back_with_undo() {
    let stage = stage(
        "flow: files\nworkspace: work\nsteps: [{ id: take, run: 'rm -rf d; echo d > d; mkdir -m 710 e; echo g > e/g' }]\n",
    );
    fill(&stage);
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    let id = stage.run_id();
    stage.expect(0, &["restore", &id, "--at", "start", "--here"]);
    assert!(stage.path("work/d").is_dir() && !stage.path("work/e").exists());
    stage.expect(0, &["restore", &id, "--undo"]);
    assert_eq!(stage.read("work/d"), "d\n");
    let e = |stage: &Stage| fs::metadata(stage.path("work/e")).unwrap().permissions().mode() & 0o7777;
    assert_eq!(e(&stage), 0o710);
    // The undo has removed `d`, in which nothing had a mode of a person; now it has.
    stage.expect(0, &["restore", &id, "--undo"]);
    mode(&stage, "d", 0o500);
    stage.expect(0, &["restore", &id, "--undo"]);
    stage.expect(0, &["restore", &id, "--undo"]);
    assert_eq!(folders(&stage)[0], "d 500");
    // A collection keeps the list of folders.
    stage.expect(0, &["gc"]);
    stage.expect(0, &["restore", &id, "--undo"]);
    assert_eq!(e(&stage), 0o710);
}

#[test]
fn a_folder_that_went_when_the_files_were_set_back_for_a_step_comes_back_with_undo() {
    let stage = stage(
        "
flow: files
workspace: work
steps:
  - { id: fix, run: 'mkdir -m 710 e$ENVOI_ITERATION; touch e$ENVOI_ITERATION/x', files: restore }
  - id: test
    run: 'test $ENVOI_ITERATION = 1'
    routing:
      kind: microloop
      loop_to: fix
      status_from_exit: { 0: VERIFIED, 1: UNVERIFIED }
      success_values: [VERIFIED]
      max_iterations: 5
",
    );
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let id = stage.run_id();
    let e0 = stage.path(&format!(".local/state/envoi/trees/{id}/e0"));
    assert!(!e0.exists());
    stage.expect(0, &["restore", &id, "--undo"]);
    assert_eq!(fs::metadata(e0).unwrap().permissions().mode() & 0o7777, 0o710);
}
