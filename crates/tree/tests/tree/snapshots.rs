//! The contents of a snapshot, and its cost when nothing has changed.

use super::folder::{Place, odd};
use envoi_tree::{Bounds, NotKept, Tree, What, differences};
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use std::{
    fs::{self, File},
    os::fd::OwnedFd,
    os::unix::{ffi::OsStrExt, fs::MetadataExt, net::UnixListener},
    time::{Duration, SystemTime},
};

#[test]
fn links_modes_odd_names_and_empty_folders_are_kept() {
    let place = Place::new();
    place.write("src/run.sh", "#!/bin/sh\n");
    place.mode("src/run.sh", 0o751);
    place.write(odd(), "odd");
    place.link("src/run.sh", "link");
    place.link("nowhere", "dangling");
    place.link("src", "folder-link");
    fs::create_dir_all(place.path("empty/within")).unwrap();
    place.pipe("pipe");
    let _socket = UnixListener::bind(place.path("socket")).unwrap();
    let kept = place.keep();
    let paths =
        ["dangling@", "empty/within/", "folder-link@", "link@", "odd\\xff\\n\\t\\\"name", "src/run.sh"];
    assert_eq!(place.paths(), paths);
    assert_eq!(kept.tree.get(b"src/run.sh").unwrap().mode, 0o751);
    assert_eq!(place.content(&kept.tree, odd().as_bytes()), b"odd");
    assert_eq!(place.content(&kept.tree, b"dangling"), b"nowhere");
    let list = place.order.contents.shelf().unwrap().read(&kept.digest).unwrap();
    assert_eq!(Tree::parse(&list).unwrap(), kept.tree);
}

#[test]
fn in_git_it_holds_what_git_does_not_ignore() {
    let place = Place::new();
    place.git("", &["init", "-q"]);
    place.write(".gitignore", "*.log\n/build\n");
    place.write("tracked", "1");
    place.write("forced.log", "tracked although ignored");
    place.write("gone", "1");
    place.git("", &["add", "-A"]);
    place.git("", &["add", "-f", "forced.log"]);
    place.git("", &["commit", "-qm", "x"]);
    fs::remove_file(place.path("gone")).unwrap();
    place.write("new", "1");
    place.write("noise.log", "1");
    place.write("build/out", "1");
    fs::create_dir_all(place.path("empty/deep")).unwrap();
    assert_eq!(place.paths(), [".gitignore", "empty/deep/", "forced.log", "new", "tracked"]);
}

#[test]
fn files_that_git_would_wait_for_are_refused_and_git_is_not_started() {
    for name in [".git/HEAD", ".git/index", ".git/info/exclude"] {
        let place = Place::new();
        place.git(".", &["init", "-q"]);
        std::fs::remove_file(place.path(name)).ok();
        place.pipe(name);
        let refused = place.try_keep().unwrap_err().to_string();
        assert!(refused.ends_with(&format!("`{name}` is not a regular file")), "{refused}");
    }
    let place = Place::new();
    place.git(".", &["init", "-q"]);
    let rules = std::fs::File::create(place.path(".gitignore")).unwrap();
    rules.set_len(5 << 30).unwrap();
    let refused = place.try_keep().unwrap_err().to_string();
    assert!(refused.ends_with("`.gitignore` has more than 104857600 bytes"), "{refused}");
}

#[test]
fn rules_below_the_top_that_would_stop_git_or_fill_its_memory_are_refused() {
    let place = Place::new();
    place.git(".", &["init", "-q"]);
    place.write("sub/file", "x");
    place.pipe("sub/.gitignore");
    let refused = place.try_keep().unwrap_err().to_string();
    assert!(refused.ends_with("`sub/.gitignore` is not a regular file"), "{refused}");
    // Git passes over the one. Its version decides of the other: it passes over it too, or needs more memory than it gets.
    for (bytes, reasons) in [(101 << 20, ["too large"; 2]), (3 << 30, ["too large", "it has more than"])] {
        fs::remove_file(place.path("sub/.gitignore")).unwrap();
        fs::File::create(place.path("sub/.gitignore")).unwrap().set_len(bytes).unwrap();
        let refused = place.try_keep().unwrap_err().to_string();
        let is_said = reasons.iter().any(|why| refused.contains(why));
        assert!(refused.contains("sub/.gitignore") && is_said, "{bytes}: {refused}");
    }
}

