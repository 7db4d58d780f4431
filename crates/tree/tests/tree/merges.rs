//! A side has a folder where the other has a file or a link: which side is taken, and what is reported.

use crate::folder::Place;
use envoi_tree::{Conflict, Kept, NotMerged, Side, Tree, Why, change, merge, merge_marked, stand};
use std::fs;

/// Files by path and content; `@` before the content: a link; a path that ends with `/`: an empty folder.
type Files = &'static [(&'static str, &'static str)];

const NOTHING: Files = &[];
const FILE: Files = &[("d", "file")];
const OTHER_FILE: Files = &[("d", "other file")];
const LINK: Files = &[("d", "@near")];
const FOLDER: Files = &[("d/f", "in it")];
const NESTED: Files = &[("d/e/", ""), ("d/f", "in it"), ("d/g/h/i", "deep")];
const CHANGED: Files = &[("d/f", "changed"), ("d/g/h/i", "deep"), ("d/new", "new")];
const HOLLOW: Files = &[("d/e/", "")];
/// Two paths that clash, each the other way round.
const FILE_AND_FOLDER: Files = &[("d", "file"), ("two/f", "in two")];
const FOLDER_AND_FILE: Files = &[("d/f", "in it"), ("two", "two")];

/// The folder gets these files, and a file that is the same everywhere; nothing else is left in it.
fn lay(place: &Place, files: Files) -> Kept {
    for entry in fs::read_dir(&place.root).unwrap().flatten().filter(|entry| entry.file_name() != ".envoi") {
        match entry.file_type().unwrap().is_dir() {
            true => fs::remove_dir_all(entry.path()).unwrap(),
            false => fs::remove_file(entry.path()).unwrap(),
        }
    }
    place.write("near", "near");
    for (path, content) in files {
        match (path.strip_suffix('/'), content.strip_prefix('@')) {
            (Some(folder), _) => fs::create_dir_all(place.path(folder)).unwrap(),
            (None, Some(target)) => place.link(target, path),
            (None, None) => place.write(path, content),
        }
    }
    place.keep()
}

fn merged(place: &Place, lists: [&Kept; 3], prefer: Option<Side>) -> Result<Tree, Vec<Conflict>> {
    let [base, ours, theirs] = lists.map(|kept| &kept.tree);
    match merge(&place.order, base, ours, theirs, prefer) {
        Ok(merged) => Ok(merged.tree),
        Err(NotMerged::Conflict { conflicts }) => Err(conflicts),
        Err(error) => panic!("{error}"),
    }
}

fn clash(path: &str, with_link: bool) -> Conflict {
    Conflict { path: path.into(), why: Why::Clash { with_link } }
}

#[test]
fn both_sides_stand_between_markers_unless_markers_cannot_show_them() {
    let place = Place::new();
    let marked = "<<<<<<< ours\nmine\n=======\nyours\n>>>>>>> it\n";
    // The base, ours, theirs, and the result; without it, the path is in conflict.
    let rows: [(&str, &[&str; 3], Option<&str>); 8] = [
        ("lines", &["then\n", "mine\n", "yours\n"], Some(marked)),
        ("both are new", &["", "mine\n", "yours\n"], Some(marked)),
        ("in other lines", &["1\n\n\n2\n", "1\n\n\nmine\n", "yours\n\n\n2\n"], Some("yours\n\n\nmine\n")),
        ("no text", &["then\n", "mine\n", "yours\0"], None),
        ("deleted here", &["then\n", "", "yours\n"], None),
        ("deleted there", &["then\n", "mine\n", ""], None),
        ("a link", &["then\n", "mine\n", "@near"], None),
        ("markers", &["then\n", marked, "yours\n"], None),
    ];
    for (what, texts, expected) in rows {
        let [base, ours, theirs] = texts.map(|text| {
            lay(&place, NOTHING);
            match text.strip_prefix('@') {
                Some(target) => place.link(target, "d"),
                None if text.is_empty() => {}
                None => place.write("d", text),
            }
            place.keep()
        });
        match (merge_marked(&place.order, &base.tree, &ours.tree, &theirs.tree, "it"), expected) {
            (Ok(found), Some(expected)) => {
                assert_eq!(place.content(&found.merged.tree, "d"), expected.as_bytes(), "{what}");
                let is_marked = expected.starts_with('<');
                assert_eq!(found.paths, if is_marked { vec![b"d".to_vec()] } else { Vec::new() }, "{what}");
            }
            (Err(NotMerged::Conflict { conflicts }), None) => {
                assert_eq!(conflicts, [Conflict { path: b"d".to_vec(), why: Why::Changed }], "{what}");
            }
            (found, _) => panic!("{what}: {found:?}"),
        }
    }
}

