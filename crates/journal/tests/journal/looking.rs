//! Reading a store in a folder that is not writable.

use crate::child::{PROGRAM, crashed_copy};
use envoi_journal::{Layout, Store, conformance};
use std::{
    fs::{self, Permissions},
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _},
        process::CommandExt as _,
    },
    path::Path,
    process::Command,
};

/// A user that may write nowhere here. Needed because permissions do not restrict root.
const NOBODY: u32 = 65_534;

/// The output of `look` as another user, while the store's folder is not writable.
fn look(layout: &Layout) -> String {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    let program = place.path().join("program");
    // The program is copied in a process of its own. A child that another test forks meanwhile must not hold
    // the copy open for writing, because a file open for writing cannot be executed.
    assert!(Command::new("cp").arg(PROGRAM).arg(&program).status().unwrap().success());
    let mut command = Command::new(program);
    command.arg(layout.root()).arg("look").current_dir("/");
    if fs::metadata(place.path()).unwrap().uid() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    // By default only the owner may read the database. This test is about the folder, so it makes the files
    // readable.
    for file in names(layout.root()).iter().filter(|name| name.to_string_lossy().starts_with("envoi.db")) {
        fs::set_permissions(layout.root().join(file), Permissions::from_mode(0o644)).unwrap();
    }
    fs::set_permissions(layout.root(), Permissions::from_mode(0o555)).unwrap();
    let before = names(layout.root());
    let output = command.output().unwrap();
    assert_eq!(names(layout.root()), before);
    fs::set_permissions(layout.root(), Permissions::from_mode(0o755)).unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn names(folder: &Path) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

#[test]
fn a_store_in_a_read_only_folder_can_be_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let layout = Layout::new(folder.path().join("live"));
    let store = Store::open(layout.clone()).unwrap();
    let writer = store.writer(store.take_epoch().unwrap()).unwrap();
    let run = conformance::run("a").unwrap();
    writer.commit(conformance::commit(&run, 0, [conformance::started(&run).unwrap()])).unwrap();
    assert_eq!(look(&layout), "run_a 1\n", "while an engine works");

    let refused = look(&crashed_copy(&layout, &folder.path().join("crashed")));
    assert!(refused.contains("cannot be read without writing"), "{refused}");
    assert!(refused.contains("`envoi.db-wal`"), "{refused}");

    writer.close();
    drop(store);
    assert!(!layout.root().join("envoi.db-wal").exists());
    assert_eq!(look(&layout), "run_a 1\n", "of a store that was closed");
}
