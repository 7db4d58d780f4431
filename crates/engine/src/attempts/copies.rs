//! Copies files into a tree that is being made.
//!
//! Owns that nothing there is overwritten, that no link is followed, and that neither a repository nor a store is copied.

use super::going::{STORE_FILE, is_store_file};
use envoi_step::plain;
use std::{
    fs, io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

/// Whether a path below `root` is, or lies in, the folder of a store. The root itself is not looked at.
pub(crate) fn is_of_a_store(root: &Path, path: &Path) -> bool {
    let mut folders = path.ancestors().filter(|above| *above != Path::new(""));
    folders.any(|above| above.ends_with(".envoi") || is_store_file(&root.join(above).join(STORE_FILE)))
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
            if path != Path::new("") && is_store_file(&source.join(STORE_FILE)) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_not_copied_and_a_file_that_only_has_its_name_is() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = (root.path().join("from"), root.path().join("to"));
        for (folder, content) in
            [("store", &b"SQLite format 3\0 and so on"[..]), ("notes", b"words"), ("empty", b"")]
        {
            fs::create_dir_all(from.join(folder)).unwrap();
            fs::write(from.join(folder).join(STORE_FILE), content).unwrap();
            assert_eq!(is_of_a_store(&from, &Path::new(folder).join("x")), folder == "store");
        }
        fs::create_dir(&to).unwrap();
        bring(&from, &to, Path::new("")).unwrap();
        let came = |folder: &str| to.join(folder).join(STORE_FILE).is_file();
        assert_eq!((came("store"), came("notes"), came("empty")), (false, true, true));
    }
}
