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
    bring_with(from, to, path, &mut |_, error| Err(error))
}

/// As [`bring`], but without what this user may not read. Returns the paths of that.
pub(crate) fn bring_readable(from: &Path, to: &Path, path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut closed = Vec::new();
    bring_with(from, to, path, &mut |path, _| {
        closed.push(path.to_owned());
        Ok(())
    })?;
    Ok(closed)
}

/// `on_closed` gets each entry that may not be read, and says whether the rest is copied. A folder that cannot be listed is not made.
fn bring_with(
    from: &Path,
    to: &Path,
    path: &Path,
    on_closed: &mut dyn FnMut(&Path, io::Error) -> io::Result<()>,
) -> io::Result<()> {
    let mut unless_closed = |path: &Path, error: io::Error| match error.kind() {
        io::ErrorKind::PermissionDenied => on_closed(path, error),
        _ => Err(error),
    };
    // No recursion: a folder can be deeper than the stack of a thread.
    let mut paths: Vec<PathBuf> = vec![path.to_owned()];
    while let Some(path) = paths.pop() {
        let source = from.join(&path);
        let target = to.join(&path);
        let found = match fs::symlink_metadata(&source) {
            Ok(found) => found,
            Err(error) => {
                unless_closed(&path, error)?;
                continue;
            }
        };
        if found.is_dir() {
            // The runs of a store go on in one place.
            if path != Path::new("") && is_store_file(&source.join(STORE_FILE)) {
                continue;
            }
            // The names in a folder may be readable, and nothing that they name: then it is the folder that is closed.
            let searched = |entries| fs::symlink_metadata(source.join(".")).map(|_| entries);
            let entries = match fs::read_dir(&source).and_then(searched) {
                Ok(entries) => entries,
                Err(error) => {
                    unless_closed(&path, error)?;
                    continue;
                }
            };
            fs::create_dir_all(&target)?;
            for entry in entries {
                let name = entry?.file_name();
                if name != ".git" && name != ".envoi" {
                    paths.push(path.join(name));
                }
            }
        } else if fs::symlink_metadata(&target).is_err() {
            let opened = match found.is_file().then(|| plain::open(&source)).transpose() {
                Ok(opened) => opened,
                Err(error) => {
                    unless_closed(&path, error)?;
                    continue;
                }
            };
            target.parent().map(fs::create_dir_all).transpose()?;
            copy(&source, opened, &target, &found)?;
        }
    }
    Ok(())
}

/// Anything but a link or a file that was `opened` is skipped.
fn copy(source: &Path, opened: Option<fs::File>, target: &Path, found: &fs::Metadata) -> io::Result<()> {
    if found.is_symlink() {
        std::os::unix::fs::symlink(fs::read_link(source)?, target)?;
    } else if let Some(file) = opened {
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
    use std::{os::unix::fs::PermissionsExt as _, thread};

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

    /// Root reads everything, so that this is done on a thread of another user.
    fn as_an_ordinary_user<T: Send>(of: &Path, work: impl FnOnce() -> T + Send) -> T {
        let nobody = rustix::process::Uid::from_raw(65_534);
        let is_root = rustix::process::geteuid().is_root();
        if is_root {
            let owner = nobody.as_raw().to_string();
            let chown = std::process::Command::new("chown").args(["-R", &owner]).arg(of).status();
            assert!(chown.unwrap().success());
        }
        let work = move || {
            if is_root {
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            work()
        };
        thread::scope(|scope| scope.spawn(work).join().unwrap())
    }

    #[test]
    fn what_may_not_be_read_is_left_out_and_named_unless_it_was_asked_for() {
        let root = tempfile::tempdir().unwrap();
        let (from, to, all) = (root.path().join("from"), root.path().join("to"), root.path().join("all"));
        for path in ["shut/in", "mute", "near", "deep/shut/in", "deep/near", "names/one", "names/two"] {
            let path = from.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "1").unwrap();
        }
        for folder in [&to, &all] {
            fs::create_dir(folder).unwrap();
        }
        let close = |mode| {
            for path in ["shut", "mute", "deep/shut", "names"] {
                // The names of the files in it can be read, and no more.
                let mode = if path == "names" && mode == 0 { 0o400 } else { mode };
                fs::set_permissions(from.join(path), fs::Permissions::from_mode(mode)).unwrap();
            }
        };
        close(0o000);
        let (mut closed, asked) = as_an_ordinary_user(root.path(), || {
            let closed = bring_readable(&from, &to, Path::new("")).unwrap();
            (closed, bring(&from, &all, Path::new("")))
        });
        close(0o700);
        closed.sort();
        assert_eq!(closed, ["deep/shut", "mute", "names", "shut"].map(PathBuf::from));
        assert!(to.join("near").is_file() && to.join("deep/near").is_file());
        for path in ["shut", "mute", "deep/shut", "names"] {
            assert!(!to.join(path).exists(), "{path}");
        }
        assert_eq!(asked.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
}
