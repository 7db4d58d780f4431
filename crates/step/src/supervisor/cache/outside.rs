//! Finds files that the command has written and that are not artifacts: a later restore of the result would
//! not have them.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;

use envoi_tree::{Entry, Tree, What, differences};
use walkdir::WalkDir;

use crate::attempt::spec::Spec;
use crate::workspace::artifacts::is_artifact;

/// The most entries that are visited: more than any folder that can be kept.
const MOST_ENTRIES: usize = 1_000_000;

/// File times lag behind the system clock by a tick or two.
const TICK_MS: i64 = 20;

/// Which file it is, or why that is not known.
#[derive(Debug, thiserror::Error)]
pub(super) enum Outside {
    #[error("the command has changed `{0}`, which no pattern of `artifacts` names")]
    Changed(String),
    #[error("the command has written `{0}`, which is ignored and which no pattern of `artifacts` names")]
    Ignored(String),
    #[error("the command has made or removed the empty folder `{0}`, and only files are kept")]
    Folder(String),
    #[error("the folder has more than {MOST_ENTRIES} files")]
    TooMany,
    #[error("a folder cannot be looked at: {0}")]
    Unreadable(#[from] walkdir::Error),
}

/// Fails if there is such a file. `is_known`: whether the file's changes are known although it is not an
/// artifact.
pub(super) fn look(
    spec: &Spec,
    is_known: impl Fn(&str) -> bool,
    before: &Tree,
    after: &Tree,
    since_ms: u64,
) -> Result<(), Outside> {
    let is_left = |path: &str| is_artifact(&spec.artifacts, path) || is_known(path);
    for difference in differences(before, after) {
        let path = String::from_utf8_lossy(difference.path()).into_owned();
        let is_folder = |entry: Option<&Entry>| entry.is_some_and(|entry| entry.what == What::EmptyFolder);
        let is_known = match (difference.before, difference.after) {
            // The folder became empty, or stopped being empty, because of a file in it.
            (None, after) if is_folder(after) => before.has_below(difference.path()),
            (before, None) if is_folder(before) => after.has_below(difference.path()),
            _ if is_left(&path) => true,
            _ => return Err(Outside::Changed(path)),
        };
        if !is_known {
            return Err(Outside::Folder(path));
        }
    }
    ignored(spec, is_left, after, since_ms)
}

/// Uses the time of the last change of metadata (ctime), which the system sets and no program can set back.
fn ignored(spec: &Spec, is_left: impl Fn(&str) -> bool, after: &Tree, since_ms: u64) -> Result<(), Outside> {
    let since_ms = i64::try_from(since_ms).unwrap_or(i64::MAX).saturating_sub(TICK_MS);
    let identity = |path: &std::path::Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let never: Vec<_> = spec.never.iter().filter_map(|folder| identity(folder)).collect();
    let enters = |entry: &walkdir::DirEntry| {
        let is_ours = entry.depth() > 0 && [".git", ".envoi"].iter().any(|name| entry.file_name() == *name);
        let is_folder = entry.file_type().is_dir();
        let is_never = is_folder && identity(entry.path()).is_some_and(|found| never.contains(&found));
        !is_ours && !is_never
    };
    for (nth, entry) in WalkDir::new(&spec.workspace).into_iter().filter_entry(enters).enumerate() {
        if nth > MOST_ENTRIES {
            return Err(Outside::TooMany);
        }
        let entry = entry?;
        if entry.file_type().is_dir() {
            continue;
        }
        let Ok(path) = entry.path().strip_prefix(&spec.workspace) else { continue };
        if after.get(path.as_os_str().as_bytes()).is_some() {
            continue;
        }
        // A file that no longer exists is not left by the command.
        let Ok(found) = fs::symlink_metadata(entry.path()) else { continue };
        let changed_ms = found.ctime().saturating_mul(1_000).saturating_add(found.ctime_nsec() / 1_000_000);
        // Some file systems store whole seconds only.
        let most_ms = if found.ctime_nsec() == 0 { changed_ms.saturating_add(999) } else { changed_ms };
        let path = path.to_string_lossy();
        if most_ms >= since_ms && !is_left(&path) {
            return Err(Outside::Ignored(path.into_owned()));
        }
    }
    Ok(())
}
