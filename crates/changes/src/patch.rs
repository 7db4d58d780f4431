//! What a run has changed, as a patch of git.
//!
//! It is made of what the run began with and of its last snapshot; the folder, its index and what is checked out are only read. The files of
//! both that differ are laid beside each other, and git compares them.

use crate::{
    comparison::tree_of,
    error::ChangesError,
    git::{self, At},
    states::{self, Point},
};
use envoi_engine::snapshots;
use envoi_kernel::{Record, event::RunStarted};
use envoi_tree::{Entry, Later, Order, Stop, Tree, What, differences, git::check_readable};
use std::path::Path;

/// Where a patch is to fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fits {
    /// A checkout: its paths begin at the top of the repository, as `git apply` wants them from wherever it is called. Files that the run
    /// has begun to ignore are not deleted.
    Checkout,
    /// The workspace. Files that the run has begun to ignore are gone: in a commit they are no longer tracked.
    Workspace,
}

/// A patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// As git writes it; empty if no file was changed.
    pub bytes: Vec<u8>,
    /// How many files it changes.
    pub files: u64,
    /// Files whose content is not kept: they are not in it.
    pub left: Vec<Vec<u8>>,
}

impl Patch {
    /// The patch of a run, made in a folder of its own `within` this one, which is gone afterwards. If what differs has more than `most_bytes`
    /// on both sides together, there is none. The order's `stop` ends the git that compares them.
    ///
    /// # Errors
    /// The files were not kept, they are too many bytes, or git fails.
    pub fn of(
        records: &[Record],
        started: &RunStarted,
        order: &Order,
        within: &Path,
        fits: Fits,
        most_bytes: u64,
    ) -> Result<Self, ChangesError> {
        let (before, mut after) = ends(records, started, order)?;
        // A patch would delete them in the folder.
        if fits == Fits::Checkout {
            let shelf = order.contents.shelf()?;
            (after, _) = envoi_tree::with_ignored(&shelf, &before, &after, Later::Snapshot)?;
        }
        // Git knows no empty folder.
        let before = without_folders(&before)?;
        let after = without_folders(&after)?;
        let found = differences(&before, &after);
        let sides = || found.iter().flat_map(|found| [found.before, found.after]).flatten();
        let bytes =
            sides().filter_map(Entry::content).fold(0, |sum: u64, (_, size)| sum.saturating_add(size));
        if bytes > most_bytes {
            return Err(ChangesError::TooLarge { bytes, most: most_bytes });
        }
        // The name says whose it is: what a killed process has left is removed.
        let prefix = format!(".new-{}-patch-", std::process::id());
        let made_in = tempfile::Builder::new().prefix(&prefix).tempdir_in(within)?;
        let scratch = made_in.path();
        let below = match fits {
            Fits::Checkout => below_top(started, &scratch.join("index"), &order.stop),
            Fits::Workspace => String::new(),
        };
        let side = |name: &str| scratch.join(name).join(&below);
        let mut left = lay(&side("a"), order, found.iter().filter_map(|found| found.before))?;
        left.extend(lay(&side("b"), order, found.iter().filter_map(|found| found.after))?);
        let bytes = git::difference(scratch, ["a", "b"], &order.stop)?;
        Ok(Self { bytes, files: u64::try_from(found.len()).unwrap_or(u64::MAX), left })
    }
}

/// What the run began with, and its last snapshot.
fn ends(records: &[Record], started: &RunStarted, order: &Order) -> Result<(Tree, Tree), ChangesError> {
    let (start, end) = states::range(&snapshots::taken(records), None)?;
    let shelf = order.contents.shelf()?;
    let digest = |point: Point| match point {
        Point::Kept { snapshot, .. } => Ok(snapshot.digest),
        Point::Now => Err(ChangesError::store("a run has no last snapshot")),
    };
    let base = match started.isolated.as_deref() {
        Some(isolated) => isolated.base,
        None => digest(start)?,
    };
    Ok((tree_of(&shelf, &base)?, tree_of(&shelf, &digest(end)?)?))
}

/// Where the workspace is in the checkout of a git repository: empty at its top, and where it is in none.
fn below_top(started: &RunStarted, index: &Path, stop: &Stop) -> String {
    let folder = started.isolated.as_deref().map_or(started.workspace.as_str(), |isolated| &isolated.of);
    let prefix = prefix(Path::new(folder), index, stop);
    // The folder is gone, or git does not answer there: the tree is like it.
    let in_tree = || {
        let place = &started.isolated.as_deref()?.place;
        Path::new(&started.workspace).strip_prefix(place).ok()?.to_str().map(str::to_owned)
    };
    prefix.or_else(in_tree).unwrap_or_default()
}

/// As git says it. Where git would wait for a pipe, the folder with the repository says it.
fn prefix(folder: &Path, index: &Path, stop: &Stop) -> Option<String> {
    let top = folder.ancestors().find(|above| std::fs::symlink_metadata(above.join(".git")).is_ok());
    match top.filter(|top| check_readable(top).is_err()) {
        Some(top) => folder.strip_prefix(top).ok()?.to_str().map(str::to_owned),
        None => At { folder, index }.run_until(stop, &["rev-parse", "--show-prefix"]).ok(),
    }
}

fn without_folders(tree: &Tree) -> Result<Tree, ChangesError> {
    let files = tree.entries().iter().filter(|entry| !matches!(entry.what, What::EmptyFolder));
    Ok(Tree::new(files.cloned().collect())?)
}

/// Lays these files down, and returns those whose content is not kept.
fn lay<'a>(
    folder: &Path,
    order: &Order,
    entries: impl Iterator<Item = &'a Entry>,
) -> Result<Vec<Vec<u8>>, ChangesError> {
    let tree = Tree::new(entries.cloned().collect())?;
    let written = envoi_tree::write_into(folder, order, &tree);
    Ok(written.map_err(|error| ChangesError::NotLaid(error.to_string()))?.left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs,
        process::Command,
        sync::atomic::{AtomicUsize, Ordering},
    };

    #[test]
    fn git_is_not_asked_where_it_would_wait_for_a_pipe() {
        let place = tempfile::tempdir().unwrap();
        let done = |command: &mut Command| assert!(command.status().unwrap().success(), "{command:?}");
        done(Command::new("git").args(["init", "-q"]).current_dir(place.path()));
        let folder = place.path().join("below/it");
        fs::create_dir_all(&folder).unwrap();
        // A git that waits would wait for ever: it is given up when it was looked at a few times.
        let looks = AtomicUsize::new(0);
        let stop = Stop::when(move || looks.fetch_add(1, Ordering::Relaxed) > 100);
        let index = place.path().join("index");
        assert_eq!(prefix(&folder, &index, &stop).as_deref(), Some("below/it/"));
        fs::remove_file(place.path().join(".git/config")).unwrap();
        done(Command::new("mkfifo").arg(place.path().join(".git/config")));
        assert_eq!(prefix(&folder, &index, &stop).as_deref(), Some("below/it"));
    }
}
