//! The work of a restore, from the list of the present files and the list of the files to come. Refuses a restore that it could not do.

use super::{NotRestored, rules::Rules};
use crate::{
    look::walk,
    model::list::{Entry, Tree, What, ancestors, is_never},
};
use rustix::fs::{Access, access};
use std::{collections::BTreeSet, fs, os::unix::fs::MetadataExt as _, path::Path};

/// See the module.
#[derive(Debug)]
pub(crate) struct Plan<'t> {
    /// Files and links that are to be taken away.
    pub(crate) gone: Vec<&'t [u8]>,
    /// Folders in the place of a file that is to come. They are taken away whole.
    pub(crate) folders: Vec<&'t [u8]>,
    /// Files and links that are to come, and empty folders that change places with what is no folder.
    pub(crate) come: Vec<&'t Entry>,
    /// Empty folders that are to come to a free name, or that get another mode.
    pub(crate) empty: Vec<&'t Entry>,
    /// Folders that go if nothing is left in them, the deepest first.
    pub(crate) emptied: Vec<&'t [u8]>,
    /// Paths that stay as they are.
    pub(crate) left: Vec<&'t [u8]>,
}

impl<'t> Plan<'t> {
    /// # Errors
    /// [`NotRestored::InTheWay`].
    pub(crate) fn new(
        folder: &Path,
        place: &Path,
        stands: &'t Tree,
        target: &'t Tree,
        rules: &Rules,
    ) -> Result<Self, NotRestored> {
        let mut plan = Self {
            gone: Vec::new(),
            folders: Vec::new(),
            come: Vec::new(),
            empty: Vec::new(),
            emptied: Vec::new(),
            left: Vec::new(),
        };
        let mut ways = Vec::new();
        for entry in target.entries() {
            plan.add(entry, stands, folder, &mut ways);
        }
        plan.make_way(stands, folder);
        let displaced: BTreeSet<&[u8]> = plan.folders.iter().copied().collect();
        let mut emptied = BTreeSet::new();
        for entry in stands.entries() {
            let path = entry.path.as_slice();
            // A path that the target could not list stays as it is.
            if target.get(path).is_some() || target.hides(path) {
                continue;
            }
            if ancestors(path).any(|above| displaced.contains(above)) {
                if matches!(entry.what, What::LeftOut { .. }) {
                    ways.push(not_kept(entry));
                }
                continue;
            }
            match entry.what {
                _ if entry.is_unlisted() => plan.left.push(path),
                What::LeftOut { .. } if target.has_below(path) => {
                    ways.push(not_kept(entry));
                }
                What::LeftOut { .. } => plan.left.push(path),
                // Unless something is to come below it.
                _ if rules.ignore(path) && !target.has_below(path) => continue,
                What::File { .. } | What::Link { .. } => plan.gone.push(path),
                What::EmptyFolder if target.has_below(path) => {}
                What::EmptyFolder => drop(emptied.insert(path)),
            }
            if matches!(entry.what, What::File { .. } | What::Link { .. } | What::EmptyFolder) {
                emptied.extend(
                    ancestors(path).filter(|above| !target.has_below(above) && target.get(above).is_none()),
                );
            }
        }
        plan.emptied = emptied.into_iter().rev().collect();
        plan.refuse_other_devices(folder, place, &mut ways);
        plan.refuse_shut_folders(folder, &mut ways);
        match ways.is_empty() {
            true => Ok(plan),
            false => Err(NotRestored::InTheWay { paths: ways }),
        }
    }

