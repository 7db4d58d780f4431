//! A folder gets the files of a snapshot, and none of its files is lost.

use super::folder::{Place, odd};
use envoi_contract::digest::Digest;
use envoi_tree::{
    Difference, Entry, Late, NotRestored, Tree, change, differences, restore, stand, write_into,
};
use proptest::{prelude::*, test_runner::TestRunner};
use std::{
    cell::Cell,
    collections::BTreeMap,
    env,
    fs::{self, File},
    io::Write,
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    sync::Barrier,
    thread,
};

impl Place {
    fn restore(&self, target: &Tree) -> envoi_tree::Restored {
        restore(&self.root, &self.order, target).unwrap()
    }
}

#[test]
fn files_come_go_and_change_and_what_stood_there_can_be_brought_back() {
    let place = Place::new();
    place.write("same", "same");
    place.write("changes", "old");
    place.write("gone/deep/file", "gone");
    place.write("is-file", "file");
    place.write("is-folder/file", "file");
    place.link("same", "link");
    place.write(odd(), "odd");
    place.write("run.sh", "run");
    place.mode("run.sh", 0o755);
    fs::create_dir(place.path("empty")).unwrap();
    let then = place.keep();
    place.write("changes", "new");
    fs::remove_dir_all(place.path("gone")).unwrap();
    fs::remove_file(place.path("is-file")).unwrap();
    place.write("is-file/inside", "a folder now");
    fs::remove_dir_all(place.path("is-folder")).unwrap();
    place.write("is-folder", "a file now");
    fs::remove_file(place.path("link")).unwrap();
    place.link("elsewhere", "link");
    fs::remove_file(place.root.join(odd())).unwrap();
    place.mode("run.sh", 0o644);
    fs::remove_dir(place.path("empty")).unwrap();
    place.write("extra/deep/file", "extra");
    let now = place.keep();
    let inode = fs::metadata(place.path("same")).unwrap().ino();
    let restored = place.restore(&then.tree);
    assert_eq!(place.keep().digest, then.digest);
    assert!(restored.late.is_empty() && restored.left.is_empty(), "{restored:?}");
    assert_eq!(fs::metadata(place.path("same")).unwrap().ino(), inode, "what is the same is not touched");
    assert!(!place.path("extra").exists(), "folders that are left empty go");
    place.restore(&now.tree);
    assert_eq!(place.keep().digest, now.digest);
    assert_eq!(fs::read(place.path("is-file/inside")).unwrap(), b"a folder now");
}

#[test]
fn a_link_in_the_place_of_the_folder_is_refused_and_what_it_leads_to_is_as_it_was() {
    let place = Place::new();
    place.write("work/a", "then");
    let work = place.path("work");
    let then = envoi_tree::keep(&work, &place.order).unwrap();
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("a"), "another's").unwrap();
    fs::remove_dir_all(&work).unwrap();
    std::os::unix::fs::symlink(other.path(), &work).unwrap();
    let with_slash = work.join("");
    for folder in [&work, &with_slash] {
        let refused =
            [stand(folder, &place.order, &then.tree).err(), restore(folder, &place.order, &then.tree).err()];
        for refused in refused {
            assert!(
                matches!(&refused, Some(NotRestored::InTheWay { paths }) if paths[0].contains("is a link now")),
                "{refused:?}"
            );
        }
    }
    assert_eq!(fs::read(other.path().join("a")).unwrap(), b"another's");
}

/// The kinds of entries at a name.
const KINDS: [&str; 6] = ["nothing", "file", "link", "empty folder", "folder", "pipe"];

fn make(place: &Place, kind: &str, at: &str) {
    let path = place.path(at);
    match kind {
        "nothing" => {}
        "file" => place.write(at, format!("file {at}")),
        "link" => place.link("other", at),
        "empty folder" => {
            fs::create_dir(&path).unwrap();
            place.mode(at, 0o711);
        }
        "folder" => {
            place.write(format!("{at}/deep/file"), "deep");
            fs::create_dir(path.join("empty")).unwrap();
        }
        _ => assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success()),
    }
}

