//! Restores where the file system is another one: it cannot exchange two names or has no links, or the store lies elsewhere. All tests of
//! restores hold there too: this program runs them again.

use super::folder::{Place, STORE_IN};
use envoi_tree::{change, restore};
use std::{
    env, fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    process::Command,
};

/// The tests of this program whose names begin so, under strace, which lets these system calls fail.
fn hold_where(failing: &[&str], tests: &[&str]) {
    let calls: Vec<&str> = failing.iter().map(|inject| inject.split_once(':').unwrap().0).collect();
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-e"])
        .arg(format!("trace={}", calls.join(",")));
    for inject in failing {
        strace.args(["-e", &format!("inject={inject}")]);
    }
    strace.arg(env::current_exe().unwrap());
    hold(&mut strace, tests);
}

fn hold(command: &mut Command, tests: &[&str]) {
    let done = command.env("TREE_CASES", "12").args(tests).output();
    let done = done.unwrap_or_else(|error| panic!("strace is needed: {error}"));
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}\n{}", String::from_utf8_lossy(&done.stderr));
    assert!(!said.contains("running 0 tests"), "{said}");
}

const CANNOT_EXCHANGE: &str = "renameat2:error=EINVAL";

#[test]
fn all_restores_hold_where_two_names_cannot_be_exchanged() {
    hold_where(&[CANNOT_EXCHANGE], &["restores::", "unlisted::"]);
}

#[test]
fn all_restores_hold_where_there_are_no_links_either() {
    hold_where(&[CANNOT_EXCHANGE, "linkat:error=EPERM"], &["restores::"]);
}

#[test]
fn a_killed_restore_loses_no_edit_where_two_names_cannot_be_exchanged() {
    hold_where(&[CANNOT_EXCHANGE], &["kills::a_killed_restore"]);
}

/// A change stops between the file that goes aside and the one that comes: by a kill, and by an error.
#[test]
fn a_change_that_stops_while_nothing_stands_at_a_name_is_ended_by_the_next_one() {
    for (stop, stands) in [("linkat:error=EIO:signal=KILL", None), ("linkat:error=EIO:when=1", Some("old"))] {
        let place = Place::new();
        place.write("file", "old");
        let from = place.keep();
        place.write("file", "new");
        let to = place.keep();
        place.write("file", "old");
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=renameat2,linkat"]);
        for inject in [CANNOT_EXCHANGE, stop] {
            strace.args(["-e", &format!("inject={inject}")]);
        }
        let child = strace
            .arg(env::current_exe().unwrap())
            .args(["--exact", "kills::child"])
            .env("TREE_BASE", place.root.parent().unwrap())
            .env("TREE_DIGESTS", format!("{} {}", from.digest, to.digest))
            .env("TREE_WAY", "change")
            .output();
        child.unwrap_or_else(|error| panic!("strace is needed: {error}"));
        assert_eq!(fs::read_to_string(place.path("file")).ok().as_deref(), stands, "{stop}");
        let done = change(&place.root, &place.order, &from.tree, &to.tree).unwrap();
        assert!(done.newer.is_empty() && done.late.is_empty(), "{stop}: {done:?}");
        assert_eq!(fs::read_to_string(place.path("file")).unwrap(), "new", "{stop}");
    }
}

/// The folder goes before any file comes, on every file system.
#[test]
fn a_change_that_was_killed_when_an_empty_folder_was_away_and_no_file_had_come_is_ended_by_the_next_one() {
    let place = Place::new();
    fs::create_dir(place.path("d")).unwrap();
    let from = place.keep();
    fs::remove_dir(place.path("d")).unwrap();
    place.write("d", "a file");
    let to = place.keep();
    fs::remove_file(place.path("d")).unwrap();
    let done = change(&place.root, &place.order, &from.tree, &to.tree).unwrap();
    assert!(done.newer.is_empty(), "{done:?}");
    assert_eq!(fs::read_to_string(place.path("d")).unwrap(), "a file");
}

/// A folder on another file system than the temporary ones.
fn on_another_file_system() -> tempfile::TempDir {
    let device = |folder: &Path| fs::metadata(folder).ok().map(|found| found.dev());
    let own = device(&env::temp_dir());
    let others = ["/dev/shm", "/tmp", "/var/tmp", env!("CARGO_TARGET_TMPDIR")].map(Path::new);
    let other = others.into_iter().find(|folder| device(folder).is_some() && device(folder) != own);
    let Some(other) = other else { panic!("a second file system is needed, such as /dev/shm") };
    let folder = tempfile::tempdir_in(other).unwrap();
    // A test works as another user.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    folder
}

