//! A side has a folder where the other has a file or a link: no list can have both.
//!
//! Such a path is decided as a whole. The preferred side keeps its entry: the file, or the folder with everything in it.

use crate::model::{
    conflict::Why,
    list::{Entry, Tree, What, ancestors},
    merge::Side,
};
use std::collections::BTreeMap;

/// Entries by path. They need not fit into one list yet.
pub(super) type Entries = BTreeMap<Vec<u8>, Entry>;

/// The paths at which `entries` have a file or a link, and something below it.
pub(super) fn clashes(entries: &Entries) -> Vec<Vec<u8>> {
    entries.keys().filter(|path| has_below(entries, path)).cloned().collect()
}

/// Replaces the `entries` at this path and below it by those of one side. Files that cannot be brought or taken away whole go into
/// `conflicts`, and conflicts that this decides leave them.
pub(super) fn take_whole(
    path: &[u8],
    side: Side,
    [ours, theirs]: [&Tree; 2],
    entries: &mut Entries,
    conflicts: &mut BTreeMap<Vec<u8>, Why>,
) {
    entries.retain(|other, _| !is_within(other, path));
    let taken = match side {
        Side::Ours => ours,
        Side::Theirs => theirs,
    };
    entries.extend(within(taken, path).map(|entry| (entry.path.clone(), entry.clone())));
    match side {
        Side::Ours => conflicts.retain(|other, _| !is_within(other, path)),
        Side::Theirs => {
            let differ = |one: &Tree, other: &Tree| {
                within(one, path)
                    .filter(|entry| matches!(entry.what, What::LeftOut { .. }))
                    .filter(|entry| other.get(&entry.path) != Some(entry))
                    .map(|entry| (entry.path.clone(), Why::of_left_out(entry)))
                    .collect::<Vec<_>>()
            };
            // A file that is not kept cannot come, and it would be lost if it made room.
            conflicts.extend(differ(theirs, ours));
            conflicts.extend(differ(ours, theirs));
        }
    }
}

/// Whether there is an entry below this path.
pub(super) fn has_below(entries: &Entries, path: &[u8]) -> bool {
    let prefix = [path, b"/"].concat();
    entries.range(prefix.clone()..).next().is_some_and(|(path, _)| path.starts_with(&prefix))
}

/// Whether it is this path, or is below it.
pub(super) fn is_within(path: &[u8], above: &[u8]) -> bool {
    path == above || ancestors(path).any(|folder| folder == above)
}

fn within<'t>(tree: &'t Tree, path: &[u8]) -> impl Iterator<Item = &'t Entry> {
    tree.entries().iter().filter(move |entry| is_within(&entry.path, path))
}