#[test]
fn a_folder_and_a_file_of_one_name_are_in_conflict_and_a_preferred_side_is_taken_whole() {
    let d = || vec![clash("d", false)];
    let linked = || vec![clash("d", true)];
    let cases: [(&str, Files, Files, Files, Vec<Conflict>); 13] = [
        ("both are new", NOTHING, FILE, FOLDER, d()),
        ("nested", NOTHING, FILE, NESTED, d()),
        ("only an empty folder in it", NOTHING, FILE, HOLLOW, d()),
        ("a link", NOTHING, LINK, FOLDER, linked()),
        ("a link, nested", NOTHING, LINK, NESTED, linked()),
        ("there was a file", OTHER_FILE, FILE, FOLDER, d()),
        ("there was a file, now a link", OTHER_FILE, LINK, NESTED, linked()),
        ("there was a link", LINK, FILE, FOLDER, d()),
        ("there was a folder, changed", NESTED, FILE, CHANGED, d()),
        ("there was a folder, changed, now a link", NESTED, LINK, CHANGED, linked()),
        ("there was a folder, with one file more", FOLDER, FILE, NESTED, d()),
        (
            "two at once",
            NOTHING,
            FILE_AND_FOLDER,
            FOLDER_AND_FILE,
            vec![clash("d", false), clash("two", false)],
        ),
        (
            "two, one of which was a folder",
            CHANGED,
            FILE_AND_FOLDER,
            FOLDER_AND_FILE,
            vec![clash("d", false), clash("two", false)],
        ),
    ];
    for (case, base, one, other, conflicts) in cases {
        let place = Place::new();
        let base = lay(&place, base);
        let one = lay(&place, one);
        let other = lay(&place, other);
        for (ours, theirs) in [(&one, &other), (&other, &one)] {
            let lists = [&base, ours, theirs];
            assert_eq!(merged(&place, lists, None), Err(conflicts.clone()), "{case}");
            for (side, expected) in [(Side::Ours, ours), (Side::Theirs, theirs)] {
                assert_eq!(merged(&place, lists, Some(side)).unwrap(), expected.tree, "{case}: {side:?}");
            }
        }
    }
}

#[test]
fn what_one_side_alone_has_changed_comes_beside_a_clash() {
    let place = Place::new();
    let [base, folder, file] = [FILE, FOLDER_AND_FILE, FILE_AND_FOLDER].map(|files| lay(&place, files));
    for (ours, theirs, side, expected) in [
        (&folder, &file, Side::Ours, FOLDER_AND_FILE),
        (&folder, &file, Side::Theirs, &[("d/f", "in it"), ("two/f", "in two")]),
        (&file, &folder, Side::Ours, &[("d/f", "in it"), ("two/f", "in two")]),
        (&file, &folder, Side::Theirs, FOLDER_AND_FILE),
    ] {
        let lists = [&base, ours, theirs];
        assert_eq!(merged(&place, lists, None), Err(vec![clash("two", false)]));
        assert_eq!(merged(&place, lists, Some(side)).unwrap(), lay(&place, expected).tree, "{side:?}");
    }
}