/// Each kind in the place of each other one: in a plain folder, and ignored by git.
#[test]
fn what_stands_there_changes_places_with_every_other_kind_and_back() {
    for surroundings in ["no git", "ignored now"] {
        let pairs = KINDS.iter().flat_map(|then| KINDS.map(|now| (*then, now)));
        for (then, now) in pairs.filter(|(then, now)| then != now) {
            let case = format!("{then}, then {now}, {surroundings}");
            let place = Place::new();
            if surroundings != "no git" {
                place.git("", &["init", "-q"]);
            }
            place.write("other", "1");
            make(&place, then, "it");
            let before = place.keep();
            match fs::symlink_metadata(place.path("it")) {
                Ok(found) if found.is_dir() => fs::remove_dir_all(place.path("it")).unwrap(),
                Ok(_) => fs::remove_file(place.path("it")).unwrap(),
                Err(_) => {}
            }
            if surroundings == "ignored now" {
                place.write(".gitignore", "it\n");
            }
            make(&place, now, "it");
            place.write("other", "2");
            let stood = stand(&place.root, &place.order, &before.tree).unwrap();
            let restored = restore(&place.root, &place.order, &before.tree);
            assert!(restored.is_ok(), "{case}: {restored:?}");
            // Ignored files that are not in the way stay.
            let is_ignored = surroundings == "ignored now";
            let may_stay =
                ["nothing", "pipe"].contains(&then) || (then.contains(" folder") && now == "folder");
            if !(is_ignored && may_stay) {
                assert_eq!(place.keep().tree, before.tree, "{case}");
            }
            let undone = restore(&place.root, &place.order, &stood.kept.tree);
            assert!(undone.is_ok(), "undo of {case}: {undone:?}");
            let again = stand(&place.root, &place.order, &before.tree).unwrap().kept.tree;
            let stood = stood.kept.tree;
            // A folder that ignored files have come into is not empty.
            let must_be = |it: &&envoi_tree::Entry| it.content().is_some() || !is_ignored;
            let is_lost = |it: &&envoi_tree::Entry| again.get(&it.path) != Some(*it);
            let lost: Vec<_> = stood.entries().iter().filter(must_be).filter(is_lost).collect();
            assert!(lost.is_empty(), "undo of {case}: {lost:?}");
            assert!(is_ignored || again == stood, "undo of {case}");
        }
    }
}

#[test]
fn a_folder_with_a_file_that_is_not_kept_does_not_make_room() {
    let mut place = Place::new();
    place.write("it", "a file then");
    let then = place.keep();
    fs::remove_file(place.path("it")).unwrap();
    place.order.bounds.max_file_bytes = 100;
    place.write("it/large", vec![b'x'; 1000]);
    let error = restore(&place.root, &place.order, &then.tree).unwrap_err();
    assert!(matches!(&error, NotRestored::InTheWay { paths } if paths[0].contains("it/large")), "{error}");
    assert_eq!(fs::read(place.path("it/large")).unwrap().len(), 1000);
}

#[test]
fn what_is_ignored_stays_and_what_makes_room_for_a_file_is_kept_first() {
    let place = Place::new();
    place.git("", &["init", "-q"]);
    place.write("build", "a file then");
    place.write("notes", "1");
    let then = place.keep();
    fs::remove_file(place.path("build")).unwrap();
    place.write(".gitignore", "build\ncache\n");
    place.write("build/out", "ignored");
    place.write("cache/x", "ignored");
    let stood = stand(&place.root, &place.order, &then.tree).unwrap();
    assert_eq!(place.content(&stood.kept.tree, b"build/out"), b"ignored");
    place.restore(&then.tree);
    assert_eq!(fs::read(place.path("build")).unwrap(), b"a file then");
    assert_eq!(fs::read(place.path("cache/x")).unwrap(), b"ignored");
    assert!(!place.path(".gitignore").exists());
    place.restore(&stood.kept.tree);
    assert_eq!(fs::read(place.path("build/out")).unwrap(), b"ignored");
    assert_eq!(fs::read(place.path("cache/x")).unwrap(), b"ignored");
}