#[test]
fn all_restores_hold_where_the_store_is_on_another_file_system() {
    let other = on_another_file_system();
    let mut again = Command::new(env::current_exe().unwrap());
    hold(again.env(STORE_IN, other.path()), &["restores::", "kills::a_killed_restore"]);
}

/// A folder whose store is on this other file system.
fn with_store_in(other: &Path) -> Place {
    let mut place = Place::new();
    let store = other.join("store");
    place.order.contents.files = store.join("sha256");
    place.order.contents.temporary = store.join("tmp");
    place.order.contents.packs = store.join("packs");
    place.order.caches = store.join("caches");
    place
}

/// A run, or a repository that is checked out, may have put a link there.
#[test]
fn a_link_where_files_are_laid_aside_is_refused_and_what_it_leads_to_is_as_it_was() {
    let other = on_another_file_system();
    let place = with_store_in(other.path());
    place.write("src/main.rs", "then");
    place.write("0/mine", "mine");
    let then = place.keep();
    place.write("src/main.rs", "now");
    let now = place.keep();
    let outside = place.root.parent().unwrap();
    fs::set_permissions(outside, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(outside.join("0")).unwrap();
    fs::write(outside.join("0/paths"), "of somebody").unwrap();
    let refuses = |name: &str| {
        for error in [
            restore(&place.root, &place.order, &then.tree).unwrap_err(),
            change(&place.root, &place.order, &now.tree, &then.tree).unwrap_err(),
        ] {
            let said = error.to_string();
            assert!(said.contains(name) && said.ends_with("move it away, and try again"), "{said}");
        }
        assert_eq!(fs::read_to_string(place.path("src/main.rs")).unwrap(), "now");
        assert_eq!(fs::read_to_string(place.path("0/mine")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(outside.join("0/paths")).unwrap(), "of somebody");
        assert_eq!(fs::metadata(outside).unwrap().mode() & 0o777, 0o755);
        assert!(!outside.join(".gitignore").exists());
    };
    for target in ["..", ".", "src"] {
        place.link(target, ".envoi-aside");
        refuses(".envoi-aside");
        fs::remove_file(place.path(".envoi-aside")).unwrap();
    }
    fs::create_dir(place.path(".envoi-aside")).unwrap();
    place.link("../src/main.rs", ".envoi-aside/.gitignore");
    refuses(".envoi-aside/.gitignore");
    fs::remove_file(place.path(".envoi-aside/.gitignore")).unwrap();
    // A file that a person has put there stays.
    place.write(".envoi-aside/mine/file", "mine");
    restore(&place.root, &place.order, &then.tree).unwrap();
    restore(&place.root, &place.order, &now.tree).unwrap();
    assert_eq!(fs::read_to_string(place.path("src/main.rs")).unwrap(), "now");
    assert_eq!(fs::read_to_string(place.path(".envoi-aside/mine/file")).unwrap(), "mine");
}

#[test]
fn files_aside_on_the_file_system_of_the_folder_are_none_of_gits_and_of_no_snapshot() {
    let other = on_another_file_system();
    let place = with_store_in(other.path());
    place.git("", &["init", "-q"]);
    place.write("file", "then");
    let then = place.keep();
    place.write("file", "now");
    place.write("more", "more");
    let status = || {
        let git =
            Command::new("git").args(["status", "--porcelain", "-uall"]).current_dir(&place.root).output();
        String::from_utf8(git.unwrap().stdout).unwrap()
    };
    assert_eq!(status(), "?? file\n?? more\n");
    restore(&place.root, &place.order, &then.tree).unwrap();
    assert_eq!(place.laid_aside().len(), 1, "the displaced files lie there");
    assert_eq!(fs::metadata(place.path(".envoi-aside")).unwrap().mode() & 0o777, 0o700);
    assert_eq!(status(), "?? file\n");
    assert_eq!(place.keep().digest, then.digest);
    // Emptied by the next one, and still ignored.
    restore(&place.root, &place.order, &then.tree).unwrap();
    assert_eq!(place.laid_aside().len(), 0);
    assert_eq!(status(), "?? file\n");
}
