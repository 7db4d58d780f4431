//! A folder that an apply or a restore takes away comes back with its mode, and with those of the folders in it.

use crate::{
    files::stage,
    isolated::{git, in_git},
    stage::{Stage, wait_until},
};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

/// Each folder below `work/d`, and that itself, with its mode; `d` itself if it is none.
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
    mode(stage, "d", 0o2770);
}

const FILLED: [&str; 3] = ["d 2770", "d/deep 555", "d/empty 711"];

fn isolated(run: &str, before: impl Fn(&Stage)) -> Stage {
    let stage = stage(&format!("flow: files\nworkspace: work\nsteps: [{{ id: make, run: '{run}' }}]\n"));
    before(&stage);
    in_git(&stage);
    git(&stage, &["add", "."]);
    git(&stage, &["commit", "-qm", "second"]);
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    stage
}

#[test]
fn a_folder_that_made_room_for_a_file_is_undone_with_its_modes() {
    let stage = isolated("echo of the run > d", |_| {});
    fill(&stage);
    let before = folders(&stage);
    assert_eq!(before, FILLED);
    let id = stage.run_id();
    for _ in 0..2 {
        stage.expect(0, &["apply", &id, "--theirs"]);
        assert_eq!(stage.read("work/d"), "of the run\n");
        stage.expect(0, &["apply", &id, "--undo"]);
        assert_eq!(folders(&stage), before);
        assert_eq!(stage.read("work/d/f") + &stage.read("work/d/deep/g"), "f\ng\n");
    }
}

#[test]
fn a_killed_undo_that_is_done_again_brings_the_modes_back() {
    for what in ["d", "d/f", "d/deep/g", "d/empty"] {
        let stage = isolated("echo of the run > d", |_| {});
        fill(&stage);
        let id = stage.run_id();
        stage.expect(0, &["apply", &id, "--theirs"]);
        let undo = stage.start(&["apply", &id, "--undo"]);
        let path = stage.path(&format!("work/{what}"));
        wait_until(what, || {
            fs::metadata(&path).is_ok_and(|found| what == "d/f" || what == "d/deep/g" || found.is_dir())
        });
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
fn a_folder_whose_files_a_run_has_deleted_is_undone_with_its_mode() {
    // What the run does, and what is left of `d`: git's index still has the file where only that is gone.
    for (run, left) in [("rm d/f", &["d 700"][..]), ("rm -r d", &[]), ("rm -r d; echo of the run > d", &[])] {
        let stage = isolated(run, |stage| {
            stage.write("work/d/f", "f\n");
            mode(stage, "d", 0o700);
        });
        let id = stage.run_id();
        stage.expect(0, &["apply", &id]);
        assert_eq!(folders(&stage), left, "{run}");
        stage.expect(0, &["apply", &id, "--undo"]);
        assert_eq!(
            (folders(&stage), stage.read("work/d/f").as_str()),
            (vec!["d 700".to_owned()], "f\n"),
            "{run}"
        );
        stage.expect(0, &["apply", &id, "--undo"]);
        assert_eq!(folders(&stage), left, "undo of the undo: {run}");
    }
}

#[test]
fn an_empty_folder_of_a_person_is_undone_with_its_mode() {
    // New, and one whose only file a person has deleted, so that git's index still has it.
    for was_filled in [false, true] {
        let stage = isolated("rm -rf d; echo of the run > d", |stage| {
            if was_filled {
                stage.write("work/d/f", "f\n");
            }
        });
        match was_filled {
            true => fs::remove_file(stage.path("work/d/f")).unwrap(),
            false => fs::create_dir(stage.path("work/d")).unwrap(),
        }
        mode(&stage, "d", 0o750);
        let id = stage.run_id();
        stage.expect(0, &["apply", &id, "--theirs"]);
        assert_eq!(stage.read("work/d"), "of the run\n");
        stage.expect(0, &["apply", &id, "--undo"]);
        assert_eq!(folders(&stage), ["d 750"], "filled at first: {was_filled}");
    }
}

#[test]
fn a_folder_that_came_with_a_run_is_taken_away_by_undo_unless_a_person_has_put_something_into_it() {
    let stage = isolated("mkdir -p d/deep d/none; echo f > d/deep/f; chmod 700 d", |_| {});
    let id = stage.run_id();
    stage.expect(0, &["apply", &id]);
    assert_eq!(folders(&stage), ["d 700", "d/deep 755", "d/none 755"]);
    stage.expect(0, &["apply", &id, "--undo"]);
    assert_eq!(folders(&stage), Vec::<String>::new());
    stage.expect(0, &["apply", &id, "--undo"]);
    stage.write("work/d/mine", "mine\n");
    stage.expect(0, &["apply", &id, "--undo"]);
    assert_eq!((folders(&stage), stage.read("work/d/mine").as_str()), (vec!["d 700".to_owned()], "mine\n"));
}

#[test]
fn a_restored_workspace_has_the_modes_of_the_folders_and_so_has_its_undo() {
    let stage = stage(
        "flow: files\nworkspace: work\nsteps: [{ id: take, run: 'rm -r d; echo d > d; mkdir e; echo g > e/g; chmod 1770 e' }]\n",
    );
    fill(&stage);
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    let id = stage.run_id();
    stage.expect(0, &["restore", &id, "--at", "start", "--here"]);
    assert_eq!(folders(&stage), FILLED);
    assert!(!stage.path("work/e").exists());
    stage.expect(0, &["restore", &id, "--undo"]);
    assert_eq!(stage.read("work/d"), "d\n");
    assert_eq!(fs::metadata(stage.path("work/e")).unwrap().permissions().mode() & 0o7777, 0o1770);
    stage.expect(0, &["restore", &id, "--at", "start", "--into", "there"]);
    let there = |name: &str| {
        fs::metadata(stage.path(&format!("there/{name}"))).unwrap().permissions().mode() & 0o7777
    };
    assert_eq!(["d", "d/deep", "d/empty"].map(there), [0o2770, 0o555, 0o711]);
}