#[test]
fn a_repository_in_the_way_and_a_large_file_are_not_moved() {
    let mut place = Place::new();
    place.write("a", "a file then");
    place.write("b", "1");
    let then = place.keep();
    fs::remove_file(place.path("a")).unwrap();
    place.write("a/deep/file", "work");
    place.git("a/deep", &["init", "-q"]);
    place.write("b", "2");
    let error = restore(&place.root, &place.order, &then.tree).unwrap_err();
    assert!(matches!(&error, NotRestored::InTheWay { paths } if paths[0].contains("repository")), "{error}");
    assert_eq!(fs::read(place.path("b")).unwrap(), b"2", "nothing was touched");
    fs::remove_dir_all(place.path("a")).unwrap();
    place.order.bounds.max_file_bytes = 100;
    place.write("b", vec![b'x'; 1000]);
    place.write("large", vec![b'x'; 1000]);
    let restored = place.restore(&then.tree);
    assert_eq!(restored.left, [b"b".to_vec(), b"large".to_vec()]);
    assert_eq!(fs::read(place.path("b")).unwrap().len(), 1000);
    assert_eq!(fs::read(place.path("a")).unwrap(), b"a file then");
}

#[test]
fn a_link_on_the_way_leads_nowhere() {
    let place = Place::new();
    let outside = tempfile::tempdir().unwrap();
    place.write("folder/file", "ours");
    let then = place.keep();
    fs::remove_dir_all(place.path("folder")).unwrap();
    place.link(outside.path().to_str().unwrap(), "folder");
    place.restore(&then.tree);
    assert_eq!(place.keep().digest, then.digest);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn what_is_typed_into_an_old_file_is_found_by_the_next_restore() {
    let place = Place::new();
    place.write("file", "then");
    let then = place.keep();
    place.write("file", "now");
    let mut open = File::options().append(true).open(place.path("file")).unwrap();
    place.restore(&then.tree);
    open.write_all(b", typed late").unwrap();
    let restored = place.restore(&then.tree);
    let late: Vec<_> =
        restored.late.iter().map(|late| (late.path.as_slice(), late.digest.unwrap())).collect();
    let [(path, digest)] = late.as_slice() else { panic!("{late:?}") };
    assert_eq!(*path, b"file");
    assert_eq!(place.order.contents.shelf().unwrap().read(digest).unwrap(), b"now, typed late");
    assert!(place.restore(&then.tree).late.is_empty(), "it is named once");
}

/// In place, and by a new file with the same name, as editors do. Which of both comes first is a matter of luck.
#[test]
fn an_edit_that_races_a_change_is_in_the_folder_or_in_the_store() {
    let place = Place::new();
    place.write("file", "of the merge");
    let to = place.keep();
    for round in 0..200 {
        place.write("file", "before");
        let from = place.keep();
        let edit = format!("edit {round}");
        let begin = Barrier::new(2);
        let changed = thread::scope(|scope| {
            scope.spawn(|| {
                begin.wait();
                if round % 2 == 0 {
                    return place.write("file", &edit);
                }
                place.write("new", &edit);
                fs::rename(place.path("new"), place.path("file")).unwrap();
            });
            begin.wait();
            change(&place.root, &place.order, &from.tree, &to.tree).unwrap()
        });
        // Writes after the last look at a displaced file are found here.
        let found = stand(&place.root, &place.order, &to.tree).unwrap().found;
        let shelf = place.order.contents.shelf().unwrap();
        let is_kept = |late: &Late| shelf.read(&late.digest.unwrap()).unwrap() == edit.as_bytes();
        let stands = fs::read_to_string(place.path("file")).unwrap();
        let late: Vec<Late> = changed.late.into_iter().chain(found).collect();
        assert!(stands == edit || late.iter().any(is_kept), "{round}: `{stands}`, {late:?}");
    }
}

#[test]
fn what_was_typed_late_stays_where_the_list_of_its_paths_cannot_be_read() {
    let place = Place::new();
    place.write("file", "then");
    let then = place.keep();
    place.write("file", "now");
    let mut open = File::options().append(true).open(place.path("file")).unwrap();
    place.restore(&then.tree);
    open.write_all(b", typed late").unwrap();
    let lists =
        || place.laid_aside().into_iter().map(|restore| restore.join("paths")).find(|list| list.exists());
    let list = lists().expect("a list of the displaced files");
    let paths = fs::read(&list).unwrap();
    fs::remove_file(&list).unwrap();
    fs::create_dir(&list).unwrap();
    let error = restore(&place.root, &place.order, &then.tree).unwrap_err();
    assert!(matches!(error, NotRestored::NotStaged { .. }), "{error}");
    fs::remove_dir(&list).unwrap();
    fs::write(&list, paths).unwrap();
    let restored = place.restore(&then.tree);
    assert_eq!(restored.late.iter().map(|late| late.path.as_slice()).collect::<Vec<_>>(), [b"file"]);
}

/// An administrator may write everywhere, so that only an ordinary user shows what such permissions do.
#[test]
fn a_folder_that_may_not_be_written_to_is_named_before_anything_is_touched() {
    const NAME: &str = "a_folder_that_may_not_be_written_to_is_named_before_anything_is_touched";
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        // A copy, because another user may not come to where this program lies.
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let program = folder.path().join("tests");
        // Made by another process: a program that this one writes may be busy while a thread of it starts a child.
        let copied = std::process::Command::new("cp")
            .arg(std::env::current_exe().unwrap())
            .arg(&program)
            .status()
            .unwrap();
        assert!(copied.success());
        let mut again = std::process::Command::new(&program);
        again.env("TMPDIR", folder.path()).current_dir(folder.path()).uid(65534).gid(65534);
        let done = again.args([&format!("restores::{NAME}"), "--exact"]).output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && said.contains("1 passed"), "{done:?}");
        return;
    }
    let place = Place::new();
    place.write("a", "1");
    place.write("ro/b", "1");
    place.write("ro/same/c", "1");
    place.write("alone/same", "1");
    let then = place.keep();
    place.write("a", "2");
    place.write("ro/b", "2");
    place.mode("ro", 0o500);
    place.mode("alone", 0o500);
    let now = place.keep();
    let refused = restore(&place.root, &place.order, &then.tree);
    let Err(NotRestored::InTheWay { paths }) = &refused else { panic!("{refused:?}") };
    assert_eq!(*paths, ["`ro` may not be written to; `chmod u+wx` allows it"]);
    assert_eq!(place.keep().digest, now.digest, "nothing is touched");
    place.mode("ro", 0o700);
    place.restore(&then.tree);
    assert_eq!(place.keep().digest, then.digest, "a folder in which nothing changes may be shut");
    place.mode("alone", 0o700);
}

