//! Which files of a workspace are artifacts, over real folders.

use super::{Seen, Watched, changes, is_artifact};
use crate::attempt::record::Change;
use rustix::{fs::Mode, process::Uid};
use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

/// Runs `work` as a user who is not root, for whom permissions count.
fn as_an_ordinary_user<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                let nobody = Uid::from_raw(65_534);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            work()
        });
        thread.join().unwrap()
    })
}

#[test]
fn an_unreadable_folder_is_reported_and_its_files_do_not_count_as_deleted() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for path in ["out/shut/a.txt", "out/open/a.txt", "other/a.txt"] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    let patterns = ["out/**".to_owned(), "other/*".to_owned()];
    let watched = Watched::new(folder.path(), &patterns, &[]).unwrap();
    let before = watched.look().digests;
    assert_eq!(before.len(), 3);
    fs::create_dir_all(folder.path().join("other/deeper")).unwrap();
    for shut in ["out/shut", "other/deeper"] {
        fs::set_permissions(folder.path().join(shut), fs::Permissions::from_mode(0o000)).unwrap();
    }
    let seen = as_an_ordinary_user(|| watched.look());
    for shut in ["out/shut", "other/deeper"] {
        fs::set_permissions(folder.path().join(shut), fs::Permissions::from_mode(0o755)).unwrap();
    }
    assert_eq!(seen.digests.keys().collect::<Vec<_>>(), ["other/a.txt", "out/open/a.txt"]);
    let left_out: Vec<_> = seen.left_out.iter().collect();
    assert_eq!(left_out.len(), 1, "nothing matches below `other/deeper`: {left_out:?}");
    assert!(
        left_out[0].0 == "out/shut" && left_out[0].1.starts_with("the folder cannot be read: "),
        "{left_out:?}"
    );
    assert_eq!(changes(&before, &seen, false), []);
}

#[test]
fn a_pattern_that_matches_no_file_says_what_stands_there() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
    std::os::unix::fs::symlink("pipe", at("link")).unwrap();
    fs::create_dir(at("dist")).unwrap();
    let patterns = ["pipe", "li*", "./dist", "none"].map(str::to_owned);
    let watched = Watched::new(folder.path(), &patterns, &[]).unwrap();
    let seen = watched.look();
    let said: Vec<_> = patterns.iter().map(|pattern| watched.no_file(pattern, &seen)).collect();
    let only = |what: &str| Some(format!("{what}, and only regular files are handed over"));
    assert_eq!(
        said,
        [only("`pipe` is a named pipe"), only("`link` is a link"), only("`dist` is a folder"), None]
    );
}

#[test]
fn a_path_is_an_artifact_if_a_pattern_matches_it() {
    for (patterns, path, expected) in [
        (&["*.md"][..], "notes.md", true),
        (&["*.md"], "sub/notes.md", false),
        (&["a", "./sub/**"], "sub/deep/notes.md", true),
        (&["../*"], "notes.md", false),
        (&[], "notes.md", false),
    ] {
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        assert_eq!(is_artifact(&patterns, path), expected, "{patterns:?} {path}");
    }
}

#[test]
fn a_file_that_no_handoff_can_name_is_left_out_and_reported() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("sub/handoff")).unwrap();
    fs::create_dir(folder.path().join("handoff")).unwrap();
    let names: [&[u8]; 8] = [
        b"good.txt",
        b"sub/handoff/good.txt",
        b"attempts",
        b"back\\slash",
        b"new\nline",
        b"bad\xff",
        b"handoff/critic.1.json",
        &[b'l'; 255],
    ];
    for name in names {
        fs::write(folder.path().join(std::ffi::OsStr::from_bytes(name)), "x").unwrap();
    }
    let patterns = ["**/*".to_owned()];
    let seen = Watched::new(folder.path(), &patterns, &[]).unwrap().look();
    let kept: Vec<_> = seen.digests.keys().map(String::as_str).collect();
    assert_eq!(kept, ["attempts", "good.txt", &"l".repeat(255), "sub/handoff/good.txt"]);
    let left_out: Vec<_> = seen.left_out.into_iter().collect();
    let expected = [
        ("back\\\\slash", "its name has a backslash"),
        ("bad\u{fffd}", "its name is not UTF-8"),
        ("handoff/critic.1.json", "`handoff` is the folder of the hand-offs"),
        ("new\\nline", "its name has a control character"),
    ];
    assert_eq!(left_out, expected.map(|(path, why)| (path.to_owned(), why.to_owned())));
}

#[test]
fn a_file_in_the_place_of_the_list_of_any_step_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["sub", "folder.files.json"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let lists =
        ["build.2.work.files.json", "folder.files.json/below", "other-step.files.json", "work.files.json"];
    let others = [".files.json", "files.json", "no id.files.json", "sub/work.files.json", "work.json"];
    for name in others.into_iter().chain(lists) {
        fs::write(folder.path().join(name), "x").unwrap();
    }
    let seen = Watched::new(folder.path(), &["**/*".to_owned()], &[]).unwrap().look();
    assert_eq!(seen.digests.keys().map(String::as_str).collect::<Vec<_>>(), others);
    assert_eq!(seen.left_out.keys().map(String::as_str).collect::<Vec<_>>(), lists);
}