#[test]
fn a_tracked_file_below_what_is_a_link_now_is_not_read_through_it() {
    let place = Place::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("file"), "theirs").unwrap();
    place.git("", &["init", "-q"]);
    place.write("folder/file", "ours");
    place.git("", &["add", "-A"]);
    fs::remove_dir_all(place.path("folder")).unwrap();
    place.link(outside.path().to_str().unwrap(), "folder");
    assert_eq!(place.paths(), ["folder@"]);
    fs::write(place.path(".gitignore"), "folder\n").unwrap();
    assert_eq!(place.paths(), [".gitignore"], "also where git does not list the link");
}

#[test]
fn inner_repositories_follow_their_own_rules() {
    let mut place = Place::new();
    place.git("", &["init", "-q"]);
    place.write(".gitignore", "*.log\n");
    for nested in ["nested", "committed"] {
        place.write(format!("{nested}/.gitignore"), "*.tmp\n");
        place.write(format!("{nested}/file"), "1");
        place.write(format!("{nested}/a.log"), "1");
        place.write(format!("{nested}/a.tmp"), "1");
        place.git(nested, &["init", "-q"]);
    }
    place.git("committed", &["add", "-A"]);
    place.git("committed", &["commit", "-qm", "x"]);
    place.git("", &["-c", "advice.addEmbeddedRepo=false", "add", "committed"]);
    let all = [
        ".gitignore",
        "committed/.gitignore",
        "committed/a.log",
        "committed/file",
        "nested/.gitignore",
        "nested/a.log",
        "nested/file",
    ];
    assert_eq!(place.paths(), all);
    // Without its repository, as in a tree of a run, git lists nothing of it.
    fs::remove_dir_all(place.path("committed/.git")).unwrap();
    assert_eq!(place.paths(), [&all[..1], &all[4..]].concat());
    place.order.scope.submodules = true;
    assert_eq!(place.paths(), all);
    for path in ["committed/.gitignore", "committed/a.log", "committed/a.tmp", "committed/file"] {
        fs::remove_file(place.path(path)).unwrap();
    }
    let empty = [".gitignore", "committed/", "nested/.gitignore", "nested/a.log", "nested/file"];
    assert_eq!(place.paths(), empty);
    fs::remove_dir(place.path("committed")).unwrap();
    place.link("nested", "committed");
    assert_eq!(place.paths()[1], "committed@", "a link in its place is not followed");
}

#[test]
fn a_folder_in_the_place_of_a_file_that_git_knows_follows_its_rules() {
    let mut place = Place::new();
    place.order.scope.submodules = true;
    place.git("", &["init", "-q"]);
    place.write(".gitignore", "*.log\n");
    place.write("was", "1");
    place.git("", &["add", "-A"]);
    fs::remove_file(place.path("was")).unwrap();
    place.write("was/a.log", "1");
    assert_eq!(place.paths(), [".gitignore"]);
    place.write("was/file", "1");
    assert_eq!(place.paths(), [".gitignore", "was/file"]);
}

#[test]
fn what_is_ignored_and_named_all_the_same_is_kept() {
    for in_git in [true, false] {
        let mut place = Place::new();
        if in_git {
            place.git("", &["init", "-q"]);
        }
        place.write(".gitignore", "dist/\n*.log\nempty/\nlinks/\n");
        for path in
            ["dist/a", "dist/deep/b", "a.log", "sub/a.log", "sub/dist/a", "links/.git/x", "dist/.envoi/x"]
        {
            place.write(path, "1");
        }
        fs::create_dir(place.path("empty")).unwrap();
        place.link("dist", "links/to-dist");
        place.link("dist", "by-link");
        let before = place.paths();
        for also in [&["nothing", "by-link/a"][..], &[]] {
            place.order.scope.also = also.iter().map(|glob| (*glob).to_owned()).collect();
            assert_eq!(place.paths(), before, "{also:?}");
        }
        place.order.scope.also =
            ["dist", "*.log", "links/**", "empty"].iter().map(|glob| (*glob).to_owned()).collect();
        let named = ["a.log", "dist/a", "dist/deep/b", "empty/", "links/to-dist@"];
        let mut all: Vec<String> = before.iter().cloned().chain(named.map(str::to_owned)).collect();
        all.sort();
        all.dedup();
        assert_eq!(place.paths(), all, "in git: {in_git}");
    }
}