#[test]
fn the_target_of_a_link_is_no_rule() {
    let place = Place::new();
    place.link("a", ".gitignore");
    let then = place.keep();
    place.write("a", "new");
    restore(&place.root, &place.order, &then.tree).unwrap();
    assert!(!place.path("a").exists(), "the snapshot does not have it, and no rule names it");
    assert_eq!(place.keep().digest, then.digest);
}

#[test]
fn a_snapshot_that_is_not_whole_is_not_begun_with() {
    let place = Place::new();
    place.write("a", "1");
    place.write("b", "2");
    let then = place.keep();
    place.write("a", "3");
    fs::remove_file(place.path("b")).unwrap();
    let (digest, _) = then.tree.get(b"b").unwrap().content().unwrap();
    fs::remove_file(place.order.contents.file(&digest)).unwrap();
    assert!(matches!(restore(&place.root, &place.order, &then.tree), Err(NotRestored::Content(_))));
    assert_eq!(fs::read(place.path("a")).unwrap(), b"3");
}

#[test]
fn a_snapshot_is_written_into_an_empty_folder_only() {
    let place = Place::new();
    place.write("a/b", "1");
    place.mode("a/b", 0o500);
    place.link("a/b", "link");
    fs::create_dir(place.path("empty")).unwrap();
    let then = place.keep();
    let folder = tempfile::tempdir().unwrap();
    let copy = Place { root: folder.path().join("copy"), ..Place::new() };
    write_into(&copy.root, &place.order, &then.tree).unwrap();
    assert_eq!(copy.keep().digest, then.digest);
    let again = write_into(&copy.root, &place.order, &then.tree);
    assert!(matches!(again, Err(NotRestored::InTheWay { .. })));
}

/// Found by the test of all edits below: the rules around a repository do not decide about single files of it.
#[test]
fn a_new_file_of_a_repository_goes_also_if_the_folder_around_it_would_ignore_it() {
    let place = Place::new();
    place.write(".gitignore", "out\n");
    place.write("inner/src", "1");
    place.git("inner", &["init", "-q"]);
    let then = place.keep();
    place.write("inner/out", "listed by the rules of `inner`");
    place.write("out", "ignored");
    place.restore(&then.tree);
    assert_eq!(place.keep().digest, then.digest);
    assert!(!place.path("inner/out").exists() && place.path("out").exists());
}

