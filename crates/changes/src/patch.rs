//! The changes of a run as a git patch.
//!
//! The patch is made from the first and the last snapshot of the run; the folder, its index and the checkout
//! are only read. The differing files of both are written to two folders, and git compares these.

use crate::{
    comparison::tree_of,
    error::ChangesError,
    git::{self, At},
    lines::printable,
    states::{self, Point},
};
use envoi_contract::digest::Digest;
use envoi_engine::snapshots;
use envoi_kernel::{
    Record,
    event::{RunStarted, Snapshot},
};
use envoi_tree::{
    Difference, Entry, Later, Order, Shelf, Stop, Tree, What, differences, git::check_readable,
};
use std::{collections::BTreeMap, path::Path};

/// The target to which a patch is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fits {
    /// A checkout: paths begin at the top of the repository, as `git apply` expects them in every folder.
    /// Files that the run has begun to ignore are not deleted.
    Checkout,
    /// The workspace. Files that the run has begun to ignore are deleted: in a commit they are no longer
    /// tracked.
    Workspace,
}

/// A patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// The patch in git's format. Empty if git sees no change.
    pub bytes: Vec<u8>,
    /// Number of changed files.
    pub files: u64,
    /// Files that are not in the patch because their content is not kept.
    pub left: Vec<Vec<u8>>,
    /// Changes that are not in the patch.
    pub lacks: Vec<Lack>,
    /// The last snapshot of the run, if the patch contains all its changes.
    pub whole: Option<Digest>,
}

/// A change that is not in a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// Path of the file or folder.
    pub path: Vec<u8>,
    /// The reason, for a person.
    pub why: String,
}

impl Patch {
    /// Makes the patch of a run in a temporary folder `within` this one, which is removed afterwards. Fails
    /// if the differing files have more than `most_bytes` on both sides together. The order's `stop` ends the
    /// comparing git.
    ///
    /// # Errors
    /// The files were not kept, they have too many bytes, or git fails.
    pub fn of(
        records: &[Record],
        started: &RunStarted,
        order: &Order,
        within: &Path,
        fits: Fits,
        most_bytes: u64,
    ) -> Result<Self, ChangesError> {
        Self::without(records, started, order, within, fits, most_bytes, |_| Ok(BTreeMap::new()))
    }

    /// As [`Self::of`], without the changed paths for which `leave` gives a reason. They are in [`Self::lacks`].
    ///
    /// # Errors
    /// As [`Self::of`], and errors of `leave`.
    pub fn without(
        records: &[Record],
        started: &RunStarted,
        order: &Order,
        within: &Path,
        fits: Fits,
        most_bytes: u64,
        leave: impl FnOnce(&[&[u8]]) -> Result<BTreeMap<Vec<u8>, String>, ChangesError>,
    ) -> Result<Self, ChangesError> {
        let (before, mut after, last) = ends(records, started, order)?;
        let shelf = order.contents.shelf()?;
        // Otherwise the patch would delete them in the folder.
        if fits == Fits::Checkout {
            (after, _) = envoi_tree::with_ignored(&shelf, &before, &after, Later::Snapshot)?;
        }
        let changed = differences(&before, &after);
        let paths: Vec<&[u8]> = changed.iter().map(Difference::path).collect();
        let left_out = leave(&paths)?;
        let of = |found: &Difference<'_>| match left_out.get(found.path()) {
            Some(why) => Some(Lack { path: found.path().to_vec(), why: why.clone() }),
            None => lack(&shelf, found),
        };
        let lacks: Vec<Lack> = changed.iter().filter_map(of).collect();
        // Git does not store empty folders.
        let before = without_folders(&before, &left_out)?;
        let after = without_folders(&after, &left_out)?;
        let found = differences(&before, &after);
        check_size(&found, most_bytes)?;
        // The name has the process id, so that the folder of a killed process can be found and removed.
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
        let is_whole = fits == Fits::Workspace && !last.moving && left.is_empty() && lacks.is_empty();
        let whole = is_whole.then_some(last.digest);
        Ok(Self { files: Self::files_in(&bytes), bytes, left, lacks, whole })
    }

    /// How many files a git patch changes. No line of a content begins like this, because git prefixes those.
    #[must_use]
    pub fn files_in(patch: &[u8]) -> u64 {
        let lines = patch.split(|byte| *byte == b'\n');
        u64::try_from(lines.filter(|line| line.starts_with(b"diff --git ")).count()).unwrap_or(u64::MAX)
    }

    /// The patch, after comment lines about the changes that it lacks: git skips lines before the first file.
    #[must_use]
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        if !self.lacks.is_empty() {
            text.extend_from_slice(LACKING.as_bytes());
        }
        for Lack { path, why } in &self.lacks {
            let path = printable(&String::from_utf8_lossy(path));
            text.extend_from_slice(format!("# {path}: {why}\n").as_bytes());
        }
        text.extend_from_slice(&self.bytes);
        text
    }

    /// The lines of [`Self::text`] about lacking changes, one for each.
    #[must_use]
    pub fn lacks_in(text: &[u8]) -> Vec<String> {
        let Some(rest) = text.strip_prefix(LACKING.as_bytes()) else { return Vec::new() };
        let lines = rest.split(|byte| *byte == b'\n').map_while(|line| line.strip_prefix(b"# "));
        lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    }
}