    fn add(&mut self, entry: &'t Entry, stands: &'t Tree, folder: &Path, ways: &mut Vec<String>) {
        let path = entry.path.as_slice();
        let there = stands.get(path);
        // The contents of a folder that cannot be listed are not known: the folder itself is named.
        if there == Some(entry) || stands.hides(path) {
            return;
        }
        match (&entry.what, there.map(|there| &there.what)) {
            (What::LeftOut { .. }, _) | (_, Some(What::LeftOut { .. })) => self.left.push(path),
            (What::EmptyFolder, _) => {
                match fs::symlink_metadata(walk::full(folder, path)).is_ok_and(|found| !found.is_dir()) {
                    true => self.come.push(entry),
                    false => self.empty.push(entry),
                }
            }
            (What::File { .. } | What::Link { .. }, _) => {
                let found = walk::full(folder, path);
                if fs::symlink_metadata(&found).is_ok_and(|found| found.is_dir()) {
                    match holds_never(&found) {
                        Some(what) => ways.push(format!("`{}` is a folder with {what} in it", entry.shown())),
                        None => self.folders.push(path),
                    }
                }
                self.come.push(entry);
            }
        }
    }

    /// A restore that stopped in the middle at such a folder would leave the others changed.
    fn refuse_shut_folders(&self, folder: &Path, ways: &mut Vec<String>) {
        let paths = self.gone.iter().chain(&self.folders).chain(&self.emptied).copied();
        let new = self.come.iter().chain(&self.empty).map(|entry| entry.path.as_slice());
        let above = paths.chain(new).map(|path| nearest(folder, path));
        // A folder that is moved has another parent then.
        let all: BTreeSet<&[u8]> = above.chain(self.folders.iter().copied()).collect();
        let needed = Access::WRITE_OK | Access::EXEC_OK;
        for path in all.into_iter().filter(|path| access(walk::full(folder, path), needed).is_err()) {
            let shown =
                if path.is_empty() { folder.to_string_lossy() } else { String::from_utf8_lossy(path) };
            ways.push(format!("`{shown}` may not be written to; `chmod u+wx` allows it"));
        }
    }

    /// Anything that is in the place of a folder to come and is in no list, such as a pipe, is taken away.
    fn make_way(&mut self, stands: &Tree, folder: &Path) {
        let comes = self.come.iter().chain(&self.empty);
        let above: BTreeSet<&'t [u8]> = comes.flat_map(|entry| ancestors(&entry.path)).collect();
        let is_in_the_way = |path: &&[u8]| {
            stands.get(path).is_none()
                && fs::symlink_metadata(walk::full(folder, path)).is_ok_and(|found| !found.is_dir())
        };
        self.gone.extend(above.into_iter().filter(is_in_the_way));
    }

    /// A file cannot change places with one on another file system.
    fn refuse_other_devices(&self, folder: &Path, place: &Path, ways: &mut Vec<String>) {
        let device = |path: &Path| fs::symlink_metadata(path).ok().map(|found| found.dev());
        let own = device(place);
        let paths = self.gone.iter().chain(&self.folders).copied();
        let paths = paths.chain(self.come.iter().map(|entry| entry.path.as_slice()));
        let mut known = BTreeSet::new();
        for above in paths.flat_map(ancestors) {
            if known.insert(above)
                && device(&walk::full(folder, above)).is_some_and(|other| Some(other) != own)
            {
                ways.push(format!("`{}` is on another file system", String::from_utf8_lossy(above)));
            }
        }
    }
}

/// The nearest folder above a path that is there, relative to the folder; empty: that folder itself.
fn nearest<'p>(folder: &Path, path: &'p [u8]) -> &'p [u8] {
    let is_folder =
        |above: &&[u8]| fs::symlink_metadata(walk::full(folder, above)).is_ok_and(|found| found.is_dir());
    ancestors(path).find(is_folder).unwrap_or_default()
}

fn not_kept(entry: &Entry) -> String {
    match entry.is_unlisted() {
        true => format!("`{}` is a folder that cannot be listed", entry.shown()),
        false => format!("`{}` is too large to be kept, or cannot be read", entry.shown()),
    }
}

/// An entry of a folder that no snapshot keeps, and that must not be moved.
fn holds_never(folder: &Path) -> Option<&'static str> {
    use std::os::unix::ffi::OsStrExt as _;
    for entry in fs::read_dir(folder).ok()?.flatten() {
        if is_never(entry.file_name().as_bytes()) {
            return Some("a repository or a store");
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir())
            && let Some(what) = holds_never(&entry.path())
        {
            return Some(what);
        }
    }
    None
}