fn matching(patterns: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for path in
        ["a.py", "b.txt", "shop/a.py", "shop/deep/b.py", ".git/a.py", "shop/.envoi/a.py", "shop/.git/x.py"]
    {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("a.py"), "secret").unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.path().join("link")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("a.py"), folder.path().join("link.py")).unwrap();
    let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
    let watched = Watched::new(folder.path(), &patterns, &[]).unwrap();
    watched.look().digests.into_keys().collect()
}

#[test]
fn artifacts_are_the_regular_files_of_the_workspace_that_match() {
    let rows: &[(&[&str], &[&str])] = &[
        (&["*.py"], &["a.py"]),
        (&["**/*.py"], &["a.py", "shop/a.py", "shop/deep/b.py"]),
        (&["shop/**"], &["shop/a.py", "shop/deep/b.py"]),
        (&["./shop/*.py", "b.txt"], &["b.txt", "shop/a.py"]),
        (&["shop/{a,b}.py"], &["shop/a.py"]),
        (&["link/*.py", "link.py", "link/a.py"], &[]),
        (&[".git/*", ".git/a.py", "shop/.envoi/*", "shop/.git/**"], &[]),
        (&["missing.txt", "missing/**"], &[]),
        (&[], &[]),
    ];
    for (patterns, expected) in rows {
        assert_eq!(matching(patterns), *expected, "{patterns:?}");
    }
}

/// Even root cannot read the first page of a process.
const UNREADABLE: (&str, &str) = ("/proc/self", "mem");

#[test]
fn an_unreadable_file_is_left_out_and_reported() {
    let workspace = std::path::Path::new(UNREADABLE.0);
    let name = UNREADABLE.1.to_owned();
    let seen = Watched::new(workspace, std::slice::from_ref(&name), &[]).unwrap().look();
    assert_eq!(seen.digests.get(&name), Some(&None));
    assert!(seen.left_out[&name].starts_with("it cannot be read: "), "{:?}", seen.left_out);
}

#[test]
fn nothing_matches_in_a_folder_that_is_shut_whatever_it_is_called() {
    let folder = tempfile::tempdir().unwrap();
    for path in ["a.db", "store/a.db", "store/runs/r/a.db", "store2/a.db"] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    std::os::unix::fs::symlink("store", folder.path().join("other-name")).unwrap();
    let rows: &[(&str, &str, &[&str])] = &[
        ("store", "**/*", &["a.db", "store2/a.db"]),
        ("store", "store/**", &[]),
        ("store", "store/a.db", &[]),
        ("store", "store/runs/r/*.db", &[]),
        ("other-name", "**/*.db", &["a.db", "store2/a.db"]),
        ("store2/../store", "**/*.db", &["a.db", "store2/a.db"]),
        ("", "**/*.db", &[]),
        ("missing", "s*2/*", &["store2/a.db"]),
    ];
    for (never, pattern, expected) in rows {
        let never = [folder.path().join(never)];
        let patterns = [(*pattern).to_owned()];
        let seen = Watched::new(folder.path(), &patterns, &never).unwrap().look();
        assert_eq!(seen.digests.into_keys().collect::<Vec<_>>(), *expected, "{never:?} {pattern}");
    }
    // A run's own copy of the workspace is inside the store.
    let own = folder.path().join("store/runs/r");
    let never = [folder.path().join("store")];
    let patterns = ["**/*".to_owned()];
    let seen = Watched::new(&own, &patterns, &never).unwrap().look();
    assert_eq!(seen.digests.into_keys().collect::<Vec<_>>(), ["a.db"]);
}

#[test]
fn a_pattern_that_leads_out_is_refused() {
    for pattern in ["../x", "/etc/passwd", "a/../../b", "a[", ""] {
        let outcome = Watched::new(std::path::Path::new("/"), &[pattern.to_owned()], &[]);
        assert!(outcome.is_err(), "{pattern}");
    }
}

#[test]
fn changes_tell_created_modified_and_deleted() {
    let digests = |rows: &[(&str, &str)]| {
        // `-` means that the file cannot be read.
        rows.iter().map(|(a, b)| ((*a).to_owned(), (*b != "-").then(|| (*b).to_owned()))).collect()
    };
    let seen = |rows: &[(&str, &str)], closed: &[&str]| Seen {
        digests: digests(rows),
        closed: closed.iter().map(PathBuf::from).collect(),
        ..Seen::default()
    };
    let found = changes(
        &digests(&[
            ("a", "1"),
            ("b", "1"),
            ("c", "1"),
            ("e", "-"),
            ("f", "-"),
            ("g", "-"),
            ("h", "1"),
            ("shut/k", "1"),
            ("shut2/k", "1"),
        ]),
        &seen(
            &[("a", "1"), ("b", "2"), ("d", "1"), ("e", "-"), ("f", "1"), ("h", "-"), ("i", "-")],
            &["shut"],
        ),
        false,
    );
    let found_changes: Vec<String> =
        found.iter().map(|(path, change)| format!("{path} {change:?}")).collect();
    assert_eq!(
        found_changes,
        ["b Modified", "c Deleted", "d Created", "f Modified", "g Deleted", "shut2/k Deleted"]
    );
    let same = [("a", "1"), ("b", "-")];
    let handed: Vec<_> = changes(&digests(&same), &seen(&same, &[]), true);
    assert_eq!(handed, [("a".to_owned(), Change::Unchanged)], "one that cannot be read is not handed over");
}
