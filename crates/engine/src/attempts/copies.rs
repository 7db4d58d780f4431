//! Copies files into a tree that is being made.
//!
//! Owns that nothing there is overwritten, that no link is followed, and that neither a repository nor a store is copied.

use super::going::STORE_FILE;
use envoi_step::plain;
use std::{
    fs, io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

/// Whether a path below `root` is, or lies in, the folder of a store. The root itself is not looked at.
pub(crate) fn is_of_a_store(root: &Path, path: &Path) -> bool {
    let mut folders = path.ancestors().filter(|above| *above != Path::new(""));
    folders.any(|above| above.ends_with(".envoi") || root.join(above).join(STORE_FILE).is_file())
}

/// Copies what lies at `path` below `from`, unless something is there already. No link is followed, and no store below `from` is copied.
pub(crate) fn bring(from: &Path, to: &Path, path: &Path) -> io::Result<()> {
    // No recursion: a folder can be deeper than the stack of a thread.
    let mut paths: Vec<PathBuf> = vec![path.to_owned()];
    while let Some(path) = paths.pop() {
        let source = from.join(&path);
        let target = to.join(&path);
        let found = fs::symlink_metadata(&source)?;
        if found.is_dir() {
            // The runs of a store go on in one place.
            if path != Path::new("") && source.join(STORE_FILE).is_file() {
                continue;
            }
            fs::create_dir_all(&target)?;
            for entry in fs::read_dir(&source)? {
                let name = entry?.file_name();
                if name != ".git" && name != ".envoi" {
                    paths.push(path.join(name));
                }
            }
        } else if fs::symlink_metadata(&target).is_err() {
            target.parent().map(fs::create_dir_all).transpose()?;
            copy(&source, &target, &found)?;
        }
    }
    Ok(())
}

fn copy(source: &Path, target: &Path, found: &fs::Metadata) -> io::Result<()> {
    if found.is_symlink() {
        std::os::unix::fs::symlink(fs::read_link(source)?, target)?;
    } else if found.is_file() {
        let file = plain::open(source)?;
        let mode = file.metadata()?.permissions();
        let copy = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(target)?;
        envoi_durable::copy_content(&file, &copy)?;
        copy.set_permissions(mode)?;
    }
    Ok(())
}
