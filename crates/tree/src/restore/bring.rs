//! Brings the changes between two snapshots into a folder that has changed too: three lists become one.

use super::{
    NotRestored,
    clash::{self, Entries, has_below},
};
use crate::{
    disk::{
        contents::{ContentError, Shelf},
        intake::Intake,
    },
    keep::Order,
    model::{
        compare::{Difference, differences},
        conflict::{Conflict, Why},
        list::{Entry, ListError, Tree, What, ancestors},
        merge::{self, Side},
    },
};
use envoi_contract::digest::Digest;
use std::collections::BTreeMap;

/// Three lists as one. Its list and its contents are in the store.
#[derive(Debug, Clone)]
pub struct Merged {
    /// The name of the snapshot.
    pub digest: Digest,
    /// The list.
    pub tree: Tree,
}

/// Why lists do not become one.
#[derive(Debug, thiserror::Error)]
pub enum NotMerged {
    /// Both sides changed these.
    #[error("both sides changed {}", shown_all(conflicts))]
    Conflict {
        /// All of them, by path.
        conflicts: Vec<Conflict>,
    },
    /// A content cannot be read or written.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The result cannot be stored.
    #[error("the store cannot be written: {0}")]
    Store(#[from] std::io::Error),
    /// The result is no list.
    #[error(transparent)]
    List(#[from] ListError),
}

fn shown_all(conflicts: &[Conflict]) -> String {
    conflicts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The tree `ours` with the changes from `base` to `theirs`. If both changed the same lines, `prefer` decides, or it is a conflict. If one
/// side has a folder and the other a file or a link, the preferred side is taken with everything below that path.
///
/// # Errors
/// See [`NotMerged`]. All conflicts are named.
pub fn merge(
    order: &Order,
    base: &Tree,
    ours: &Tree,
    theirs: &Tree,
    prefer: Option<Side>,
) -> Result<Merged, NotMerged> {
    order.contents.create()?;
    let shelf = order.contents.shelf()?;
    let mut intake = Intake::new(&shelf);
    let mut entries = by_path(ours);
    let mut conflicts = BTreeMap::new();
    // If the base is not known at a path, the other side's entry is new.
    let base = known(base)?;
    for difference in differences(&base, theirs) {
        let path = difference.path();
        let stands = ours.get(path);
        // A folder that cannot be listed stays as it is.
        if stands == difference.after || difference.after.is_some_and(Entry::is_unlisted) {
            continue;
        }
        if ours.hides(path) || stands.is_some_and(Entry::is_unlisted) {
            conflicts.insert(path.to_vec(), Why::Unlisted);
            continue;
        }
        let decided = if matches!(difference.after, Some(Entry { what: What::LeftOut { .. }, .. })) {
            Err(Why::NotKept)
        } else if stands == difference.before {
            Ok(difference.after.cloned())
        } else {
            of_file(&difference, stands, prefer, &shelf, &mut intake)?.ok_or(Why::Changed)
        };
        let comes = decided.unwrap_or_else(|why| {
            conflicts.insert(path.to_vec(), why);
            // The entry of one side may itself be in the way of the other.
            stands.or(difference.after).cloned()
        });
        match comes {
            Some(entry) => entries.insert(path.to_vec(), entry),
            None => entries.remove(path),
        };
    }
    drop_filled(&mut entries);
    for path in clash::clashes(&entries) {
        match prefer {
            Some(side) => clash::take_whole(&path, side, [ours, theirs], &mut entries, &mut conflicts),
            None => {
                let is_link = |entry: &Entry| matches!(entry.what, What::Link { .. });
                let with_link = entries.get(&path).is_some_and(is_link);
                conflicts.retain(|other, why| !why.is_decided_by_a_side() || !clash::is_within(other, &path));
                conflicts.insert(path, Why::Clash { with_link });
            }
        }
    }
    if !conflicts.is_empty() {
        let conflicts = conflicts.into_iter().map(|(path, why)| Conflict { path, why }).collect();
        return Err(NotMerged::Conflict { conflicts });
    }
    let tree = Tree::new(entries.into_values().collect())?;
    let digest = intake.take(&tree.encode())?;
    intake.finish()?;
    Ok(Merged { digest, tree })
}

/// A list without the folders that could not be listed.
fn known(tree: &Tree) -> Result<Tree, ListError> {
    let entries = tree.entries().iter().filter(|entry| !entry.is_unlisted());
    Tree::new(entries.cloned().collect())
}

/// A path that both sides changed. The outer `None` is a conflict.
fn of_file(
    difference: &Difference<'_>,
    stands: Option<&Entry>,
    prefer: Option<Side>,
    shelf: &Shelf,
    intake: &mut Intake<'_>,
) -> Result<Option<Option<Entry>>, NotMerged> {
    let whole = |side: Side| match side {
        Side::Ours => stands.cloned(),
        Side::Theirs => difference.after.cloned(),
    };
    let (Some(ours), Some(theirs)) = (stands, difference.after) else { return Ok(prefer.map(whole)) };
    let (What::File { digest: one, .. }, What::File { digest: other, .. }) = (ours.what, theirs.what) else {
        return Ok(prefer.map(whole));
    };
    // Two new files of one name have an empty text in common.
    let (base, mode) = match difference.before {
        Some(Entry { what: What::File { digest, .. }, mode, .. }) => (shelf.read(digest)?, Some(*mode)),
        Some(_) => return Ok(prefer.map(whole)),
        None => (Vec::new(), None),
    };
    let Some(text) = merge::merged(&base, &shelf.read(&one)?, &shelf.read(&other)?, prefer) else {
        return Ok(prefer.map(whole));
    };
    let size = u64::try_from(text.len()).unwrap_or(u64::MAX);
    let mode = if mode == Some(theirs.mode) { ours.mode } else { theirs.mode };
    let digest = intake.take(&text)?;
    Ok(Some(Some(Entry { mode, what: What::File { digest, size }, ..ours.clone() })))
}

/// The tree `stands` with the changes from `from` to `to`, and the paths that are neither as in the one nor as in the other: they stay.
pub(crate) fn overlay(stands: &Tree, from: &Tree, to: &Tree) -> Result<(Tree, Vec<Vec<u8>>), NotRestored> {
    let mut entries = by_path(stands);
    let mut newer = Vec::new();
    for difference in differences(from, to) {
        let path = difference.path();
        let sides = [difference.before, difference.after, stands.get(path)];
        if sides.into_iter().flatten().any(Entry::is_unlisted) || stands.hides(path) {
            newer.push(path.to_vec());
            continue;
        }
        // A change takes such a folder away before any file comes: an earlier try may have ended in between.
        let is_left = !entries.contains_key(path)
            && difference.before.is_some_and(|entry| entry.what == What::EmptyFolder)
            && !has_below(&entries, path);
        match (entries.get(path), difference.after) {
            (stands, after) if stands == after => {}
            (_, Some(after)) if is_left => drop(entries.insert(path.to_vec(), after.clone())),
            (stands, _) if stands != difference.before => newer.push(path.to_vec()),
            (_, Some(after)) => drop(entries.insert(path.to_vec(), after.clone())),
            (_, None) => drop(entries.remove(path)),
        }
        if difference.after.is_none() {
            // An earlier try may have ended between a folder's last file and the folder.
            for above in ancestors(path) {
                let is_left = entries.get(above).is_some_and(|entry| entry.what == What::EmptyFolder);
                if is_left && from.get(above).is_none() && to.get(above).is_none() {
                    entries.remove(above);
                }
            }
        }
    }
    drop_filled(&mut entries);
    let tree = Tree::new(entries.into_values().collect());
    tree.map(|tree| (tree, newer)).map_err(|error| NotRestored::InTheWay { paths: vec![error.to_string()] })
}

/// A folder that was empty and has something in it now is no entry of its own.
fn drop_filled(entries: &mut Entries) {
    let is_filled =
        |(path, entry): &(&Vec<u8>, &Entry)| entry.what == What::EmptyFolder && has_below(entries, path);
    let filled: Vec<Vec<u8>> = entries.iter().filter(is_filled).map(|(path, _)| path.clone()).collect();
    filled.iter().for_each(|path| drop(entries.remove(path)));
}

fn by_path(tree: &Tree) -> Entries {
    tree.entries().iter().map(|entry| (entry.path.clone(), entry.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path that ends with `/` is an empty folder.
    fn tree(paths: &[&str]) -> Tree {
        let entry = |path: &&str| match path.strip_suffix('/') {
            Some(path) => Entry { path: path.into(), mode: 0o755, what: What::EmptyFolder },
            None => {
                let what = What::File { digest: Digest::of(path.as_bytes()), size: 1 };
                Entry { path: (*path).into(), mode: 0o644, what }
            }
        };
        Tree::new(paths.iter().map(entry).collect()).unwrap()
    }

    #[test]
    fn a_change_that_stopped_between_a_folder_and_its_file_is_done_again() {
        let without = tree(&["a"]);
        let with = tree(&["a", "n/1/f"]);
        for (stands, from, to, expected) in [
            (&["a", "n/1/"][..], &without, &with, &with),
            (&["a", "n/"], &without, &with, &with),
            (&["a", "n/1/"], &with, &without, &without),
            (&["a", "n/"], &with, &without, &without),
            (&["a"], &with, &without, &without),
            (&["a"], &tree(&["a", "n/"]), &tree(&["a", "n"]), &tree(&["a", "n"])),
        ] {
            let (tree, newer) = overlay(&tree(stands), from, to).unwrap();
            assert_eq!((&tree, newer.len()), (expected, 0), "{stands:?}");
        }
        let (kept, _) = overlay(&tree(&["a", "mine/"]), &without, &with).unwrap();
        assert_eq!(kept, tree(&["a", "mine/", "n/1/f"]));
        let of_a_person = tree(&["a", "n/mine"]);
        let (kept, newer) = overlay(&of_a_person, &tree(&["a", "n/"]), &tree(&["a", "n"])).unwrap();
        assert_eq!((kept, newer), (of_a_person, vec![b"n".to_vec()]));
    }
}
