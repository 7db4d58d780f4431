//! Folders and files that a command has closed to their own owner (`chmod 0500`, `0000`): opened for as long as they are looked
//! through.
//!
//! An administrator is kept out by no permission; an ordinary user is, although nothing but a change of mode is in the way. No link is
//! followed. What belongs to another user stays closed, and is an error.

use rustix::fs::{Mode, OFlags, open};
use std::{
    fs::{self, File, Permissions},
    io,
    os::{
        fd::AsRawFd as _,
        unix::fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
};

/// What the owner needs to look through a folder, and to put other files in the place of those in it.
const OF_FOLDER: u32 = 0o700;
/// What the owner needs to read a file.
const OF_FILE: u32 = 0o400;

/// Opens a folder or a regular file to its owner. Returns the mode that it had, if that was another one. Anything else stays as it is.
///
/// # Errors
/// There is nothing, or it belongs to another user.
pub(crate) fn open_to_owner(path: &Path) -> io::Result<Option<u32>> {
    let needed = |found: &fs::Metadata| match (found.is_dir(), found.is_file()) {
        (true, _) => OF_FOLDER,
        (_, true) => OF_FILE,
        _ => 0,
    };
    let lacks = |found: &fs::Metadata| found.mode() & needed(found) != needed(found);
    if !lacks(&fs::symlink_metadata(path)?) {
        return Ok(None);
    }
    let file = File::from(open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?);
    // It may be another one by now.
    let found = file.metadata()?;
    if !lacks(&found) {
        return Ok(None);
    }
    let mode = found.mode() & 0o7777;
    let place = format!("/proc/self/fd/{}", file.as_raw_fd());
    fs::set_permissions(place, Permissions::from_mode(mode | needed(&found)))?;
    Ok(Some(mode))
}

/// What was opened, which is closed again with this value.
#[derive(Debug, Default)]
pub(crate) struct Opened(Vec<(PathBuf, u32)>);

impl Opened {
    /// As [`open_to_owner`].
    pub(crate) fn open(&mut self, path: &Path) -> io::Result<()> {
        if let Some(mode) = open_to_owner(path)? {
            self.0.push((path.to_owned(), mode));
        }
        Ok(())
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // Those below come first: they are reached through those above.
        for (path, mode) in self.0.drain(..).rev() {
            // Such a path is that of an open file, whose number may be another's by now.
            let is_lasting = !path.starts_with("/proc/self/fd");
            // What was removed meanwhile has no mode.
            if is_lasting && fs::symlink_metadata(&path).is_ok_and(|found| !found.is_symlink()) {
                let _ = fs::set_permissions(&path, Permissions::from_mode(mode));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_was_closed_is_open_for_a_while_and_links_are_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let mode = |name: &str| fs::metadata(at(name)).unwrap().mode() & 0o7777;
        let close = |name: &str, mode| fs::set_permissions(at(name), Permissions::from_mode(mode)).unwrap();
        fs::create_dir_all(at("a/b")).unwrap();
        fs::create_dir(at("other")).unwrap();
        fs::write(at("a/b/file"), "x").unwrap();
        symlink(at("other"), at("a/link")).unwrap();
        close("other", 0o500);
        close("a/b/file", 0o000);
        close("a/b", 0o500);
        close("a", 0o000);
        let mut opened = Opened::default();
        for name in ["a", "a/b", "a/b/file", "a/link"] {
            opened.open(&at(name)).unwrap();
        }
        assert_eq!(["a", "a/b", "a/b/file", "other"].map(mode), [0o700, 0o700, 0o400, 0o500]);
        drop(opened);
        assert_eq!(mode("a"), 0);
        close("a", 0o700);
        assert_eq!(mode("a/b"), 0o500);
        close("a/b", 0o700);
        assert_eq!(mode("a/b/file"), 0);
    }
}
