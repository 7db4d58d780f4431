//! The tree in which one item of a step works: a copy of the run's tree as it was when the item began.
//!
//! Owns how it is made and how it goes. It lies beside the run's tree, and in git it is a worktree with a branch of its own. The engine makes
//! it before anything is started in it; one that was half made is made again. It goes only if nothing is lost with it.

use super::{
    copies::bring,
    git::{Git, Repository},
    going::{history_lost_with, in_the_way, remove_all},
};
use crate::model::runner::Job;
use envoi_contract::digest::Digest;
use envoi_journal::Layout;
use envoi_kernel::{
    event::Isolated,
    ids::{RunId, VisitId},
};
use envoi_tree::{Stop, What};
use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

/// The end of the name of a tree that is being removed.
const REMOVED: &str = ".removed";

/// The folder with the trees of the items of all runs that work in the tree at `place`.
pub(crate) fn folder(place: &Path) -> PathBuf {
    with_end(place, ".items")
}

/// The trees of items that are there. Those that a removal has begun with are not among them.
pub(crate) fn left(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder(place)).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut left: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_none_or(|end| end != &REMOVED[1..])).collect();
    left.sort();
    left
}

/// The root of the tree of an item. A fork works in the tree of its run, so that the name has the run too.
pub(super) fn place(isolated: &Isolated, run: &RunId, item: &VisitId) -> PathBuf {
    folder(Path::new(&isolated.place)).join(format!("{run}.{item}"))
}

/// The branch of the tree at this place.
fn branch(place: &Path) -> String {
    format!("envoi/{}", place.file_name().unwrap_or_default().to_string_lossy())
}

/// Why an item has no tree to work in.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoTree {
    #[error("the run has no tree of its own")]
    NotIsolated,
    /// Something may have worked in it.
    #[error("the tree of the item is gone: `{}`", .0.display())]
    Gone(PathBuf),
    #[error("the tree of the item cannot be made: `{}`: {why}", .place.display())]
    NotMade { place: PathBuf, why: Box<dyn core::error::Error + Send + Sync> },
}

/// Where the commands of an item work. The tree is made if it is not there.
///
/// # Errors
/// See [`NoTree`].
pub(super) fn ensure(layout: &Layout, job: &Job, item: &VisitId) -> Result<PathBuf, NoTree> {
    let Some(isolated) = job.isolated.as_deref() else {
        return Err(NoTree::NotIsolated);
    };
    let root = Path::new(&isolated.place);
    let place = place(isolated, &job.run, item);
    let inside = place.join(job.workspace.strip_prefix(root).unwrap_or(Path::new("")));
    let not_made = |place: &Path, why| NoTree::NotMade { place: place.to_owned(), why };
    let made = made(layout, &job.run, item);
    if made.exists() {
        return match inside.is_dir() {
            true => Ok(inside),
            false => Err(NoTree::Gone(place)),
        };
    }
    // What an engine that went away has half made: nothing was started in it.
    remove(isolated, &place, layout.root()).map_err(|error| not_made(&place, error.into()))?;
    let create = |folder: &Path| fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    create(&place).map_err(|error| not_made(&place, error.into()))?;
    if isolated.branch.is_some() {
        let of = Repository { top: root.to_owned(), head: None };
        Git::new(&Stop::default())
            .add_worktree(&of, &place, &branch(&place), &format!("envoi {}", job.run), false)
            .map_err(|error| not_made(&place, error.into()))?;
    }
    bring(root, &place, Path::new("")).map_err(|error| not_made(&place, error.into()))?;
    if isolated.branch.is_some() {
        Git::new(&Stop::default()).refresh(&place);
    }
    let mark = || -> io::Result<()> {
        // Its files last before anything is started in it.
        envoi_durable::sync_file_system(&place)?;
        made.parent().map(envoi_durable::create_folders).transpose()?;
        envoi_durable::replace(&made, b"")
    };
    mark().map_err(|error| not_made(&made, error.into()))?;
    Ok(inside)
}

/// Stands where the tree of an item was made.
fn made(layout: &Layout, run: &RunId, item: &VisitId) -> PathBuf {
    layout.run(run).join("items").join(item.to_string())
}

/// Takes away the tree of an item whose files are in the run's tree. Says why it stays.
pub(super) fn take_away(
    isolated: &Isolated,
    place: &Path,
    order: &envoi_tree::Order,
    left: &[Digest],
    below: &Path,
    store: &Path,
) -> Option<String> {
    let lost = |folder: &Path| lost_with(isolated, folder, order, left, below);
    if !with_end(place, REMOVED).is_dir() {
        if !place.is_dir() {
            return None;
        }
        if let Some(why) = lost(place) {
            return Some(format!("`{}` stays: {why}", place.display()));
        }
    }
    let removed = remove_unless(isolated, place, store, lost);
    removed.err().map(|error| format!("`{}` stays: {error}", place.display()))
}

/// What would be lost with the tree of an item that has left one of these snapshots.
fn lost_with(
    isolated: &Isolated,
    place: &Path,
    order: &envoi_tree::Order,
    left: &[Digest],
    below: &Path,
) -> Option<String> {
    if let Some(why) = history_lost_with(place, isolated.branch.is_some()) {
        return Some(why);
    }
    let is_kept = envoi_tree::keep(&place.join(below), order).is_ok_and(|now| {
        let is_left_out = |entry: &envoi_tree::Entry| matches!(entry.what, What::LeftOut { .. });
        left.contains(&now.digest) && !now.tree.entries().iter().any(is_left_out)
    });
    (!is_kept).then(|| "no snapshot has all of its files".to_owned())
}

/// Takes a tree away, with what git knows of it. A branch with commits of its own stays. `store`: the folder of the store of its run.
///
/// # Errors
/// The machine failed, or the tree stays as it was: another store's run works in it, or something is mounted there.
fn remove(isolated: &Isolated, place: &Path, store: &Path) -> io::Result<()> {
    remove_unless(isolated, place, store, |_| None)
}

/// As [`remove`]. The tree stays also if `lost` says what would be lost with it.
fn remove_unless(
    isolated: &Isolated,
    place: &Path,
    store: &Path,
    lost: impl FnOnce(&Path) -> Option<String>,
) -> io::Result<()> {
    let aside = with_end(place, REMOVED);
    let is_begun = fs::symlink_metadata(&aside).is_ok();
    if !is_begun {
        match fs::rename(place, &aside) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            done => done?,
        }
    }
    // No process finds it by its name any more. One that opened it just before has not seen the new one.
    let lost = || if is_begun { None } else { lost(&aside) };
    if aside.is_dir()
        && let Some(why) = in_the_way(&aside, store).or_else(lost)
    {
        if !is_begun {
            fs::rename(&aside, place)?;
        }
        return Err(io::Error::other(why));
    }
    let root = Path::new(&isolated.place);
    let of = if root.is_dir() { root } else { Path::new(&isolated.of) };
    if isolated.branch.is_some() && of.is_dir() {
        Git::new(&Stop::default()).forget_item(of, place, &branch(place));
    }
    match remove_all(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Takes away the trees of all items that worked beside the tree at `isolated.place`.
pub(crate) fn remove_every(isolated: &Isolated, store: &Path) -> io::Result<()> {
    let all = folder(Path::new(&isolated.place));
    let entries = match fs::read_dir(&all) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        remove(isolated, &all.join(name.strip_suffix(REMOVED).unwrap_or(&name)), store)?;
    }
    fs::remove_dir(&all)
}

fn with_end(place: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(place);
    name.push(end);
    PathBuf::from(name)
}