fn check_size(found: &[Difference<'_>], most: u64) -> Result<(), ChangesError> {
    let sides = found.iter().flat_map(|found| [found.before, found.after]).flatten();
    let bytes = sides.filter_map(Entry::content).fold(0, |sum: u64, (_, size)| sum.saturating_add(size));
    match bytes > most {
        true => Err(ChangesError::TooLarge { bytes, most }),
        false => Ok(()),
    }
}

/// The first line of a patch that lacks changes.
const LACKING: &str = "# Not in this patch, because git cannot carry it or the run has not kept it:\n";

/// Why a difference is not, or not completely, in a patch. `None` if it is.
fn lack(shelf: &Shelf, found: &Difference<'_>) -> Option<Lack> {
    let sides = || [found.before, found.after].into_iter().flatten();
    let why = if sides().any(|entry| matches!(entry.what, What::LeftOut { .. })) {
        "its content was not kept: it was too large, or could not be read".to_owned()
    } else if sides().filter_map(Entry::content).any(|(digest, _)| !shelf.has(&digest)) {
        "its content is not in the store".to_owned()
    } else {
        not_by_git(found.before.map(state), found.after.map(state))?
    };
    Some(Lack { path: found.path().to_vec(), why })
}

/// The part of a change with existing contents that git does not store.
fn not_by_git(before: Option<State>, after: Option<State>) -> Option<String> {
    match (before, after) {
        (Some(State::Folder(before)), Some(State::Folder(mode))) => {
            (before != mode).then(|| format!("the permissions of the empty folder are {mode:03o}"))
        }
        (_, Some(State::Folder(_))) => Some("it is an empty folder now".to_owned()),
        (Some(State::Folder(_)), None) => Some("the empty folder is gone".to_owned()),
        (before, Some(State::File(mode))) => {
            let has_changed = match before {
                // Git leaves the other permissions as they were.
                Some(State::File(before)) if (before ^ mode) & OWNER_RUNS == 0 => before != mode,
                // Git makes the file new, with its default permissions.
                _ => (mode ^ made_by_git(mode)) & !OTHERS_WRITE != 0,
            };
            has_changed.then(|| format!("its permissions are {mode:03o}"))
        }
        _ => None,
    }
}

/// The only permission that git stores.
const OWNER_RUNS: u32 = 0o100;

/// Permissions that depend on a person's umask, not on a run.
const OTHERS_WRITE: u32 = 0o022;

fn made_by_git(mode: u32) -> u32 {
    if mode & OWNER_RUNS != 0 { 0o755 } else { 0o644 }
}

/// The kind of an entry, as far as a patch needs it.
enum State {
    File(u32),
    Folder(u32),
    Other,
}

fn state(entry: &Entry) -> State {
    match entry.what {
        What::File { .. } => State::File(entry.mode),
        What::EmptyFolder => State::Folder(entry.mode),
        What::Link { .. } | What::LeftOut { .. } => State::Other,
    }
}

/// The first state of the run, and its last snapshot.
fn ends(
    records: &[Record],
    started: &RunStarted,
    order: &Order,
) -> Result<(Tree, Tree, Snapshot), ChangesError> {
    let (start, end) = states::range(&snapshots::taken(records), None)?;
    let shelf = order.contents.shelf()?;
    let kept = |point: Point| match point {
        Point::Kept { snapshot, .. } => Ok(snapshot),
        Point::Now => Err(ChangesError::store("a run has no last snapshot")),
    };
    let base = match started.isolated.as_deref() {
        Some(isolated) => isolated.base,
        None => kept(start)?.digest,
    };
    let last = kept(end)?;
    Ok((tree_of(&shelf, &base)?, tree_of(&shelf, &last.digest)?, last))
}

/// The path of the workspace in the checkout of a git repository: empty at its top, and without a repository.
fn below_top(started: &RunStarted, index: &Path, stop: &Stop) -> String {
    let folder = started.isolated.as_deref().map_or(started.workspace.as_str(), |isolated| &isolated.of);
    let prefix = prefix(Path::new(folder), index, stop);
    // The folder is gone, or git does not answer there. The run's own tree has the same path.
    let in_tree = || {
        let place = &started.isolated.as_deref()?.place;
        Path::new(&started.workspace).strip_prefix(place).ok()?.to_str().map(str::to_owned)
    };
    prefix.or_else(in_tree).unwrap_or_default()
}

/// The path that git reports. If git would block on a pipe, the path is found from the folder that contains
/// the repository.
fn prefix(folder: &Path, index: &Path, stop: &Stop) -> Option<String> {
    let top = folder.ancestors().find(|above| std::fs::symlink_metadata(above.join(".git")).is_ok());
    match top.filter(|top| check_readable(top).is_err()) {
        Some(top) => folder.strip_prefix(top).ok()?.to_str().map(str::to_owned),
        None => At { folder, index }.run_until(stop, &["rev-parse", "--show-prefix"]).ok(),
    }
}

fn without_folders(tree: &Tree, left_out: &BTreeMap<Vec<u8>, String>) -> Result<Tree, ChangesError> {
    let is_in =
        |entry: &&Entry| !matches!(entry.what, What::EmptyFolder) && !left_out.contains_key(&entry.path);
    let files = tree.entries().iter().filter(is_in);
    Ok(Tree::new(files.cloned().collect())?)
}

/// Writes these files to a folder. Returns those whose content is not kept.
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
    use envoi_contract::code::Code;
    use std::{
        fs,
        process::Command,
        sync::atomic::{AtomicUsize, Ordering},
    };

    fn file(path: &str, size: u64) -> Entry {
        let digest = Digest::of(format!("{path} {size}").as_bytes());
        Entry { path: path.into(), mode: 0o644, what: What::File { digest, size } }
    }

    #[test]
    fn what_both_sides_have_is_counted_and_past_the_bound_it_is_a_patch_that_is_too_large() {
        let before = Tree::new(vec![file("same", 900), file("changed", 40)]).unwrap();
        let after = Tree::new(vec![file("same", 900), file("changed", 50), file("new", 10)]).unwrap();
        let found = differences(&before, &after);
        assert!(check_size(&found, 100).is_ok());
        let error = check_size(&found, 99).unwrap_err();
        assert_eq!(error.code(), Code::PatchTooLarge);
        assert!(error.to_string().contains("100 bytes, and at most 99"), "{error}");
    }

    #[test]
    fn what_a_patch_lacks_stands_before_it_and_is_read_from_there() {
        let lack = |path: &str| Lack { path: path.into(), why: "its permissions are 600".into() };
        let bytes = b"diff --git a/x b/x\n# no lack\n".to_vec();
        let patch =
            Patch { bytes: bytes.clone(), files: 1, left: Vec::new(), lacks: Vec::new(), whole: None };
        assert_eq!((patch.text(), Patch::lacks_in(&bytes)), (bytes, Vec::new()));
        let patch = Patch { lacks: vec![lack("key"), lack("a\nb")], ..patch };
        let expected = ["key: its permissions are 600", "a\\nb: its permissions are 600"];
        assert_eq!(Patch::lacks_in(&patch.text()), expected);
        assert_eq!(Patch::files_in(&patch.text()), 1);
    }

    #[test]
    fn an_empty_folder_that_comes_goes_or_gets_other_permissions_is_lacking() {
        use State::{File, Folder, Other};
        for before in [None, Some(File(0o644)), Some(Other)] {
            assert_eq!(not_by_git(before, Some(Folder(0o755))).as_deref(), Some("it is an empty folder now"));
        }
        assert_eq!(not_by_git(Some(Folder(0o755)), None).as_deref(), Some("the empty folder is gone"));
        let other = not_by_git(Some(Folder(0o755)), Some(Folder(0o700)));
        assert_eq!(other.as_deref(), Some("the permissions of the empty folder are 700"));
        for (before, after) in [
            (Some(Folder(0o755)), Some(Folder(0o755))),
            (Some(Folder(0o755)), Some(File(0o644))),
            (Some(Folder(0o755)), Some(Other)),
            (Some(File(0o644)), None),
        ] {
            assert_eq!(not_by_git(before, after), None);
        }
    }

    #[test]
    fn git_is_not_asked_where_it_would_wait_for_a_pipe() {
        let place = tempfile::tempdir().unwrap();
        let done = |command: &mut Command| assert!(command.status().unwrap().success(), "{command:?}");
        done(Command::new("git").args(["init", "-q"]).current_dir(place.path()));
        let folder = place.path().join("below/it");
        fs::create_dir_all(&folder).unwrap();
        // A blocked git would block for ever, so it is ended after some checks.
        let looks = AtomicUsize::new(0);
        let stop = Stop::when(move || looks.fetch_add(1, Ordering::Relaxed) > 100);
        let index = place.path().join("index");
        assert_eq!(prefix(&folder, &index, &stop).as_deref(), Some("below/it/"));
        fs::remove_file(place.path().join(".git/config")).unwrap();
        done(Command::new("mkfifo").arg(place.path().join(".git/config")));
        assert_eq!(prefix(&folder, &index, &stop).as_deref(), Some("below/it"));
    }
}