/// Found by the test of all edits below: in an ignored folder nothing is listed, also if another rule includes it.
#[test]
fn an_undo_leaves_what_lies_in_an_ignored_folder_although_a_rule_excepts_its_name() {
    for in_git in [false, true] {
        let place = Place::new();
        if in_git {
            place.git("", &["init", "-q"]);
        }
        place.write("file", "then");
        let then = place.keep();
        place.write(".gitignore", "*\n!kept\n");
        place.write("cache/kept", "ignored with its folder");
        let stood = stand(&place.root, &place.order, &then.tree).unwrap().kept;
        place.restore(&then.tree);
        place.restore(&stood.tree);
        assert!(place.path("cache/kept").exists(), "in git: {in_git}");
    }
}

/// A change of the folder.
#[derive(Debug, Clone)]
enum Edit {
    Write(Vec<u8>, u8),
    Link(Vec<u8>, u8),
    Folder(Vec<u8>),
    Remove(Vec<u8>),
    Mode(Vec<u8>, u32),
    Repository(Vec<u8>),
}

/// Few names, so that files and folders meet.
fn path() -> impl Strategy<Value = Vec<u8>> {
    let name = prop::sample::select(vec![&b"a"[..], b"b", b"c\xff\n", b".gitignore"]);
    prop::collection::vec(name, 1..4).prop_map(|names| names.join(&b'/'))
}

/// The contents of a `.gitignore`: some of the names that are used.
const RULES: [&str; 6] = ["#\n", "b\n", "a/\n", "/a/b\n", "*\n!a\n!a/b\n", "c*\n!/b/c*\n"];

fn edit() -> impl Strategy<Value = Edit> {
    let mode = prop::sample::select(vec![0o644, 0o755, 0o600, 0o400, 0o444, 0o640, 0o751, 0o777]);
    prop_oneof![
        5 => (path(), any::<u8>()).prop_map(|(path, content)| Edit::Write(path, content)),
        2 => (any::<bool>(), any::<u8>()).prop_map(|(is_top, content)| {
            Edit::Write(if is_top { b".gitignore".to_vec() } else { b"a/.gitignore".to_vec() }, content)
        }),
        1 => (path(), any::<u8>()).prop_map(|(path, target)| Edit::Link(path, target % 3)),
        1 => path().prop_map(Edit::Folder),
        3 => path().prop_map(Edit::Remove),
        2 => (path(), mode).prop_map(|(path, mode)| Edit::Mode(path, mode)),
        1 => path().prop_map(Edit::Repository),
    ]
}

fn apply(place: &Place, edit: &Edit) {
    let at = |path: &[u8]| place.root.join(std::ffi::OsStr::from_bytes(path));
    // An edit that is not possible, because something else is in its place, is not made.
    let parent = |path: &[u8]| drop(fs::create_dir_all(at(path).parent().unwrap()));
    match edit {
        Edit::Write(path, content) => {
            parent(path);
            let content = usize::from(*content);
            let is_rules = path.ends_with(b".gitignore");
            let content =
                if is_rules { RULES[content % RULES.len()].into() } else { (content % 5).to_string() };
            drop(fs::write(at(path), content));
        }
        Edit::Link(path, target) => {
            parent(path);
            drop(std::os::unix::fs::symlink(["a", "b", "nowhere"][usize::from(*target)], at(path)));
        }
        Edit::Folder(path) => drop(fs::create_dir_all(at(path))),
        Edit::Remove(path) => match fs::symlink_metadata(at(path)) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(at(path)).unwrap(),
            Ok(_) => fs::remove_file(at(path)).unwrap(),
            Err(_) => {}
        },
        Edit::Mode(path, mode) => match fs::symlink_metadata(at(path)) {
            Ok(found) if found.is_file() => {
                fs::set_permissions(at(path), fs::Permissions::from_mode(*mode)).unwrap();
            }
            // Its owner can always enter it.
            Ok(found) if found.is_dir() => {
                fs::set_permissions(at(path), fs::Permissions::from_mode(*mode | 0o700)).unwrap();
            }
            _ => {}
        },
        Edit::Repository(path) => {
            if fs::create_dir_all(at(path)).is_ok() {
                // Enough for git to call it a repository; and a repository that git refuses is looked at without git.
                drop(fs::create_dir_all(at(path).join(".git/objects")));
                drop(fs::create_dir_all(at(path).join(".git/refs")));
                drop(fs::write(at(path).join(".git/HEAD"), "ref: refs/heads/main\n"));
            }
        }
    }
}

