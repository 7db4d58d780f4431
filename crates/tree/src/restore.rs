//! The way back: a folder gets the files of a snapshot, and nothing of its files is lost.
//!
//! A restore never overwrites. First all new files are written beside the folder. Then each new file changes places with the old one, in
//! one step of the file system, and the old one lies aside. Late writes to it are found there and go into the store. A restore that was
//! killed is done again from its beginning, with the same end.

mod aside;
mod back;
mod bring;
mod clash;
mod conflict;
mod folders;
mod ignored;
mod marked;
mod place;
mod plan;
mod reach;
mod rules;

pub use aside::Late;
pub use bring::{Merged, NotMerged, merge};
pub use conflict::{Comes, InConflict, has_markers, lay_conflicts};
pub use folders::{OtherFolder, keep_folders, read_folders};
pub use ignored::{Later, with_ignored};
pub use marked::{Marked, merge_marked};

use crate::{
    disk::{contents::ContentError, intake::Intake},
    keep::{self, Kept, NotKept, Order},
    model::{
        folders::Folders,
        list::{Entry, Tree, What},
    },
};
use plan::Plan;
use rules::Rules;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Why a folder was not restored.
#[derive(Debug, thiserror::Error)]
pub enum NotRestored {
    /// The present files cannot be kept first. Nothing was touched.
    #[error("what stands there now cannot be kept, so nothing is changed: {0}")]
    NotKept(#[from] NotKept),
    /// A content of the snapshot cannot be read. Nothing was touched.
    #[error("the snapshot cannot be read: {0}")]
    Content(#[from] ContentError),
    /// Something is in the way that a restore does not move. Nothing was touched.
    #[error("{} in the way: {}", if paths.len() == 1 { "this is" } else { "these are" }, paths.join(", "))]
    InTheWay {
        /// The paths, each with the reason.
        paths: Vec<String>,
    },
    /// These were changed while they were to be replaced, or may not be replaced. They are as they were.
    #[error("changed meanwhile, or not kept: {}", paths.join(", "))]
    Changed {
        /// The paths.
        paths: Vec<String>,
    },
    /// There is no room for what is to come, or it cannot be written. Nothing was touched.
    #[error("nothing was changed: `{}`: {source}", path.display())]
    NotStaged {
        /// The path.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// It stopped in the middle. Everything is there, in the folder or aside; the same restore, done again, ends it.
    #[error("the restore is not complete; nothing is lost, and doing it again completes it: `{}`: {source}", path.display())]
    Incomplete {
        /// The path.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

/// The state of a folder before it is restored. Durable.
#[derive(Debug, Clone)]
pub struct Stood {
    /// The snapshot to go back to.
    pub kept: Kept,
    /// The files that an earlier restore had laid aside and the store did not have. They are in the store now.
    pub found: Vec<Late>,
    /// The folders that go, if nothing is in them then but what is known. They are not in the store: see [`keep_folders`].
    pub folders: Folders,
}

/// The result of a restore.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// The late writes to displaced files while the restore went on. They are in the store.
    pub late: Vec<Late>,
    /// Paths that are as they were, because the snapshot does not have their content or the file is too large to be kept.
    pub left: Vec<Vec<u8>>,
    /// Paths that were changed since they were looked at. They are left as they are.
    pub newer: Vec<Vec<u8>>,
    /// Folders that were to come back as they were, and did not.
    pub folders: Vec<OtherFolder>,
    /// How many files were written, and how many taken away.
    pub changed: (usize, usize),
}

/// Keeps the files of `folder`, and those that `target` would displace although no snapshot has them: the first step of a
/// restore.
///
/// # Errors
/// [`NotRestored::NotKept`], [`NotRestored::InTheWay`], [`NotRestored::NotStaged`].
pub fn stand(folder: &Path, order: &Order, target: &Tree) -> Result<Stood, NotRestored> {
    stand_by(folder, order, target, || {
        let shelf = order.contents.shelf().map_err(|source| staged(&order.contents.packs, source))?;
        Ok(Rules::in_folder(folder, order, target, &shelf)?)
    })
}

/// As [`stand`], before a [`change`]: that takes away also what `target` ignores.
///
/// # Errors
/// As [`stand`].
pub fn stand_to_change(folder: &Path, order: &Order, target: &Tree) -> Result<Stood, NotRestored> {
    stand_by(folder, order, target, || Ok(Rules::default()))
}

fn stand_by(
    folder: &Path,
    order: &Order,
    target: &Tree,
    rules: impl FnOnce() -> Result<Rules, NotRestored>,
) -> Result<Stood, NotRestored> {
    refuse_link(folder)?;
    let place = aside::place(folder, order)?;
    back::put_back(folder, &place).map_err(|source| staged(&place, source))?;
    let found = aside::sweep(&place, order).map_err(|source| staged(&place, source))?;
    let kept = keep::keep_with(folder, order, Some(target))?;
    let plan = Plan::new(folder, &place, &kept.tree, target, &rules()?)?;
    let folders = folders::that_go(folder, &plan);
    Ok(Stood { kept, found, folders })
}

/// Gives `folder` the files of `target`. The present files are kept again first: it may have changed since
/// [`stand`].
///
/// # Errors
/// See [`NotRestored`].
pub fn restore(folder: &Path, order: &Order, target: &Tree) -> Result<Restored, NotRestored> {
    restore_back(folder, order, target, &Folders::NONE)
}

/// As [`restore`], to take back a change that took these folders away: those that are not there are made again, and get their modes.
///
/// # Errors
/// See [`NotRestored`].
pub fn restore_back(
    folder: &Path,
    order: &Order,
    target: &Tree,
    back: &Folders,
) -> Result<Restored, NotRestored> {
    let shelf = order.contents.shelf().map_err(|source| staged(&order.contents.packs, source))?;
    for entry in target.entries() {
        // Before anything is laid aside: a snapshot that is not whole is not begun with.
        if let Some((digest, _)) = entry.content().filter(|(digest, _)| !shelf.has(digest)) {
            return Err(ContentError::Missing { digest }.into());
        }
    }
    let Stood { kept, found, .. } = stand(folder, order, target)?;
    let rules = Rules::in_folder(folder, order, target, &shelf)?;
    let place = aside::place(folder, order)?;
    let plan = Plan::new(folder, &place, &kept.tree, target, &rules)?;
    let mut restored = place::carry_out(folder, &place, &shelf, &plan, back)?;
    let late = aside::look_through(&place, order).map_err(|source| incomplete(&place, source))?;
    restored.late = found.into_iter().chain(late).collect();
    Ok(restored)
}

/// Makes the changes from `from` to `to` in `folder`, and nothing else. The present files are kept first. Done again, it makes the changes
/// that the first try did not make.
///
/// # Errors
/// See [`NotRestored`].
pub fn change(folder: &Path, order: &Order, from: &Tree, to: &Tree) -> Result<Restored, NotRestored> {
    change_back(folder, order, from, to, &Folders::NONE)
}

/// As [`change`], to take back a change that took these folders away: those that are not there are made again, and get their modes.
///
/// # Errors
/// See [`NotRestored`].
pub fn change_back(
    folder: &Path,
    order: &Order,
    from: &Tree,
    to: &Tree,
    back: &Folders,
) -> Result<Restored, NotRestored> {
    end_half_done(folder, order)?;
    let now = keep::keep(folder, order)?;
    let (expected, _) = bring::overlay(&without_half_made(folder, &now.tree, back)?, from, to)?;
    let Stood { kept, found, .. } = stand_to_change(folder, order, &expected)?;
    let stands = without_half_made(folder, &kept.tree, back)?;
    let (target, newer) = bring::overlay(&stands, from, to)?;
    let shelf = order.contents.shelf().map_err(|source| staged(&order.contents.packs, source))?;
    let place = aside::place(folder, order)?;
    let plan = Plan::new(folder, &place, &stands, &target, &Rules::default())?;
    let mut restored = place::carry_out(folder, &place, &shelf, &plan, back)?;
    let late = aside::look_through(&place, order).map_err(|source| incomplete(&place, source))?;
    restored.late = found.into_iter().chain(late).collect();
    restored.newer = newer;
    Ok(restored)
}

/// See [`back`]. For what looks at the folder before [`stand_by`] does.
fn end_half_done(folder: &Path, order: &Order) -> Result<(), NotRestored> {
    refuse_link(folder)?;
    match aside::place_if_there(folder, order)? {
        Some(place) => back::put_back(folder, &place).map_err(|source| staged(&place, source)),
        None => Ok(()),
    }
}

/// A list without the empty folders that an earlier try had made and not completed: a person has not made them.
fn without_half_made(folder: &Path, stands: &Tree, back: &Folders) -> Result<Tree, NotRestored> {
    let is_half_made = |entry: &Entry| {
        entry.what == What::EmptyFolder
            && back.mode(&entry.path).is_some()
            && folders::is_half_made(folder, &entry.path)
    };
    let rest = stands.entries().iter().filter(|entry| !is_half_made(entry)).cloned().collect();
    Tree::new(rest).map_err(|error| NotRestored::InTheWay { paths: vec![error.to_string()] })
}

/// Gives `folder` these files, also ignored ones, and touches no other. The old files in their places are kept first; `announce` gets that
/// snapshot before anything is touched, unless all of them are there already. Done again, it does the rest of the first try. Late writes
/// to displaced files go into `late`, also if it fails, and not into the result.
///
/// # Errors
/// See [`NotRestored`]; with [`NotRestored::Changed`] files that were changed meanwhile stay as they are, and other files may have come.
pub fn lay_over(
    folder: &Path,
    order: &Order,
    files: &Tree,
    late: &mut Vec<Late>,
    announce: impl FnOnce(&Kept, &[Late]) -> io::Result<()>,
) -> Result<Restored, NotRestored> {
    end_half_done(folder, order)?;
    let now = keep::keep_with(folder, order, Some(files))?;
    let there = now.tree.entries().iter().filter(|entry| files.get(&entry.path).is_some()).cloned().collect();
    let from = Tree::new(there).map_err(|error| NotRestored::InTheWay { paths: vec![error.to_string()] })?;
    if from == *files {
        // Nothing comes, but what an earlier change has put aside may have been written to since.
        if let Some(place) = aside::place_if_there(folder, order)? {
            late.extend(aside::sweep(&place, order).map_err(|source| staged(&place, source))?);
        }
        return Ok(Restored::default());
    }
    let shelf = order.contents.shelf().map_err(|source| staged(&order.contents.packs, source))?;
    for (digest, _) in files.entries().iter().filter_map(Entry::content) {
        shelf.read(&digest)?;
    }
    refuse_link(folder)?;
    let place = aside::place(folder, order)?;
    late.extend(aside::sweep(&place, order).map_err(|source| staged(&place, source))?);
    let (expected, _) = bring::overlay(&now.tree, &from, files)?;
    let Stood { kept, found, .. } = stand_to_change(folder, order, &expected)?;
    late.extend(found);
    let (target, newer) = bring::overlay(&kept.tree, &from, files)?;
    if !newer.is_empty() {
        return Err(NotRestored::Changed { paths: shown(&newer) });
    }
    announce(&kept, late).map_err(|source| staged(folder, source))?;
    let plan = Plan::new(folder, &place, &kept.tree, &target, &Rules::default())?;
    let restored = place::carry_out(folder, &place, &shelf, &plan, &Folders::NONE)?;
    late.extend(aside::look_through(&place, order).map_err(|source| incomplete(&place, source))?);
    match restored.left.is_empty() {
        true => Ok(restored),
        false => Err(NotRestored::Changed { paths: shown(&restored.left) }),
    }
}

fn shown(paths: &[Vec<u8>]) -> Vec<String> {
    paths.iter().map(|path| format!("`{}`", String::from_utf8_lossy(path))).collect()
}

/// The tree `stands` without the change from `from` to `to`: later changes stay. The list is in the store.
///
/// # Errors
/// See [`NotRestored`].
pub fn without(order: &Order, stands: &Tree, from: &Tree, to: &Tree) -> Result<Merged, NotRestored> {
    let (tree, _) = bring::overlay(stands, to, from)?;
    let stored = |tree: &Tree| {
        let shelf = order.contents.shelf()?;
        let mut intake = Intake::new(&shelf);
        let digest = intake.take(&tree.encode())?;
        intake.finish().map(|()| digest)
    };
    let digest = stored(&tree).map_err(|source| staged(&order.contents.packs, source))?;
    Ok(Merged { digest, tree })
}

/// Files that were written since a change from `from` to `to` began: they are as in neither of them.
#[must_use]
pub fn written_since(stands: &Tree, from: &Tree, to: &Tree) -> Vec<Late> {
    let is_other = |entry: &&Entry| [from, to].iter().all(|tree| tree.get(&entry.path) != Some(entry));
    let late = |entry: &Entry| {
        let (digest, size) = entry.content()?;
        Some(Late { path: entry.path.clone(), digest: Some(digest), size })
    };
    stands.entries().iter().filter(is_other).filter_map(late).collect()
}

/// Writes the files of `target` into a folder that is new or empty. Nothing is displaced.
///
/// # Errors
/// [`NotRestored::InTheWay`]: the folder has something in it. [`NotRestored::Content`], [`NotRestored::Incomplete`].
pub fn write_into(folder: &Path, order: &Order, target: &Tree) -> Result<Restored, NotRestored> {
    fs::create_dir_all(folder).map_err(|source| staged(folder, source))?;
    if fs::read_dir(folder).map_err(|source| staged(folder, source))?.next().is_some() {
        return Err(NotRestored::InTheWay { paths: vec![format!("`{}` is not empty", folder.display())] });
    }
    lay(folder, order, target)
}

/// Writes the files of `target` into a new folder in which none of them is. Existing files are not overwritten.
///
/// # Errors
/// [`NotRestored::Content`], [`NotRestored::Incomplete`].
pub fn lay(folder: &Path, order: &Order, target: &Tree) -> Result<Restored, NotRestored> {
    let shelf = order.contents.shelf().map_err(|source| staged(&order.contents.packs, source))?;
    place::write_new(folder, &shelf, target)
}

/// A link may have replaced the folder: it leads to another folder, whose files are not to be changed.
fn refuse_link(folder: &Path) -> Result<(), NotRestored> {
    // A path with a slash at its end is looked at behind a link.
    let plain: PathBuf = folder.components().collect();
    match fs::symlink_metadata(&plain).is_ok_and(|found| found.is_symlink()) {
        true => {
            let what = format!("`{}` is a link now, and what it leads to is left alone", plain.display());
            Err(NotRestored::InTheWay { paths: vec![what] })
        }
        false => Ok(()),
    }
}

fn staged(path: &Path, source: io::Error) -> NotRestored {
    NotRestored::NotStaged { path: path.to_owned(), source }
}

fn incomplete(path: &Path, source: io::Error) -> NotRestored {
    NotRestored::Incomplete { path: path.to_owned(), source }
}
