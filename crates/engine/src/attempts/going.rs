//! A folder that is to go.
//!
//! Owns the search for contents that no snapshot keeps, the obstacles to its removal, and the removal.

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

/// Whether the database of a store is at `path`: another file may have its name. A file that cannot be read counts as one.
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

/// The processes that work in the folder or below it, or the mounts there, in a sentence: the folder must not go, whatever is in it.
/// `store`: the folder of the store whose own runs are known not to be there.
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

/// A removal would empty a mount in the folder.
pub(crate) fn mounted(folder: &Path) -> Option<String> {
    match envoi_durable::mount_below(folder) {
        Ok(None) => None,
        Ok(Some(place)) => Some(format!("something is mounted at `{}`", place.display())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(format!("what is mounted in it is not known: {error}")),
    }
}

/// The data of git and of stores that would be lost with the folder, in a sentence. `is_worktree`: it was made as a worktree of git.
pub(crate) fn history_lost_with(folder: &Path, is_worktree: bool) -> Option<String> {
    // A worktree has a file `.git` at its root.
    let own = folder.join(".git");
    let is_own = is_worktree && fs::symlink_metadata(&own).is_ok_and(|found| found.is_file());
    if let Some(found) = history_below(folder, if is_own { Some(own.as_path()) } else { None }) {
        return Some(match found {
            Found::Store(store) => {
                let store = below(folder, store.parent().unwrap_or(&store)).display().to_string();
                format!("no snapshot keeps the runs of the store in `./{store}`")
            }
            Found::Repository(place) => {
                format!("no snapshot keeps the history in `{}`", below(folder, &place).display())
            }
            Found::Unreadable(place, error) => {
                format!("no snapshot keeps what is in `{}`: {error}", below(folder, &place).display())
            }
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

/// Contents that no snapshot has, and their place.
enum Found {
    /// The database of a store.
    Store(PathBuf),
    /// `.git`, but for the folder's own link to a repository.
    Repository(PathBuf),
    /// A folder that cannot be listed. Snapshots pass it over.
    Unreadable(PathBuf, io::Error),
}

fn below<'a>(folder: &Path, place: &'a Path) -> &'a Path {
    place.strip_prefix(folder).unwrap_or(place)
}

fn history_below(folder: &Path, own: Option<&Path>) -> Option<Found> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Some(Found::Unreadable(folder, error)),
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return Some(Found::Unreadable(folder, error)),
            };
            let path = entry.path();
            let kind = entry.file_type();
            let is_store = entry.file_name() == STORE_FILE
                && kind.as_ref().is_ok_and(fs::FileType::is_file)
                && is_store_file(&path);
            if is_store {
                return Some(Found::Store(path));
            }
            if entry.file_name() == ".git" && Some(path.as_path()) != own {
                return Some(Found::Repository(path));
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_folder_that_cannot_be_listed_is_lost_with_the_tree() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("read")).unwrap();
        assert_eq!(history_lost_with(place.path(), false), None);
        // Its path is too long to be opened. A folder without permissions can always be read by root.
        let deep = "n=$(printf '%0250d' 0); for i in $(seq 18); do mkdir $n && cd -P $n || exit 1; done";
        let made = Command::new("sh").args(["-c", deep]).current_dir(place.path()).status().unwrap();
        assert!(made.success());
        let why = history_lost_with(place.path(), false).unwrap();
        assert!(why.starts_with("no snapshot keeps what is in `0000"), "{why}");
        assert!(why.contains("File name too long"), "{why}");
    }
}