/// By path, with mode and content.
type Files = BTreeMap<Vec<u8>, (u32, Vec<u8>)>;

/// All files and links of the folder, ignored ones too.
fn on_disk(place: &Place) -> Files {
    let mut all = BTreeMap::new();
    let mut folders = vec![place.root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let (path, found) = (entry.path(), entry.metadata().unwrap());
            let below = path.strip_prefix(&place.root).unwrap().as_os_str().as_bytes().to_vec();
            if [".git", ".envoi", ".envoi-aside"].iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            if found.is_dir() {
                folders.push(path);
            } else if found.is_symlink() {
                all.insert(below, (0, fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()));
            } else {
                all.insert(below, (found.mode() & 0o777, fs::read(&path).unwrap()));
            }
        }
    }
    all
}

/// Whether a difference from the snapshot that was restored is one that has to be: ignored files are in no snapshot and stay, and so does
/// their folder; a repository stays in a folder without files.
fn has_to_differ(
    place: &Place,
    difference: &Difference<'_>,
    ignored: &Files,
    after: &Files,
    now: &Tree,
) -> bool {
    let at = place.root.join(std::ffi::OsStr::from_bytes(difference.path()));
    let is_as = |files: &Files, entry: &Entry| {
        let is_same = |(mode, content): &(u32, Vec<u8>)| {
            *mode == entry.mode && entry.content().unwrap().0 == Digest::of(content)
        };
        files.get(difference.path()).is_some_and(is_same)
    };
    match (difference.before, difference.after) {
        // It is ignored no more.
        (None, Some(found)) if found.content().is_some() => is_as(ignored, found),
        // It is there, and a file of rules that ignores itself has stayed.
        (Some(then), None) if then.content().is_some() => {
            is_as(after, then) && ignored.keys().any(|path| path.ends_with(b".gitignore"))
        }
        (None, Some(_)) => fs::read_dir(at).unwrap().all(|entry| entry.unwrap().file_name() == ".git"),
        (Some(then), None) => {
            let below = [difference.path(), b"/"].concat();
            // It has a repository in it now, or a file or folder that was ignored and has stayed, ignored still or not. Or it is ignored
            // itself: an empty folder is listed as long as the folders around it have no file.
            after.keys().any(|path| {
                path.starts_with(&below) && (now.get(path).is_none() || ignored.contains_key(path))
            }) || has_repository(&at)
                || has_ignored_folder(place, &at, now)
                || is_empty_folder(&at, then.mode)
        }
        _ => false,
    }
}

fn has_repository(at: &std::path::Path) -> bool {
    let inside = fs::read_dir(at).into_iter().flatten().map(Result::unwrap);
    inside.into_iter().any(|entry| entry.file_name() == ".git" || has_repository(&entry.path()))
}

/// Whether a folder below is empty and not listed: it is ignored, and stays as ignored files do.
fn has_ignored_folder(place: &Place, at: &std::path::Path, now: &Tree) -> bool {
    let inside = fs::read_dir(at).into_iter().flatten().map(|entry| entry.unwrap().path());
    inside.filter(|path| path.is_dir() && !path.is_symlink()).any(|path| {
        let below = path.strip_prefix(&place.root).unwrap().as_os_str().as_bytes();
        let is_empty = fs::read_dir(&path).unwrap().next().is_none();
        is_empty && now.get(below).is_none() || has_ignored_folder(place, &path, now)
    })
}

fn is_empty_folder(at: &std::path::Path, mode: u32) -> bool {
    fs::symlink_metadata(at).is_ok_and(|found| found.is_dir() && found.mode() & 0o777 == mode)
        && fs::read_dir(at).unwrap().next().is_none()
}

