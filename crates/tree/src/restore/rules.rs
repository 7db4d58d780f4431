//! The paths that the ignore files of a snapshot name. A restore leaves files alone that the snapshot's rules ignore: a restore that brings
//! a `.gitignore` back does not take away the files that it ignores.

use crate::{
    disk::contents::{ContentError, Shelf},
    keep::Order,
    look::{git::Asking, walk},
    model::{
        list::{Tree, What, ancestors},
        scope::Also,
    },
};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// Folders with their rules, the outermost first.
    folders: Vec<(PathBuf, Gitignore)>,
    /// The folder of the snapshot. Only it shows which folders are repositories.
    stands_in: Option<PathBuf>,
    /// Submodules that are there without their repository: their rules are their own all the same.
    submodules: BTreeSet<Vec<u8>>,
    /// Paths that snapshots have although they are ignored.
    also: Also,
    repositories: RefCell<BTreeMap<Vec<u8>, bool>>,
}

/// Paths are looked at as if the folder were this one.
const ROOT: &str = "/";

fn of_root(path: &[u8]) -> PathBuf {
    Path::new(ROOT).join(OsStr::from_bytes(path))
}

impl Rules {
    pub(crate) fn of(target: &Tree, shelf: &Shelf) -> Result<Self, ContentError> {
        let mut folders: Vec<(PathBuf, Gitignore)> = Vec::new();
        for entry in target.entries() {
            let place = of_root(&entry.path);
            let is_rule =
                place.file_name().is_some_and(|name| name == ".gitignore" || name == ".envoiignore");
            // A link is no file of rules, for git neither: its content is the name of another file.
            let (What::File { digest, .. }, Some(folder), true) = (&entry.what, place.parent(), is_rule)
            else {
                continue;
            };
            let content = shelf.read(digest)?;
            let mut builder = GitignoreBuilder::new(folder);
            for line in String::from_utf8_lossy(&content).lines() {
                // A rule that cannot be read ignores nothing.
                builder.add_line(None, line).ok();
            }
            folders.extend(builder.build().ok().map(|rules| (folder.to_owned(), rules)));
        }
        folders.sort_by_key(|(folder, _)| folder.components().count());
        Ok(Self { folders, ..Self::default() })
    }

    /// As [`Self::of`], for a snapshot that is to be in `folder`. A repository in it has rules of its own.
    pub(crate) fn in_folder(
        folder: &Path,
        order: &Order,
        target: &Tree,
        shelf: &Shelf,
    ) -> Result<Self, ContentError> {
        // If git does not answer, there are none.
        let known = || Asking::new(&order.stop).submodules(folder).unwrap_or_default();
        let submodules = if order.scope.submodules { known() } else { BTreeSet::new() };
        let also = Also::of(&order.scope);
        Ok(Self { stands_in: Some(folder.to_owned()), submodules, also, ..Self::of(target, shelf)? })
    }

    /// Whether a file is ignored, by itself or with a folder around it. The rules around a repository decide only about all of it.
    pub(crate) fn ignore(&self, path: &[u8]) -> bool {
        if self.also.names(path, false) {
            return false;
        }
        let mut within = (path, false);
        for above in ancestors(path).filter(|above| self.is_repository(above)) {
            if self.ignore_within(above, within) {
                return true;
            }
            within = (above, true);
        }
        self.ignore_within(b"", within)
    }

    /// The verdict of the rules below `top`. A file in an ignored folder is ignored, also if another rule includes it.
    fn ignore_within(&self, top: &[u8], (path, is_folder): (&[u8], bool)) -> bool {
        let mut way: Vec<(&[u8], bool)> = ancestors(path).map(|above| (above, true)).collect();
        way.retain(|(above, _)| above.len() > top.len());
        way.reverse();
        way.push((path, is_folder));
        way.into_iter().any(|(path, is_folder)| self.name(&of_root(top), &of_root(path), is_folder))
    }

    /// Whether the innermost rule that matches the path ignores it.
    fn name(&self, top: &Path, place: &Path, is_folder: bool) -> bool {
        let counts = |folder: &Path| folder.starts_with(top) && place.starts_with(folder) && place != folder;
        let around = self.folders.iter().rev().filter(|(folder, _)| counts(folder));
        let rule = around.map(|(_, rules)| rules.matched(place, is_folder)).find(|rule| !rule.is_none());
        rule.is_some_and(|rule| rule.is_ignore())
    }

    fn is_repository(&self, folder: &[u8]) -> bool {
        let Some(stands_in) = &self.stands_in else { return false };
        if self.submodules.contains(folder) {
            return true;
        }
        let has_one = || fs::symlink_metadata(walk::full(stands_in, folder).join(".git")).is_ok();
        *self.repositories.borrow_mut().entry(folder.to_vec()).or_insert_with(has_one)
    }
}
