//! Files that a folder still has, and that its later snapshot does not name, because they came to be ignored in between.
//!
//! A person who adds `build/` to a `.gitignore` has not deleted `build`. A comparison of two snapshots alone would show
//! a deletion.

use super::rules::Rules;
use crate::{
    disk::contents::{ContentError, Shelf},
    look::walk,
    model::list::{Entry, LeftOut, Tree, What, ancestors},
};
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

/// The place to look for files that a snapshot does not name.
#[derive(Debug, Clone, Copy)]
pub enum Later<'f> {
    /// The folder of which the snapshot was taken just now: a file that is there was not deleted.
    Folder(&'f Path),
    /// The folder is gone, or has changed since. A file counts as not deleted if the ignore files of the later snapshot name it, and those of
    /// the earlier one do not.
    Snapshot,
}

/// The later snapshot with the files that it does not name any more but that were not deleted, as they were in the earlier one. Their
/// present contents are not known.
///
/// # Errors
/// An ignore file of a snapshot cannot be read.
pub fn with_ignored(
    shelf: &Shelf,
    before: &Tree,
    after: &Tree,
    later: Later<'_>,
) -> Result<(Tree, Vec<PathBuf>), ContentError> {
    // An entry of the later snapshot is there, or above, or below: then the path was changed.
    let is_free = |path: &[u8]| {
        let is_in_the_way =
            |entry: Option<&Entry>| entry.is_some_and(|entry| !matches!(entry.what, What::EmptyFolder));
        after.get(path).is_none()
            && !after.has_below(path)
            && !ancestors(path).any(|folder| is_in_the_way(after.get(folder)))
    };
    let gone: Vec<&Entry> = before.entries().iter().filter(|entry| is_free(&entry.path)).collect();
    let stay: Vec<&Entry> = match later {
        _ if gone.is_empty() => Vec::new(),
        Later::Folder(folder) => gone.into_iter().filter(|entry| stands(folder, entry)).collect(),
        Later::Snapshot => {
            let (old, new) = (Rules::of(before, shelf)?, Rules::of(after, shelf)?);
            gone.into_iter().filter(|entry| new.ignore(&entry.path) && !old.ignore(&entry.path)).collect()
        }
    };
    if stay.is_empty() {
        return Ok((after.clone(), Vec::new()));
    }
    // A folder that has only ignored files is an empty one to the snapshot.
    let filled: BTreeSet<&[u8]> = stay.iter().flat_map(|entry| ancestors(&entry.path)).collect();
    let named = after.entries().iter().filter(|entry| !filled.contains(entry.path.as_slice()));
    let tree = Tree::new(named.chain(stay.iter().copied()).cloned().collect());
    let paths = stay.iter().map(|entry| walk::full(Path::new(""), &entry.path)).collect();
    let refused =
        |error| ContentError::Io { place: "the list of the files".into(), source: io::Error::other(error) };
    tree.map(|tree| (tree, paths)).map_err(refused)
}

/// Whether something of the kind of this entry is there.
fn stands(folder: &Path, entry: &Entry) -> bool {
    // Through no link: its target is another file.
    let mut above = ancestors(&entry.path);
    let is_folder =
        |path: &[u8]| fs::symlink_metadata(walk::full(folder, path)).is_ok_and(|found| found.is_dir());
    above.all(is_folder)
        && fs::symlink_metadata(walk::full(folder, &entry.path)).is_ok_and(|found| match entry.what {
            What::Link { .. } => found.is_symlink(),
            What::EmptyFolder | What::LeftOut { why: LeftOut::Unlisted, .. } => found.is_dir(),
            What::File { .. } | What::LeftOut { .. } => found.is_file(),
        })
}