#[test]
fn a_snapshot_comes_back_whatever_was_edited() {
    let edits = || prop::collection::vec(edit(), 0..25);
    let default = ProptestConfig::default();
    // Fewer where each takes long.
    let cases = env::var("TREE_CASES").map_or(default.cases.min(48), |cases| cases.parse().unwrap());
    let config = ProptestConfig { cases, failure_persistence: None, ..default };
    let counts = Cell::new([0_u32; 2]);
    let done = TestRunner::new(config).run(&(any::<bool>(), edits(), edits()), |(in_git, before, after)| {
        let place = Place::new();
        if in_git {
            apply(&place, &Edit::Repository(Vec::new()));
        }
        before.iter().for_each(|edit| apply(&place, edit));
        let then = place.keep();
        after.iter().for_each(|edit| apply(&place, edit));
        let (stood, disk) = (place.keep(), on_disk(&place));
        let kept = match stand(&place.root, &place.order, &then.tree) {
            // A repository is in the place of a file.
            Err(NotRestored::InTheWay { .. }) => {
                let refused = restore(&place.root, &place.order, &then.tree);
                prop_assert!(matches!(refused, Err(NotRestored::InTheWay { .. })), "{:?}", refused);
                prop_assert_eq!(place.keep().digest, stood.digest);
                prop_assert_eq!(on_disk(&place), disk);
                return Ok(());
            }
            kept => kept.unwrap().kept,
        };
        prop_assert!(place.restore(&then.tree).late.is_empty());
        let now = place.keep();
        let ignored: Files = disk
            .iter()
            .filter(|(path, _)| stood.tree.get(path).is_none())
            .map(|(path, it)| (path.clone(), it.clone()))
            .collect();
        let after = on_disk(&place);
        for difference in differences(&then.tree, &now.tree) {
            prop_assert!(has_to_differ(&place, &difference, &ignored, &after, &now.tree), "{:?}", difference);
        }
        let [restored, alike] = counts.get();
        counts.set([restored + 1, alike + u32::from(now.digest == then.digest)]);
        let shelf = place.order.contents.shelf().unwrap();
        for (path, file) in &disk {
            prop_assert!(
                after.get(path) == Some(file) || shelf.has(&Digest::of(&file.1)),
                "{:?} is lost",
                path
            );
        }
        place.restore(&kept.tree);
        let undone = on_disk(&place);
        for (path, file) in &disk {
            prop_assert_eq!(undone.get(path), Some(file), "{:?}", path);
        }
        Ok(())
    });
    if let Err(error) = done {
        panic!("{error}");
    }
    let [restored, alike] = counts.get();
    println!("{restored} restored, {alike} to the same digest");
    // Else nearly all would differ because they have to, and the test would prove little.
    assert!(
        restored * 3 >= cases * 2 && alike * 2 >= restored,
        "{restored} restored, {alike} to the same digest"
    );
}

/// A list of what was made elsewhere.
fn made(place: &Place, files: &[(&str, u32, &str)]) -> Tree {
    let file = |(path, mode, content): &(&str, u32, &str)| {
        Ok(envoi_tree::Gathered { path: (*path).into(), mode: *mode, content: (*content).into() })
    };
    let (digest, tree) = envoi_tree::gather(&place.order, files.iter().map(file)).unwrap();
    let list = place.order.contents.shelf().unwrap().read(&digest).unwrap();
    assert_eq!(Tree::parse(&list).unwrap(), tree, "it lasts in the form of a snapshot");
    tree
}

