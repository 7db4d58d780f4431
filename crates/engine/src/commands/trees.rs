//! The trees of runs that are over: which of them can go, and their removal.
//!
//! A tree goes by rule if its run has succeeded, no run works or may go on there, a snapshot has all of its files, and no history of git would
//! go with it: `diff` and `apply` need the tree no more. It stays while a run of another store works there, and while something is mounted in
//! it. It is first given another name in one step, looked at once more, and then removed.
//! A removal that was killed is found by that name and ended by the next one. Nothing is written to the journal. Files that git ignores
//! are in no snapshot and go with the tree.

use super::adopt::check_places;
use crate::{
    attempts::{
        git::Git,
        going::{history_lost_with, in_the_way, mounted, remove_all},
        item_trees,
    },
    model::protocol::Refused,
    query::{load::load_run, snapshots},
};
use envoi_journal::{Layout, Reader, RunFilter, RunRow};
use envoi_kernel::{
    Event,
    event::{EndStatus, Isolated, RunStarted},
    ids::RunId,
};
use envoi_tree::{Bounds, Stop, What};
use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// The end of the name of a tree that is being removed.
const REMOVED: &str = ".removed";

/// The scope of a snapshot that shows whether all of a tree is kept.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Folders of which there is none.
    pub too_wide: Vec<PathBuf>,
    /// How much it may hold.
    pub bounds: Bounds,
}

/// A tree that is there.
#[derive(Debug)]
pub struct OldTree {
    /// The run.
    pub run: RunId,
    /// The root of the tree.
    pub place: PathBuf,
    /// Regular files in it.
    pub files: u64,
    /// Their bytes on the disk.
    pub bytes: u64,
    /// Why it stays, in a sentence. `None`: it can go.
    pub stays: Option<String>,
    /// The run, or another one there, is not over, or the tree is another store's: it must not go.
    pub is_at_work: bool,
    /// It goes whatever is in it.
    pub is_dropped: bool,
    isolated: Isolated,
    is_begun: bool,
}

/// Looks at the trees of all runs, also at those whose removal has begun.
///
/// # Errors
/// The store cannot be read.
pub fn old_trees(reader: &Reader, layout: &Layout, scope: &Scope) -> Result<Vec<OldTree>, Refused> {
    let rows = reader.runs(RunFilter::default())?;
    let mut found = Vec::new();
    for row in &rows {
        let Some(There { started, isolated, place, is_begun }) = there(reader, &row.run) else { continue };
        let isolated = &isolated;
        let at_work = match is_begun {
            true => mounted(&begun(&place)).or_else(|| mounted(&item_trees::folder(&place))),
            false => at_work(reader, layout, row, &rows, isolated),
        };
        let is_at_work = at_work.is_some();
        let stays = match at_work {
            None if !is_begun => stays(reader, layout, scope, row, &rows, isolated, &started.workspace),
            at_work => at_work,
        };
        let (files, bytes) = weight_of(&place, is_begun);
        let isolated = origin(reader, &row.run).unwrap_or_else(|| isolated.clone());
        let run = row.run.clone();
        let is_dropped = false;
        found.push(OldTree { run, place, files, bytes, stays, is_at_work, is_dropped, isolated, is_begun });
    }
    Ok(found)
}

/// How many trees of runs are there, and their bytes on the disk. Nothing in them is read.
///
/// # Errors
/// The store cannot be read.
pub fn count(reader: &Reader) -> Result<(u64, u64), Refused> {
    let rows = reader.runs(RunFilter::default())?;
    let found = rows.iter().filter_map(|row| there(reader, &row.run));
    Ok(found.fold((0, 0), |(trees, bytes), There { place, is_begun, .. }| {
        let (_, more) = weight_of(&place, is_begun);
        (trees.saturating_add(1), bytes.saturating_add(more))
    }))
}

/// Whether anything is at the place of the tree of a run, or a part that a removal has left. If it cannot be looked at: true.
pub(super) fn may_be_there(isolated: &Isolated) -> bool {
    let place = PathBuf::from(&isolated.place);
    [begun(&place), place].iter().any(|place| may_be(place))
}

/// Whether something may be there.
pub(super) fn may_be(place: &Path) -> bool {
    let is_missing =
        |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    fs::symlink_metadata(place).map_or_else(|error| !is_missing(&error), |_| true)
}

/// The tree of a run, if it is there.
struct There {
    started: Box<RunStarted>,
    isolated: Isolated,
    place: PathBuf,
    /// Its removal has begun.
    is_begun: bool,
}