#[test]
fn without_git_the_files_of_rules_count() {
    let place = Place::new();
    place.write(".gitignore", "*.log\n!keep.log\n/out/\n");
    place.write("sub/.envoiignore", "secret\n!noise.log\n");
    for name in
        ["a", "a.log", "keep.log", "out/x", "sub/out/x", "sub/secret", "sub/noise.log", "sub/.git-like"]
    {
        place.write(name, "1");
    }
    place.write("repository/.gitignore", "ignored\n");
    place.write("repository/ignored", "1");
    place.write("repository/file.log", "1");
    place.git("repository", &["init", "-q"]);
    let all = [
        ".gitignore",
        "a",
        "keep.log",
        "repository/.gitignore",
        "repository/file.log",
        "sub/.envoiignore",
        "sub/.git-like",
        "sub/noise.log",
        "sub/out/x",
    ];
    assert_eq!(place.paths(), all);
}

#[test]
fn a_file_of_rules_that_is_too_long_is_refused_and_not_read() {
    let place = Place::new();
    place.write("a", "1");
    place.write("sub/.gitignore", "");
    let rules = std::fs::File::options().write(true).open(place.path("sub/.gitignore")).unwrap();
    rules.set_len(5 << 30).unwrap();
    let refused = place.try_keep().unwrap_err().to_string();
    assert!(refused.ends_with("sub/.gitignore`: it has more than 1048576 bytes"), "{refused}");
    place.write("sub/.gitignore", "#\n".repeat(1 << 19));
    assert_eq!(place.paths(), ["a", "sub/.gitignore"]);
}

#[test]
fn a_folder_that_the_repository_around_it_ignores_is_kept_all_the_same() {
    let mut place = Place::new();
    place.git("", &["init", "-q"]);
    place.write(".gitignore", "scratch\n");
    place.write("scratch/file", "1");
    place.write("sub/file", "1");
    place.write("sub/a.tmp", "1");
    place.write("sub/.gitignore", "*.tmp\n");
    place.root = place.path("scratch");
    assert_eq!(place.paths(), ["file"]);
    place.root = place.root.with_file_name("sub");
    assert_eq!(place.paths(), [".gitignore", "file"]);
}

#[test]
fn a_change_is_found_also_if_size_and_time_are_as_before() {
    let place = Place::new();
    let old = SystemTime::now() - Duration::from_secs(3600);
    let write = |content: &str| {
        place.write("file", content);
        File::options().write(true).open(place.path("file")).unwrap().set_modified(old).unwrap();
    };
    write("one");
    let first = place.keep();
    write("two");
    let second = place.keep();
    assert_ne!(first.digest, second.digest);
    assert_eq!(place.content(&second.tree, b"file"), b"two");
    assert_eq!(place.keep().digest, second.digest);
    assert_eq!(differences(&first.tree, &second.tree).len(), 1);
}

#[test]
fn contents_that_have_gone_are_stored_again() {
    let place = Place::new();
    place.write("file", "text");
    place.mode("file", 0o640);
    let kept = place.keep();
    fs::remove_dir_all(&place.order.contents.files).unwrap();
    let again = place.keep();
    assert_eq!((again.digest, again.new_bytes > 0), (kept.digest, true));
    assert_eq!(place.content(&again.tree, b"file"), b"text");
    assert_eq!(place.keep().new_bytes, 0, "what is there is not stored again");
}

/// For example a disk error. The length alone shows it, with a cache of digests and without one.
#[test]
fn a_content_that_was_cut_in_the_store_is_stored_again() {
    let place = Place::new();
    place.write("file", "a long text");
    let kept = place.keep();
    let (digest, _) = kept.tree.get(b"file").unwrap().content().unwrap();
    let stored = place.order.contents.files.join(&digest.hex()[..2]).join(&digest.hex()[2..]);
    for content in ["a long text", "something else"] {
        fs::remove_file(&stored).unwrap();
        fs::write(&stored, "a").unwrap();
        place.write("file", content);
        place.keep();
        place.write("file", "a long text");
        let again = place.keep();
        assert_eq!(
            (again.digest, place.content(&again.tree, b"file")),
            (kept.digest, b"a long text".to_vec())
        );
    }
}