#[test]
fn files_are_laid_over_a_folder_and_no_other_file_is_touched() {
    let place = Place::new();
    place.write(".gitignore", "out/\n");
    place.write("out/app", "older");
    place.write("out/mine", "nobody knows this one");
    place.write("docs/page", "a person edits this");
    place.write("src/a", "a");
    let files = made(
        &place,
        &[("out/app", 0o755, "built"), ("out/deep/lib", 0o644, "lib"), ("docs/page", 0o644, "made")],
    );
    let (mut stood, mut late) = (None, Vec::new());
    envoi_tree::lay_over(&place.root, &place.order, &files, &mut late, |kept, _| {
        stood = Some(kept.tree.clone());
        Ok(())
    })
    .unwrap();
    let read = |name: &str| fs::read_to_string(place.path(name)).unwrap();
    assert_eq!([read("out/app"), read("out/deep/lib"), read("docs/page")], ["built", "lib", "made"]);
    assert_eq!(fs::metadata(place.path("out/app")).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!([read("out/mine"), read("src/a")], ["nobody knows this one", "a"]);
    let stood = stood.unwrap();
    assert_eq!(place.content(&stood, "docs/page"), b"a person edits this");
    assert_eq!(place.content(&stood, "out/app"), b"older", "an ignored file that made room is kept too");
    // Done again, nothing is there to be announced.
    let again =
        envoi_tree::lay_over(&place.root, &place.order, &files, &mut late, |_, _| panic!("nothing changes"));
    assert_eq!(again.unwrap(), envoi_tree::Restored::default());
}

#[test]
fn files_whose_content_is_not_whole_are_not_laid_over_anything() {
    let place = Place::new();
    place.write("a", "mine");
    let files = made(&place, &[("a", 0o644, "made"), ("b", 0o644, "damaged")]);
    let (digest, _) = files.get(b"b").unwrap().content().unwrap();
    let file = place.order.contents.files.join(&digest.hex()[..2]).join(&digest.hex()[2..]);
    fs::remove_file(&file).unwrap();
    for content in [None, Some("other")] {
        if let Some(content) = content {
            fs::write(&file, content).unwrap();
        }
        let refused = envoi_tree::lay_over(&place.root, &place.order, &files, &mut Vec::new(), |_, _| {
            panic!("nothing is begun")
        });
        assert!(matches!(refused, Err(NotRestored::Content(_))), "{refused:?}");
        assert_eq!(fs::read_to_string(place.path("a")).unwrap(), "mine");
        assert!(!place.path("b").exists());
    }
}

#[test]
fn a_folder_in_the_place_of_a_file_is_in_the_way_and_stays() {
    let place = Place::new();
    place.write("a/mine", "mine");
    place.write("b", "a file where a folder is to come");
    for files in [made(&place, &[("a", 0o644, "made")]), made(&place, &[("b/c", 0o644, "made")])] {
        let refused = envoi_tree::lay_over(&place.root, &place.order, &files, &mut Vec::new(), |_, _| {
            panic!("nothing is begun")
        });
        assert!(matches!(refused, Err(NotRestored::InTheWay { .. })), "{refused:?}");
    }
    assert_eq!(fs::read_to_string(place.path("a/mine")).unwrap(), "mine");
    assert!(place.path("b").is_file());
}

#[test]
fn what_was_written_to_files_aside_is_named_also_where_nothing_can_be_laid_over() {
    let place = Place::new();
    place.write("a", "mine");
    let then = made(&place, &[("a", 0o644, "made")]);
    let mut late = Vec::new();
    // An editor has the file open when it is put aside.
    let mut editor = fs::OpenOptions::new().append(true).open(place.path("a")).unwrap();
    envoi_tree::lay_over(&place.root, &place.order, &then, &mut late, |_, _| Ok(())).unwrap();
    assert_eq!(late, []);
    editor.write_all(b" and more").unwrap();
    place.write("b/mine", "in the way");
    let more = made(&place, &[("b", 0o644, "made")]);
    let refused =
        envoi_tree::lay_over(&place.root, &place.order, &more, &mut late, |_, _| panic!("nothing is begun"));
    assert!(matches!(refused, Err(NotRestored::InTheWay { .. })), "{refused:?}");
    let named: Vec<_> = late.iter().map(|late| (late.path.as_slice(), late.digest)).collect();
    assert_eq!(named, [(b"a".as_slice(), Some(Digest::of(b"mine and more")))]);
}

#[test]
fn what_was_written_to_files_aside_is_named_also_where_all_files_are_there() {
    let place = Place::new();
    place.write("a", "mine");
    let files = made(&place, &[("a", 0o644, "made")]);
    let mut late = Vec::new();
    let mut editor = fs::OpenOptions::new().append(true).open(place.path("a")).unwrap();
    envoi_tree::lay_over(&place.root, &place.order, &files, &mut late, |_, _| Ok(())).unwrap();
    editor.write_all(b" and more").unwrap();
    for _ in 0..2 {
        let again = envoi_tree::lay_over(&place.root, &place.order, &files, &mut late, |_, _| {
            panic!("nothing changes")
        });
        assert_eq!(again.unwrap(), envoi_tree::Restored::default());
        // It is named once: from then on the store has it.
        let named: Vec<_> = late.iter().map(|late| (late.path.as_slice(), late.digest)).collect();
        assert_eq!(named, [(b"a".as_slice(), Some(Digest::of(b"mine and more")))]);
    }
    assert_eq!(fs::read_to_string(place.path("a")).unwrap(), "made");
}