fn there(reader: &Reader, run: &RunId) -> Option<There> {
    // A run that came with a bundle was lived elsewhere: any other folder may be at this path.
    if reader.imported(run).map_or(true, |origin| origin.is_some()) {
        return None;
    }
    // A run that cannot be read keeps what it has.
    let first = reader.records(run, 0, Some(1)).ok()?.into_iter().next()?;
    let Event::RunStarted(started) = first.event else { return None };
    let isolated = started.isolated.as_deref()?.clone();
    let place = PathBuf::from(&isolated.place);
    // The place as it was made. Another path in the event is not removed.
    if place.file_name().is_none_or(|name| name != run.as_str()) {
        return None;
    }
    let is_begun = begun(&place).is_dir();
    (is_begun || place.is_dir()).then_some(There { started, isolated, place, is_begun })
}

/// Why a tree is still there.
#[derive(Debug, thiserror::Error)]
pub enum NotRemoved {
    /// The loss that its removal would cause now, in a sentence.
    #[error("{0}")]
    Needed(String),
    /// It cannot be renamed.
    #[error(transparent)]
    Machine(#[from] io::Error),
    /// A part of it is left.
    #[error("`{}`: {source}", aside.display())]
    Left {
        /// The folder.
        aside: PathBuf,
        /// The machine's reason.
        source: io::Error,
    },
}

/// Removes the tree. Says what is left of it, such as a branch with commits.
///
/// # Errors
/// It is still there: something would be lost with it now, or the machine failed.
pub fn remove(
    tree: &OldTree,
    reader: &Reader,
    layout: &Layout,
    scope: &Scope,
) -> Result<Option<String>, NotRemoved> {
    let aside = begun(&tree.place);
    if !tree.is_begun {
        fs::rename(&tree.place, &aside)?;
    }
    // The tree has another name now, so no new process finds it. A process that came before may still be at work in it.
    let lost = || {
        let is_looked_at = !tree.is_begun && !tree.is_dropped;
        let lost = || {
            item_left(&tree.place)
                .or_else(|| lost_with(reader, layout, scope, &tree.run, &tree.isolated, &aside))
        };
        is_looked_at.then(lost).flatten()
    };
    let items = item_trees::folder(&tree.place);
    let in_the_way = |folder: &PathBuf| in_the_way(folder, layout.root());
    if let Some(why) = [&aside, &items].into_iter().find_map(in_the_way).or_else(lost) {
        if !tree.is_begun {
            fs::rename(&aside, &tree.place)?;
        }
        return Err(NotRemoved::Needed(why));
    }
    let of = Path::new(&tree.isolated.of);
    let left = match &tree.isolated.branch {
        Some(branch) if of.is_dir() => {
            Git::new(&Stop::default()).forget_worktree(of, &tree.place, branch, tree.isolated.head.as_deref())
        }
        _ => None,
    };
    item_trees::remove_every(&tree.isolated, layout.root())
        .map_err(|source| NotRemoved::Left { aside: items, source })?;
    let is_done = left.as_ref().is_none_or(|left| left.is_final);
    let removed = if is_done { remove_all(&aside) } else { empty(&aside) };
    removed.map_err(|source| NotRemoved::Left { aside, source })?;
    Ok(left.map(|left| left.what))
}

/// Removes what is in a folder. By the folder the next removal finds what was not done.
fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => remove_all(&entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

/// The processes or runs that need the tree of a run, whatever is in it.
fn at_work(
    reader: &Reader,
    layout: &Layout,
    row: &RunRow,
    rows: &[RunRow],
    isolated: &Isolated,
) -> Option<String> {
    if check_places(reader, &row.run).is_err() {
        return Some("it belongs to the store that this one was copied from".to_owned());
    }
    if row.ended.is_none() {
        return Some("the run is not over".to_owned());
    }
    let place = Path::new(&isolated.place);
    let works_there = |other: &&RunRow| other.ended.is_none() && is_in(other, place);
    if let Some(other) = rows.iter().find(works_there) {
        return Some(format!("run `{}` works there", other.run));
    }
    [place, &item_trees::folder(place)].into_iter().find_map(|folder| in_the_way(folder, layout.root()))
}

/// Whether a run works in the tree at `place`, or in the tree of an item beside it.
fn is_in(other: &RunRow, place: &Path) -> bool {
    let workspace = Path::new(&other.workspace);
    workspace.starts_with(place) || workspace.starts_with(item_trees::folder(place))
}

/// Why the tree of a run that is over stays.
fn stays(
    reader: &Reader,
    layout: &Layout,
    scope: &Scope,
    row: &RunRow,
    rows: &[RunRow],
    isolated: &Isolated,
    workspace: &str,
) -> Option<String> {
    if let Some(ended) = row.ended.as_ref().filter(|ended| ended.status != EndStatus::Succeeded) {
        return Some(format!("the run may go on there: it is {}", ended.status.word()));
    }
    let place = Path::new(&isolated.place);
    let may_go_on = |other: &&RunRow| {
        let ended = other.ended.as_ref().map(|ended| ended.status);
        other.run != row.run && ended != Some(EndStatus::Succeeded) && is_in(other, place)
    };
    if let Some(other) = rows.iter().find(may_go_on) {
        return Some(format!("run `{}` may go on there", other.run));
    }
    if let Some(why) = item_left(place) {
        return Some(why);
    }
    if Path::new(workspace) != place {
        return Some("the run worked in a part of it, and only that part is kept".to_owned());
    }
    lost_with(reader, layout, scope, &row.run, isolated, place)
}

/// Whether an item of a step has left files that were not merged.
fn item_left(place: &Path) -> Option<String> {
    let left = item_trees::left(place);
    left.first().map(|item| format!("the tree of an item is left: `{}`", item.display()))
}

/// The loss that the removal of this folder would cause, in a sentence.
fn lost_with(
    reader: &Reader,
    layout: &Layout,
    scope: &Scope,
    run: &RunId,
    isolated: &Isolated,
    folder: &Path,
) -> Option<String> {
    if let Some(why) = history_lost_with(folder, isolated.branch.is_some()) {
        return Some(why);
    }
    let kept = is_kept(reader, layout, scope, run, isolated, folder);
    (!kept).then(|| "no snapshot has all of its files; `envoi apply` brings them".to_owned())
}

/// Whether this folder is as the last snapshot of the run has it, which is what `apply` brings when the tree is gone.
fn is_kept(
    reader: &Reader,
    layout: &Layout,
    scope: &Scope,
    run: &RunId,
    isolated: &Isolated,
    folder: &Path,
) -> bool {
    let Ok(records) = reader.records(run, 0, None) else { return false };
    let last = snapshots::last(&records);
    let last = match last {
        Some(last) if last.moving => return false,
        Some(last) => last.digest,
        None => isolated.base,
    };
    let order = snapshots::order(layout, scope.too_wide.clone(), scope.bounds, snapshots::scope_in(&records));
    envoi_tree::keep(folder, &order).is_ok_and(|now| {
        let is_left_out = |entry: &envoi_tree::Entry| matches!(entry.what, What::LeftOut { .. });
        now.digest == last && !now.tree.entries().iter().any(is_left_out)
    })
}

/// With the folder of origin where it is now.
fn origin(reader: &Reader, run: &RunId) -> Option<Isolated> {
    load_run(reader, run).ok()?.started()?.isolated.as_deref().cloned()
}

fn begun(place: &Path) -> PathBuf {
    let mut name = OsString::from(place);
    name.push(REMOVED);
    PathBuf::from(name)
}

/// The size of a tree, with those of the items beside it.
fn weight_of(place: &Path, is_begun: bool) -> (u64, u64) {
    let (files, bytes) = weight(if is_begun { begun(place) } else { place.to_owned() }, on_disk);
    let (more_files, more_bytes) = weight(item_trees::folder(place), on_disk);
    (files.saturating_add(more_files), bytes.saturating_add(more_bytes))
}

/// Regular files below a folder, and their bytes, by `bytes_of`. Links are not followed; a file that cannot be read counts as nothing.
pub(super) fn weight(folder: PathBuf, bytes_of: impl Fn(&fs::Metadata) -> u64) -> (u64, u64) {
    let mut files = 0_u64;
    let mut bytes = 0_u64;
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(found) if found.is_dir() => folders.push(entry.path()),
                Ok(found) if found.is_file() => {
                    files = files.saturating_add(1);
                    bytes = bytes.saturating_add(bytes_of(&found));
                }
                _ => {}
            }
        }
    }
    (files, bytes)
}

/// The bytes that a file takes of the disk.
fn on_disk(file: &fs::Metadata) -> u64 {
    file.blocks().saturating_mul(512)
}