#[test]
fn all_conflicts_are_named_at_once_and_one_within_a_clash_is_not_named_again() {
    let base: Files = &[("d/f", "old"), ("text", "old"), ("x", "old")];
    let ours: Files = &[("d/f", "ours"), ("text", "ours"), ("x", "ours"), ("z", "file")];
    let theirs: Files = &[("d", "theirs"), ("text", "theirs"), ("z/deep/f", "theirs")];
    let place = Place::new();
    let lists = [base, ours, theirs].map(|files| lay(&place, files));
    let named = |order: [usize; 3]| {
        let conflicts = merged(&place, order.map(|nth| &lists[nth]), None).unwrap_err();
        conflicts.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let expected = [
        "`d` (one side has a folder there, the other a file)",
        "`text`",
        "`x`",
        "`z` (one side has a folder there, the other a file)",
    ];
    assert_eq!(named([0, 1, 2]), expected);
    assert_eq!(named([0, 2, 1]), expected);
    assert_eq!(merged(&place, [&lists[0], &lists[1], &lists[2]], Some(Side::Ours)).unwrap(), lists[1].tree);
    assert_eq!(merged(&place, [&lists[0], &lists[1], &lists[2]], Some(Side::Theirs)).unwrap(), lists[2].tree);
}

#[test]
fn what_only_one_side_has_changed_is_no_conflict() {
    let place = Place::new();
    for (base, ours, theirs, expected) in [
        (FOLDER, FOLDER, FILE, FILE),
        (NESTED, FILE, NESTED, FILE),
        (FILE, FILE, NESTED, NESTED),
        (FILE, NESTED, FILE, NESTED),
        (NESTED, FILE, FOLDER, FILE),
        (NESTED, FILE, FILE, FILE),
        (LINK, LINK, NESTED, NESTED),
    ] {
        let [base, ours, theirs, expected] = [base, ours, theirs, expected].map(|files| lay(&place, files));
        assert_eq!(merged(&place, [&base, &ours, &theirs], None).unwrap(), expected.tree);
    }
}

/// It is brought, taken back, and brought after it was begun: the folder is as in the list, and the displaced files are in the store.
#[test]
fn the_folder_changes_to_the_side_that_is_taken_and_back() {
    for (ours, theirs) in
        [(FILE, NESTED), (NESTED, FILE), (LINK, NESTED), (NESTED, LINK), (FILE_AND_FOLDER, FOLDER_AND_FILE)]
    {
        let place = Place::new();
        let base = lay(&place, NOTHING);
        let theirs = lay(&place, theirs);
        let now = lay(&place, ours);
        let target = merged(&place, [&base, &now, &theirs], Some(Side::Theirs)).unwrap();
        let stood = stand(&place.root, &place.order, &target).unwrap();
        assert_eq!(stood.kept.tree, now.tree);
        change(&place.root, &place.order, &now.tree, &target).unwrap();
        assert_eq!(place.keep().tree, target);
        let again = change(&place.root, &place.order, &now.tree, &target).unwrap();
        assert_eq!((again.changed, again.newer.len()), ((0, 0), 0));
        let back = merge(&place.order, &target, &target, &now.tree, Some(Side::Ours)).unwrap().tree;
        change(&place.root, &place.order, &target, &back).unwrap();
        assert_eq!(place.keep().tree, now.tree);
    }
}

#[test]
fn what_is_not_kept_neither_comes_nor_makes_room() {
    let mut place = Place::new();
    place.order.bounds.max_file_bytes = 100;
    let base = lay(&place, NOTHING);
    let file = lay(&place, FILE);
    lay(&place, FOLDER);
    place.write("d/large", vec![b'x'; 1000]);
    let folder = place.keep();
    let not_kept = Conflict { path: b"d/large".to_vec(), why: Why::NotKept };
    let taken = |ours: &Kept, theirs: &Kept, side| merged(&place, [&base, ours, theirs], Some(side));
    assert_eq!(taken(&file, &folder, Side::Ours).unwrap(), file.tree);
    assert_eq!(taken(&file, &folder, Side::Theirs), Err(vec![not_kept.clone()]));
    assert_eq!(taken(&folder, &file, Side::Ours).unwrap(), folder.tree);
    assert_eq!(taken(&folder, &file, Side::Theirs), Err(vec![not_kept]));
}
