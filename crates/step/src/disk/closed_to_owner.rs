//! Opens folders and files that a command has closed to their own owner (`chmod 0500`, `0000`), for as long
//! as they are read.
//!
//! Permissions do not stop an administrator. They stop an ordinary user, although only a change of mode is
//! needed. Links are not followed. Files of another user stay closed, and are an error.

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

/// The mode bits that the owner needs to list a folder, and to replace files in it.
const OF_FOLDER: u32 = 0o700;
/// The mode bit that the owner needs to read a file.
const OF_FILE: u32 = 0o400;

/// Opens a folder or a regular file to its owner. Returns its earlier mode if that was changed. Other kinds
/// of files stay as they are.
///
/// # Errors
/// There is no such file, or it belongs to another user.
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
    // The path may name another file by now, so check the open file.
    let found = file.metadata()?;
    if !lacks(&found) {
        return Ok(None);
    }
    let mode = found.mode() & 0o7777;
    let place = format!("/proc/self/fd/{}", file.as_raw_fd());
    fs::set_permissions(place, Permissions::from_mode(mode | needed(&found)))?;
    Ok(Some(mode))
}

/// The opened files. Dropping it restores their modes.
#[derive(Debug, Default)]
pub(crate) struct Opened(Vec<(PathBuf, u32)>);

impl Opened {
    /// Like [`open_to_owner`].
    pub(crate) fn open(&mut self, path: &Path) -> io::Result<()> {
        if let Some(mode) = open_to_owner(path)? {
            self.0.push((path.to_owned(), mode));
        }
        Ok(())
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // The deepest come first: they are reached through those above.
        for (path, mode) in self.0.drain(..).rev() {
            // Such a path names an open file, whose number may have been reused.
            let is_lasting = !path.starts_with("/proc/self/fd");
            // A file that was removed meanwhile has no mode to restore.
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