#[test]
fn past_its_bounds_nothing_is_kept_and_a_large_file_is_only_listed() {
    let mut place = Place::new();
    place.write("a", vec![b'a'; 3000]);
    place.write("b", vec![b'b'; 3000]);
    place.order.bounds = Bounds { max_file_bytes: 2999, ..Bounds::default() };
    let kept = place.keep();
    assert!(matches!(kept.tree.get(b"a").unwrap().what, What::LeftOut { size: 3000, .. }));
    place.order.bounds = Bounds { max_new_bytes: 5000, ..Bounds::default() };
    assert!(matches!(place.try_keep(), Err(NotKept::TooMuchNew { most_bytes: 5000 })));
    place.order.bounds = Bounds { max_files: 1, ..Bounds::default() };
    assert!(matches!(place.try_keep(), Err(NotKept::TooManyFiles { most: 1 })));
    place.order.bounds = Bounds::default();
    place.order.too_wide = vec![place.path(".envoi")];
    assert!(matches!(place.try_keep(), Err(NotKept::TooWide { .. })));
    place.order.too_wide = Vec::new();
    assert!(matches!(place.keep().tree.get(b"a").unwrap().what, What::File { .. }));
}

#[test]
fn many_files_become_one_pack() {
    let place = Place::new();
    for nth in 0..200 {
        place.write(format!("d{}/f{nth}", nth % 7), format!("content {nth}"));
    }
    let kept = place.keep();
    assert_eq!(fs::read_dir(&place.order.contents.packs).unwrap().count(), 1);
    assert_eq!(place.content(&kept.tree, b"d3/f3"), b"content 3");
    place.write("d3/f3", "other");
    let again = place.keep();
    assert_eq!(fs::read_dir(&place.order.contents.packs).unwrap().count(), 1);
    assert_eq!(place.content(&again.tree, b"d3/f3"), b"other");
    assert_eq!(place.content(&kept.tree, b"d3/f3"), b"content 3");
}

/// Files of a workspace may hold secrets that only their owner may read.
#[test]
fn what_a_store_has_of_a_folder_is_for_its_owner_alone() {
    for count in [3, 100] {
        let place = Place::new();
        for nth in 0..count {
            place.write(format!("f{nth}"), format!("content {nth}"));
            place.mode(&format!("f{nth}"), 0o666);
        }
        place.keep();
        let (mut folders, mut looked_at) = (vec![place.path(".envoi")], 0);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let (path, found) = entry.map(|entry| (entry.path(), entry.metadata().unwrap())).unwrap();
                if found.is_dir() {
                    folders.push(path);
                } else {
                    looked_at += 1;
                    assert_eq!(found.mode() & 0o177, 0, "{}: {:o}", path.display(), found.mode());
                }
            }
        }
        // Contents, or their pack, and the cache.
        assert!(looked_at >= 2);
    }
}

#[test]
fn a_folder_that_may_not_be_read_is_passed_over_and_named() {
    for is_git in [false, true] {
        let place = Place::new();
        if is_git {
            place.git("", &["init", "-q"]);
        }
        for path in ["near", "tracked/file", "new/file", "other/file", "left-out/file"] {
            place.write(path, "1");
        }
        place.write(".gitignore", "/left-out\n");
        if is_git {
            place.git("", &["add", "tracked"]);
        }
        assert_eq!(place.keep().lack(), None);
        let kept = place.keep_as_an_ordinary_user(&["other", "new", "left-out"]).unwrap();
        let unlisted: Vec<_> = kept.unlisted.iter().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(unlisted, ["new", "other"], "{is_git}");
        let lack = kept.lack().unwrap();
        assert_eq!(lack, "2 folders (`new` is one) cannot be read, so nothing of them is kept");
        let paths: Vec<_> = kept.tree.entries().iter().map(|entry| entry.path.as_slice()).collect();
        assert_eq!(paths, [&b".gitignore"[..], b"near", b"new", b"other", b"tracked/file"], "{is_git}");
        let marked: Vec<_> = kept.tree.entries().iter().filter(|entry| entry.is_unlisted()).collect();
        assert_eq!(marked.len(), 2, "{is_git}");
        assert_eq!(Tree::parse(&kept.tree.encode()).unwrap(), kept.tree);
        // Git knows of files there. A snapshot without them would mean that they were deleted.
        let refused = place.keep_as_an_ordinary_user(&["tracked"]);
        match is_git {
            true => assert!(
                matches!(&refused, Err(NotKept::Io { path, .. }) if path.ends_with("tracked")),
                "{refused:?}"
            ),
            false => assert!(refused.is_ok(), "{refused:?}"),
        }
    }
}

