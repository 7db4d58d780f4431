//! A folder that is to go.
//!
//! Owns what is in it that no snapshot keeps, who or what is in the way of its removal, and how it is removed.

use super::git::Git;
use envoi_tree::Stop;
use std::{
    fs,
    io::{self, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// The file by which the folder of a store is known.
pub(crate) const STORE_FILE: &str = "envoi.db";

/// How the database of a store begins.
const STORE_BEGINS: &[u8] = b"SQLite format 3\0";

/// Whether the database of a store is at `path`: another file may have its name. What cannot be read counts as one.
pub(crate) fn is_store_file(path: &Path) -> bool {
    let mut head = Vec::new();
    match envoi_step::plain::open(path) {
        Ok(file) => {
            let most = u64::try_from(STORE_BEGINS.len()).unwrap_or(0);
            file.take(most).read_to_end(&mut head).is_err() || head == STORE_BEGINS
        }
        Err(_) => path.is_file(),
    }
}

/// Why a tree stays in which another store has work.
const OCCUPIED: &str = "a run of another store works there";

/// Who works in the folder or below it, or what is mounted there, in a sentence: it must not go, whatever is in it. `store`: the folder of the
/// store whose own runs are known not to be there.
pub(crate) fn in_the_way(folder: &Path, store: &Path) -> Option<String> {
    occupied(folder, store).or_else(|| mounted(folder))
}

/// Whether a run of another store is at work in the folder or below it.
fn occupied(folder: &Path, store: &Path) -> Option<String> {
    match envoi_step::occupied_below(folder, store) {
        Ok(None) => None,
        Ok(Some(_)) => Some(OCCUPIED.to_owned()),
        Err(error) => Some(format!("who works there is not known: {error}")),
    }
}

/// What is mounted there would be emptied.
pub(crate) fn mounted(folder: &Path) -> Option<String> {
    match envoi_durable::mount_below(folder) {
        Ok(None) => None,
        Ok(Some(place)) => Some(format!("something is mounted at `{}`", place.display())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(format!("what is mounted in it is not known: {error}")),
    }
}

/// What of git and of stores would be lost with the folder, in a sentence. `is_worktree`: it was made as a worktree of git.
pub(crate) fn history_lost_with(folder: &Path, is_worktree: bool) -> Option<String> {
    // A worktree has a file `.git` at its root.
    let own = folder.join(".git");
    let is_own = is_worktree && fs::symlink_metadata(&own).is_ok_and(|found| found.is_file());
    if let Some(found) = history_below(folder, if is_own { Some(own.as_path()) } else { None }) {
        let found = found.strip_prefix(folder).unwrap_or(&found);
        return Some(match found.ends_with(STORE_FILE) {
            true => {
                let store = found.parent().unwrap_or(found);
                format!("no snapshot keeps the runs of the store in `./{}`", store.display())
            }
            false => format!("no snapshot keeps the history in `{}`", found.display()),
        });
    }
    if !is_own {
        return None;
    }
    match Git::new(&Stop::default()).lost_commits(folder) {
        Ok(lost) => lost,
        Err(error) => Some(format!("it is not known whether its commits are on a branch: {error}")),
    }
}

/// A repository of git, but for the folder's own link to one, or the database of a store.
fn history_below(folder: &Path, own: Option<&Path>) -> Option<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let kind = entry.file_type();
            let is_store = entry.file_name() == STORE_FILE
                && kind.as_ref().is_ok_and(fs::FileType::is_file)
                && is_store_file(&path);
            if is_store || entry.file_name() == ".git" && Some(path.as_path()) != own {
                return Some(path);
            }
            if kind.is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            }
        }
    }
    None
}

/// Also folders that may not be written to, as some package managers leave them.
pub(crate) fn remove_all(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_folders(folder)?;
            fs::remove_dir_all(folder)
        }
        done => done,
    }
}

fn open_folders(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_folders(&entry.path())?;
        }
    }
    Ok(())
}
