//! Files in conflict that a person edits: their folder, and how the edited files come into a merge.
//!
//! The folder is in that of the attempt that found the conflict. It is there only if every file in conflict can be settled in this way.

use super::merge_error::MergeError;
use envoi_kernel::flow::EditedFile;
use envoi_tree::{
    Comes, Conflict, Entry, InConflict, NotRestored, Order, Shelf, Tree, What, Why, lay_conflicts,
};
use std::{collections::BTreeMap, path::Path};

/// The most files: each comes as an attachment of the answer.
const MOST_FILES: usize = envoi_contract::user_envelope::MAX_ATTACHMENTS;

/// The changes of one item, and its files that are in conflict.
pub(super) struct Changes<'t> {
    pub(super) item: u64,
    pub(super) base: &'t Tree,
    pub(super) theirs: &'t Tree,
    pub(super) conflicts: &'t [Conflict],
}

/// Lays the files in conflict into this new folder. Says whether they can be edited: if not, there is no folder.
///
/// # Errors
/// The folder cannot be written, or a content cannot be read.
pub(super) fn lay(
    folder: &Path,
    order: &Order,
    stands: &Tree,
    conflicts: &[Changes<'_>],
) -> Result<bool, NotRestored> {
    let Some(files) = files(stands, conflicts) else { return Ok(false) };
    lay_conflicts(folder, order, &files)?;
    Ok(true)
}

/// `None`: not all of them can be edited.
fn files<'t>(stands: &'t Tree, conflicts: &[Changes<'t>]) -> Option<Vec<InConflict<'t>>> {
    let mut files: BTreeMap<&[u8], InConflict<'t>> = BTreeMap::new();
    for Changes { item, base, theirs, conflicts } in conflicts {
        let changed = envoi_tree::differences(base, theirs);
        for Conflict { path, why } in *conflicts {
            // The answer names its files in UTF-8.
            if *why != Why::Changed || core::str::from_utf8(path).is_err() {
                return None;
            }
            let difference = changed.iter().find(|difference| difference.path() == path)?;
            let path = difference.path();
            let ours = stands.get(path);
            let is_kept = |entry: &Entry| !matches!(entry.what, What::LeftOut { .. } | What::EmptyFolder);
            if ![difference.before, ours, difference.after].into_iter().flatten().all(is_kept) {
                return None;
            }
            let file = files.entry(path).or_insert_with(|| InConflict { path, ours, theirs: Vec::new() });
            let name = format!("item {item}");
            file.theirs.push(Comes { name, base: difference.before, theirs: difference.after });
        }
    }
    let is_below = |path: &&[u8]| path.contains(&b'/') && files.keys().any(|above| is_above(above, path));
    let fits = (1..=MOST_FILES).contains(&files.len()) && !files.keys().any(is_below);
    fits.then(|| files.into_values().collect())
}

fn is_above(above: &[u8], path: &[u8]) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.first() == Some(&b'/'))
}

/// The new entry of these files in every list of the merge, by path.
pub(super) type Edited<'f> = Vec<(&'f str, Option<Entry>)>;

/// The new entries of the files that a person has edited. A file is left out if the run's tree differs there from what the person saw.
///
/// # Errors
/// A content cannot be read.
pub(super) fn edited<'f>(
    shelf: &Shelf,
    stands: &Tree,
    theirs: &[&Tree],
    files: &'f [EditedFile],
) -> Result<Edited<'f>, MergeError> {
    let digest = |entry: Option<&Entry>| entry.and_then(Entry::content).map(|(digest, _)| digest);
    let mut edited = Vec::new();
    for file in files {
        let path = file.path.as_bytes();
        let there = digest(stands.get(path));
        // After a merge that was killed it may be there already.
        if there != file.instead_of && there != file.content {
            continue;
        }
        let entry = match file.content {
            None => None,
            Some(digest) => {
                let unread = |source| MergeError::Edited { path: file.path.clone(), source };
                let content = shelf.read(&digest).map_err(unread)?;
                let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
                let all = [stands].into_iter().chain(theirs.iter().copied());
                let is_file = |entry: &&Entry| matches!(entry.what, What::File { .. });
                let mode =
                    all.filter_map(|tree| tree.get(path)).find(is_file).map_or(0o644, |file| file.mode);
                Some(Entry { path: path.to_vec(), mode, what: What::File { digest, size } })
            }
        };
        edited.push((file.path.as_str(), entry));
    }
    Ok(edited)
}

/// The list with these files in it.
///
/// # Errors
/// They do not fit into one list.
pub(super) fn with(tree: &Tree, edited: &Edited<'_>) -> Result<Tree, MergeError> {
    let stays = |entry: &&Entry| !edited.iter().any(|(path, _)| path.as_bytes() == entry.path);
    let others = tree.entries().iter().filter(stays).cloned();
    let comes = edited.iter().filter_map(|(_, entry)| entry.clone());
    Ok(Tree::new(others.chain(comes).collect())?)
}
