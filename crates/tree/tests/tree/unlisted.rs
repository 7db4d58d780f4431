//! Folders that cannot be listed: nothing is known of them, so nothing there counts as deleted, and nothing there is touched.

use crate::folder::Place;
use envoi_tree::{Kept, NotMerged, change, differences, merge, restore};
use std::fs;

/// A place with `shut/a`, as it was when it could be read, and as it was when it could not.
fn shut() -> (Place, Kept, Kept) {
    let place = Place::new();
    place.write("near", "1");
    place.write("shut/a", "mine");
    let then = place.keep();
    let blind = place.keep_as_an_ordinary_user(&["shut"]).unwrap();
    (place, then, blind)
}

fn paths(from: &Kept, to: &Kept) -> Vec<String> {
    let all = differences(&from.tree, &to.tree);
    all.iter().map(|it| String::from_utf8(it.path().to_vec()).unwrap()).collect()
}

#[test]
fn it_is_named_from_the_workspace_also_where_the_repository_begins_above() {
    let place = Place::new();
    place.git("..", &["init", "-q"]);
    let name = "sh\u{fc}t";
    place.write("near", "1");
    place.write(format!("{name}/a"), "mine");
    let then = place.keep();
    let blind = place.keep_as_an_ordinary_user(&[name]).unwrap();
    assert_eq!(paths(&then, &blind), [name]);
    restore(&place.root, &place.order, &blind.tree).unwrap();
    assert_eq!(fs::read_to_string(place.path(&format!("{name}/a"))).unwrap(), "mine");
}

#[test]
fn its_files_are_not_deleted_ones_in_a_comparison() {
    let (_place, then, blind) = shut();
    assert_eq!(paths(&then, &blind), ["shut"]);
    assert_eq!(paths(&blind, &then), ["shut"]);
    assert!(paths(&blind, &blind).is_empty());
}

#[test]
fn its_files_stay_when_the_folder_is_set_back() {
    let (place, then, blind) = shut();
    place.write("near", "2");
    place.write("shut/b", "new");
    let restored = restore(&place.root, &place.order, &blind.tree).unwrap();
    assert_eq!(restored.left, [b"shut"]);
    let read = |name: &str| fs::read_to_string(place.path(name)).unwrap();
    assert_eq!([read("near"), read("shut/a"), read("shut/b")], ["1", "mine", "new"]);
    // And those that come back do not come over it.
    change(&place.root, &place.order, &then.tree, &blind.tree).unwrap();
    assert_eq!([read("shut/a"), read("shut/b")], ["mine", "new"]);
}

#[test]
fn its_files_stay_in_a_merge_whoever_could_not_list_them() {
    let (place, then, blind) = shut();
    let merged = |base: &Kept, ours: &Kept, theirs: &Kept| {
        merge(&place.order, &base.tree, &ours.tree, &theirs.tree, None).map(|merged| merged.tree)
    };
    assert_eq!(merged(&then, &then, &blind).unwrap(), then.tree);
    assert_eq!(merged(&then, &blind, &then).unwrap(), blind.tree);
    assert_eq!(merged(&blind, &then, &then).unwrap(), then.tree);
    // The tree of a run has nothing of a folder that could not be listed when it was made.
    fs::remove_dir_all(place.path("shut")).unwrap();
    let without = place.keep();
    assert_eq!(merged(&blind, &then, &without).unwrap(), then.tree);
    // A file that comes to such a folder cannot be brought, and is named.
    place.write("shut/a", "theirs");
    let theirs = place.keep();
    let refused = merged(&then, &blind, &theirs);
    let Err(NotMerged::Conflict { conflicts }) = refused else { panic!("{refused:?}") };
    let paths: Vec<_> = conflicts.iter().map(ToString::to_string).collect();
    assert_eq!(paths, ["`shut/a` (its folder cannot be listed)"]);
}
