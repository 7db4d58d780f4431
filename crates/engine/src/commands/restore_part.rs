//! Single files and folders of a workspace are set back: the entries of the snapshot that this concerns, and the resulting state of the
//! whole workspace.
//!
//! Touches no file of the workspace. Only what differs between the two lists that it makes is changed later.

use crate::model::protocol::RestorePart;
use envoi_contract::digest::Digest;
use envoi_tree::{Difference, Entry, Later, Merged, NotRestored, Order, Stood, Tree, What, differences};
use std::{
    collections::BTreeSet,
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// Why a part cannot be set back. Nothing was touched.
pub(super) enum PartError {
    /// Nothing is at this path, neither in the snapshot nor now. A misspelt path must not count as a path with nothing to do.
    Nothing(PathBuf),
    /// This path is ignored and in the way, or is being changed now.
    InTheWay(String),
    /// Everything else.
    NotRestored(NotRestored),
}

impl From<NotRestored> for PartError {
    fn from(error: NotRestored) -> Self {
        Self::NotRestored(error)
    }
}

/// A change to be done.
pub(super) struct PartChange {
    /// The files that are there now.
    pub(super) from: Merged,
    /// The files that are to be there: those that were not named stay as they are.
    pub(super) to: Merged,
    /// The files that were looked at for it.
    pub(super) stood: Stood,
}

/// The part of a list that is named.
enum Named<'p> {
    Paths(&'p [PathBuf]),
    These(BTreeSet<Vec<u8>>),
}

impl Named<'_> {
    fn is_named(&self, entry: &Entry) -> bool {
        match self {
            Self::Paths(paths) => paths.iter().any(|path| path_of(entry).starts_with(path)),
            Self::These(paths) => paths.contains(&entry.path),
        }
    }

    fn of(&self, tree: &Tree) -> Result<Tree, NotRestored> {
        list(tree.entries().iter().filter(|entry| self.is_named(entry)))
    }

    /// With the empty folders in which a named path would be: they stay if their last file is taken away.
    fn coming_from(&self, tree: &Tree) -> Result<Tree, NotRestored> {
        let is_around = |entry: &Entry| match self {
            Self::Paths(paths) => {
                entry.what == What::EmptyFolder && paths.iter().any(|path| path.starts_with(path_of(entry)))
            }
            Self::These(_) => false,
        };
        list(tree.entries().iter().filter(|entry| self.is_named(entry) || is_around(entry)))
    }
}

fn path_of(entry: &Entry) -> &Path {
    Path::new(OsStr::from_bytes(&entry.path))
}

fn list<'e>(entries: impl Iterator<Item = &'e Entry>) -> Result<Tree, NotRestored> {
    Tree::new(entries.cloned().collect())
        .map_err(|error| NotRestored::InTheWay { paths: vec![error.to_string()] })
}

/// Looks at the workspace, keeps it, and returns the change to make there. `None`: the part is like that already.
pub(super) fn change(
    workspace: &Path,
    order: &Order,
    target: &Tree,
    part: &RestorePart,
    read: impl FnOnce(&Digest) -> Result<Tree, NotRestored>,
) -> Result<Option<PartChange>, PartError> {
    let now = envoi_tree::keep(workspace, order).map_err(NotRestored::from)?;
    let named = match part {
        RestorePart::Paths(paths) => Named::Paths(paths),
        RestorePart::ChangedFrom(other) => {
            let other = read(other)?;
            let changed = differences(&other, target);
            Named::These(changed.iter().map(|difference| difference.path().to_vec()).collect())
        }
    };
    let shelf = order.contents.shelf();
    let shelf =
        shelf.map_err(|source| NotRestored::NotStaged { path: order.contents.packs.clone(), source })?;
    // Files that were ignored in that state may have been there.
    let (target, _) =
        envoi_tree::with_ignored(&shelf, &now.tree, target, Later::Snapshot).map_err(NotRestored::from)?;
    let (comes, stands) = (named.coming_from(&target)?, named.of(&now.tree)?);
    if let RestorePart::Paths(paths) = part {
        refuse_nothing(paths, [&named.of(&target)?, &stands])?;
    }
    refuse_unlisted(&comes, &stands, &now.tree)?;
    let to = envoi_tree::without(order, &now.tree, &comes, &stands)?;
    if to.tree == now.tree {
        return Ok(None);
    }
    let stood = envoi_tree::stand_to_change(workspace, order, &to.tree)?;
    match not_still(&now.tree, &stood.kept.tree, &differences(&now.tree, &to.tree)) {
        Some(path) => Err(PartError::InTheWay(path)),
        None => Ok(Some(PartChange { from: Merged { digest: now.digest, tree: now.tree }, to, stood })),
    }
}

fn refuse_nothing(paths: &[PathBuf], states: [&Tree; 2]) -> Result<(), PartError> {
    let is_there = |path: &&PathBuf| {
        let mut entries = states.iter().flat_map(|tree| tree.entries());
        entries.any(|entry| path_of(entry).starts_with(path))
    };
    match paths.iter().find(|path| !is_there(path)) {
        Some(path) => Err(PartError::Nothing(path.clone())),
        None => Ok(()),
    }
}

/// The contents of a folder that cannot be listed are not known, so nothing in it can be set back.
fn refuse_unlisted(comes: &Tree, stands: &Tree, now: &Tree) -> Result<(), NotRestored> {
    let closed = comes.entries().iter().filter(|entry| entry.is_unlisted() || now.hides(&entry.path));
    let closed = closed.chain(stands.entries().iter().filter(|entry| entry.is_unlisted()));
    let paths: Vec<String> = closed
        .map(|entry| format!("`{}` is, or is in, a folder that cannot be listed", entry.shown()))
        .collect();
    if paths.is_empty() { Ok(()) } else { Err(NotRestored::InTheWay { paths }) }
}

/// A path that is not as it was looked at: a person works there, or a file that git ignores is in the way, also below a folder that makes room
/// for a file.
pub(super) fn not_still(now: &Tree, stands: &Tree, changes: &[Difference<'_>]) -> Option<String> {
    let other = changes.iter().find(|change| {
        let found = stands.get(change.path());
        found != change.before && found != change.after
    });
    let displaced = |entry: &&Entry| {
        let path = entry.path.as_slice();
        now.get(path).is_none()
            && changes.iter().any(|change| change.after.is_some() && is_below(path, change.path()))
    };
    let path = other.map(Difference::path);
    let path = path.or_else(|| stands.entries().iter().find(displaced).map(|entry| entry.path.as_slice()))?;
    Some(String::from_utf8_lossy(path).into_owned())
}

/// The finding of [`not_still`].
pub(super) fn in_the_way(path: &str) -> String {
    format!("`{path}` is ignored and in the way, or is being changed now")
}

fn is_below(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.first() == Some(&b'/'))
}
