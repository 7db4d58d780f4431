//! What the ignore files of a snapshot name. Files that are ignored as soon as the snapshot stands there are none of its business: a restore
//! that brings a `.gitignore` back does not take away what that ignores.

use crate::{
    disk::contents::{ContentError, Shelf},
    model::list::{Tree, What},
};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// Folders with their rules, the outermost first.
    folders: Vec<(PathBuf, Gitignore)>,
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
        Ok(Self { folders })
    }

    /// Whether a file is ignored, by itself or with a folder around it. The innermost rule that says something counts.
    pub(crate) fn ignore(&self, path: &[u8]) -> bool {
        let place = of_root(path);
        let around =
            self.folders.iter().rev().filter(|(folder, _)| place.starts_with(folder) && place != *folder);
        let rule = around
            .map(|(_, rules)| rules.matched_path_or_any_parents(&place, false))
            .find(|rule| !rule.is_none());
        rule.is_some_and(|rule| rule.is_ignore())
    }
}
