//! The changes of a run in its tree outside of its working folder.
//!
//! If the workspace is a folder of a git repository, the tree has all of the repository, and only the workspace is compared and brought back.
//! Owns which other files of the tree are not as the commit has them and not as they are in the checkout of the user. Writes nothing.

use super::git::{Git, GitError};
use envoi_kernel::event::{Isolated, RunStarted};
use envoi_step::plain;
use envoi_tree::Stop;
use std::{
    fs::{self, Metadata},
    io::{self, BufRead as _, BufReader},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// The most files that are compared with those of the checkout.
const MOST_FILES: usize = 10_000;

/// The most bytes that are read for that, of one side.
const MOST_BYTES: u64 = 1 << 30;

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

/// Why it is not known what a run has changed outside of its workspace.
#[derive(Debug, thiserror::Error)]
#[error("whether files outside of `{}` were changed is not known: {cause}", .workspace.display())]
pub struct OutsideUnknown {
    workspace: PathBuf,
    cause: Cause,
}

#[derive(Debug, thiserror::Error)]
enum Cause {
    /// Git does not answer.
    #[error(transparent)]
    Git(#[from] GitError),
    /// There is too much to compare, or an end is wanted.
    #[error(transparent)]
    NotCompared(#[from] NotCompared),
}

/// Looks into the tree of a run, if it works in a part of it. `None`: it works in all of it, or its tree is gone.
///
/// # Errors
/// The tree cannot be compared: git does not answer, there is too much to compare, or an end is wanted.
pub fn changed_outside(started: &RunStarted, stop: &Stop) -> Result<Option<Outside>, OutsideUnknown> {
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
    let bounds = Bounds { files: MOST_FILES, bytes: MOST_BYTES, stop };
    let listed = Git::new(stop).changed_beside(place, head, below).map_err(Cause::from);
    let paths = listed.and_then(|listed| Ok(differing(listed, place, top, &bounds)?));
    match paths {
        Ok(paths) => Ok(Some(Outside { paths, place: place.to_owned(), workspace: below.to_owned() })),
        Err(cause) => Err(OutsideUnknown { workspace: workspace.to_owned(), cause }),
    }
}

/// How much is compared.
struct Bounds<'s> {
    files: usize,
    bytes: u64,
    stop: &'s Stop,
}

/// Why not all was compared.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
enum NotCompared {
    #[error("{found} files there are not as the commit has them, and no more than {most} are compared")]
    TooMany { found: usize, most: usize },
    #[error("more than {most} bytes would have to be compared")]
    TooLarge { most: u64 },
    #[error("the comparison was ended")]
    Stopped,
}

/// The paths whose contents differ between the two folders.
fn differing(
    paths: Vec<PathBuf>,
    place: &Path,
    top: &Path,
    bounds: &Bounds<'_>,
) -> Result<Vec<PathBuf>, NotCompared> {
    if paths.len() > bounds.files {
        return Err(NotCompared::TooMany { found: paths.len(), most: bounds.files });
    }
    let mut left = bounds.bytes;
    let mut differing = Vec::new();
    for path in paths {
        if !are_same(&place.join(&path), &top.join(&path), &mut left, bounds)? {
            differing.push(path);
        }
    }
    Ok(differing)
}

/// Whether both places have the same content. A place that cannot be read counts as different.
fn are_same(one: &Path, other: &Path, left: &mut u64, bounds: &Bounds<'_>) -> Result<bool, NotCompared> {
    match [one, other].map(fs::symlink_metadata) {
        [Ok(first), Ok(second)] => match have_same_content((one, &first), (other, &second), left, bounds) {
            Err(Unequal::Bound(bound)) => Err(bound),
            Err(Unequal::Unread) => Ok(false),
            Ok(same) => Ok(same),
        },
        [Err(first), Err(second)] => Ok([first, second].iter().all(is_missing)),
        _ => Ok(false),
    }
}

/// Why it is not known whether two files are equal.
enum Unequal {
    Unread,
    Bound(NotCompared),
}

/// A file that cannot be read counts as changed, whatever the cause.
impl From<io::Error> for Unequal {
    fn from(_: io::Error) -> Self {
        Self::Unread
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn have_same_content(
    (one, first): (&Path, &Metadata),
    (other, second): (&Path, &Metadata),
    left: &mut u64,
    bounds: &Bounds<'_>,
) -> Result<bool, Unequal> {
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
        if bounds.stop.is_wanted() {
            return Err(Unequal::Bound(NotCompared::Stopped));
        }
        let [first, second] = [one.fill_buf()?, other.fill_buf()?];
        let length = first.len().min(second.len());
        if length == 0 {
            return Ok(first.is_empty() && second.is_empty());
        }
        let read = u64::try_from(length).unwrap_or(u64::MAX);
        let too_large = Unequal::Bound(NotCompared::TooLarge { most: bounds.bytes });
        *left = left.checked_sub(read).ok_or(too_large)?;
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
        let stop = Stop::default();
        let bounds = Bounds { files: 1, bytes: 1 << 20, stop: &stop };
        let same = |one: &str, other: &str| are_same(&at(one), &at(other), &mut (1 << 20), &bounds).unwrap();
        assert!(same("a", "same") && same("link", "same-link") && same("none", "nothing/below"));
        for other in ["other", "longer", "link", "none"] {
            assert!(!same("a", other) && !same(other, "a"), "{other}");
        }
    }

    #[test]
    fn a_comparison_has_bounds_and_can_be_ended() {
        let root = tempfile::tempdir().unwrap();
        let [tree, checkout] = ["tree", "checkout"].map(|name| root.path().join(name));
        let paths: Vec<PathBuf> = ["a", "b", "c"].map(PathBuf::from).into();
        for folder in [&tree, &checkout] {
            fs::create_dir(folder).unwrap();
            paths.iter().for_each(|path| fs::write(folder.join(path), "x".repeat(1_000)).unwrap());
        }
        fs::write(tree.join("b"), "y".repeat(1_000)).unwrap();
        let [goes_on, ended] = [Stop::default(), Stop::when(|| true)];
        let compared =
            |files, bytes, stop| differing(paths.clone(), &tree, &checkout, &Bounds { files, bytes, stop });
        assert_eq!(compared(3, 3_000, &goes_on), Ok(vec![PathBuf::from("b")]));
        assert_eq!(compared(2, 3_000, &goes_on), Err(NotCompared::TooMany { found: 3, most: 2 }));
        assert_eq!(compared(3, 2_999, &goes_on), Err(NotCompared::TooLarge { most: 2_999 }));
        assert_eq!(compared(3, 3_000, &ended), Err(NotCompared::Stopped));
    }
}
