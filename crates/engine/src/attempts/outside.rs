//! What a run has changed in its tree outside of the folder that it works in.
//!
//! If the workspace is a folder of a git repository, the tree has all of the repository, and only the workspace is compared and brought back.
//! Owns which other files of the tree are not as the commit has them and not as they are in the checkout of the user. Writes nothing.

use super::git::Git;
use envoi_kernel::event::{Isolated, RunStarted};
use envoi_step::plain;
use envoi_tree::Stop;
use std::{
    fs::{self, Metadata},
    io::{self, BufRead as _, BufReader},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// Files of a tree that neither a comparison nor `envoi apply` has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outside {
    /// Their paths, relative to the root of the tree.
    pub paths: Vec<PathBuf>,
    /// The root of the tree.
    pub place: PathBuf,
    /// The workspace in it.
    pub workspace: PathBuf,
}

impl Outside {
    /// A sentence for a person. `name` makes a path fit for it.
    pub fn sentence(&self, name: impl Fn(&[u8]) -> String) -> Option<String> {
        let first = name(self.paths.first()?.as_os_str().as_bytes());
        let workspace = self.workspace.display();
        let place = self.place.display();
        Some(match self.paths.len() {
            1 => format!(
                "`{first}` was changed too: it lies outside of `{workspace}`, so it is not compared and not brought; it is in `{place}`"
            ),
            count => format!(
                "{count} more files were changed (`{first}` is one): they lie outside of `{workspace}`, so they are not compared and not brought; they are in `{place}`"
            ),
        })
    }
}

/// Looks into the tree of a run, if it works in a part of it. `None`: it works in all of it, or its tree is gone.
///
/// # Errors
/// The tree cannot be compared, in a sentence.
pub fn changed_outside(started: &RunStarted) -> Result<Option<Outside>, String> {
    let Some(Isolated { of, place, head: Some(head), .. }) = started.isolated.as_deref() else {
        return Ok(None);
    };
    let [of, place, workspace] = [of, place, &started.workspace].map(Path::new);
    let Ok(below) = workspace.strip_prefix(place) else { return Ok(None) };
    if below.as_os_str().is_empty() || fs::symlink_metadata(place.join(".git")).is_err() {
        return Ok(None);
    }
    // The same folder of the checkout that the tree was made from.
    let top = of.ancestors().nth(below.components().count()).unwrap_or(of);
    let unknown = |error: &dyn core::fmt::Display| {
        format!("whether files outside of `{}` were changed is not known: {error}", workspace.display())
    };
    let stop = Stop::default();
    let mut paths = Git::new(&stop).changed_beside(place, head, below).map_err(|error| unknown(&error))?;
    paths.retain(|path| !are_same(&place.join(path), &top.join(path)));
    Ok(Some(Outside { paths, place: place.to_owned(), workspace: below.to_owned() }))
}

/// Whether the same stands at both places. What cannot be read is not known to be the same.
fn are_same(one: &Path, other: &Path) -> bool {
    match [one, other].map(fs::symlink_metadata) {
        [Ok(first), Ok(second)] => have_same_content(one, &first, other, &second).unwrap_or(false),
        [Err(first), Err(second)] => [first, second].iter().all(is_missing),
        _ => false,
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn have_same_content(one: &Path, first: &Metadata, other: &Path, second: &Metadata) -> io::Result<bool> {
    if first.is_symlink() && second.is_symlink() {
        return Ok(fs::read_link(one)? == fs::read_link(other)?);
    }
    if !first.is_file() || !second.is_file() || first.len() != second.len() {
        // A folder, such as a submodule, is not looked into.
        return Ok(first.is_dir() && second.is_dir());
    }
    let mut one = BufReader::new(plain::open(one)?);
    let mut other = BufReader::new(plain::open(other)?);
    loop {
        let [first, second] = [one.fill_buf()?, other.fill_buf()?];
        let length = first.len().min(second.len());
        if length == 0 {
            return Ok(first.is_empty() && second.is_empty());
        }
        if first.get(..length) != second.get(..length) {
            return Ok(false);
        }
        one.consume(length);
        other.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_content_of_the_same_kind_is_the_same() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::write(at("a"), "x".repeat(100_000)).unwrap();
        fs::write(at("same"), "x".repeat(100_000)).unwrap();
        fs::write(at("other"), "x".repeat(99_999) + "y").unwrap();
        fs::write(at("longer"), "x".repeat(100_001)).unwrap();
        std::os::unix::fs::symlink("a", at("link")).unwrap();
        std::os::unix::fs::symlink("a", at("same-link")).unwrap();
        let same = |one: &str, other: &str| are_same(&at(one), &at(other));
        assert!(same("a", "same") && same("link", "same-link") && same("none", "nothing/below"));
        for other in ["other", "longer", "link", "none"] {
            assert!(!same("a", other) && !same(other, "a"), "{other}");
        }
    }
}