/// A file whose path, relative to the place, has so many bytes.
fn deep(place: &Place, top: &str, bytes: usize) {
    openat(folders(place, top, bytes), "file", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap();
}

/// The folder in which a path with `/file` at its end has so many bytes.
fn folders(place: &Place, top: &str, bytes: usize) -> OwnedFd {
    fs::create_dir(place.path(top)).unwrap();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut at = openat(CWD, place.path(top), flags, Mode::empty()).unwrap();
    let mut left = bytes - top.len() - "/file".len();
    while left > 0 {
        // Never one byte, which would be a slash without a name.
        let length = if left > 202 { 200 } else { left - 1 };
        let name = "d".repeat(length);
        mkdirat(&at, &name, Mode::RWXU).unwrap();
        at = openat(&at, &name, flags, Mode::empty()).unwrap();
        left -= length + 1;
    }
    at
}

/// Only the last name makes the path too long.
#[test]
fn a_path_that_the_system_cannot_open_is_passed_over_if_it_is_ignored() {
    for is_git in [false, true] {
        for (is_folder, rules) in [(false, "file"), (true, "file/"), (true, ".git")] {
            let place = Place::new();
            if is_git {
                place.git("", &["init", "-q"]);
            }
            place.write("near", "1");
            let bytes = 4097 - place.path("").as_os_str().len();
            let folder = folders(&place, "far", bytes);
            let name = if rules == ".git" { ".git" } else { "file" };
            if is_folder {
                mkdirat(&folder, name, Mode::RWXU).unwrap();
            } else {
                openat(&folder, name, OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap();
            }
            place.write(".gitignore", format!("{rules}\n"));
            assert_eq!(place.paths(), [".gitignore", "near"], "{is_git} {is_folder} {rules}");
            if !is_folder {
                place.write(".gitignore", "file/\n");
                let refused = place.try_keep();
                assert!(matches!(refused, Err(NotKept::PathTooLong { .. })), "{is_git}: {refused:?}");
            }
        }
    }
}

#[test]
fn a_path_that_the_system_cannot_open_is_reported_and_never_left_out() {
    for is_git in [false, true] {
        // As long as git still lists it, and longer.
        for bytes in [4080, 4500, 9000] {
            let place = Place::new();
            if is_git {
                place.git("", &["init", "-q"]);
            }
            place.write("near", "1");
            deep(&place, "far", bytes);
            let refused = place.try_keep();
            assert!(matches!(refused, Err(NotKept::PathTooLong { .. })), "{is_git} {bytes}: {refused:?}");
            let said = refused.unwrap_err().to_string();
            assert!(said.contains("far/ddd") && said.len() < 600, "{said}");
            // An ignored folder is not looked at.
            place.write(".gitignore", "/far\n");
            assert_eq!(place.paths(), [".gitignore", "near"], "{is_git} {bytes}");
        }
    }
}

#[test]
fn of_a_folder_in_which_nothing_has_changed_nothing_is_written() {
    let place = Place::new();
    for name in ["a", "sub/b", "sub/deep/c"] {
        place.write(name, name);
    }
    fs::create_dir_all(place.path("empty")).unwrap();
    let cache = || {
        let file = fs::read_dir(&place.order.caches).unwrap().next().unwrap().unwrap();
        file.metadata().unwrap().ino()
    };
    let kept = place.keep();
    // A file that has just been written could change without another time: it is looked at again for a moment.
    let is_same = |_: &u32| {
        let before = cache();
        assert_eq!(place.keep().tree, kept.tree);
        cache() == before
    };
    assert!((0..20_000).any(|nth| is_same(&nth)), "the same list is written again and again");
    for change in [
        |place: &Place| place.write("a", "other"),
        |place: &Place| fs::remove_file(place.path("sub/b")).unwrap(),
    ] {
        let before = cache();
        change(&place);
        assert_ne!(place.keep().tree, kept.tree);
        assert_ne!(cache(), before);
    }
}
