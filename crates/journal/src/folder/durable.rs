//! Folders and files that are still there after the power failed, and atomic replacement.
//!
//! Owns temp + rename and the order of fsyncs. Knows nothing of what is written.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
};

/// Makes `folder` and its parents, and makes each new entry durable in its parent.
pub(crate) fn create_folders(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> =
        folder.ancestors().take_while(|f| !f.as_os_str().is_empty() && !f.is_dir()).collect();
    for folder in missing.into_iter().rev() {
        match fs::create_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => sync_folder(parent(folder))?,
        }
    }
    Ok(())
}

/// Makes an empty file, if there is none, that only its owner may read. SQLite gives the files beside it the same mode.
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    File::options().write(true).create(true).truncate(false).mode(0o600).open(path).map(drop)
}

/// Makes what was created, renamed or removed in `folder` durable.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Makes all that was written to the file system of `folder` durable: one call for many files.
pub(crate) fn sync_file_system(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(folder)?)?)
}

/// The folder that `path` lies in.
pub(crate) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A file that has no lasting name yet. Removed when dropped before [`Temporary::rename`].
#[derive(Debug)]
pub(crate) struct Temporary {
    path: Option<PathBuf>,
}

impl Temporary {
    /// Makes an empty file with a name of its own in `folder`.
    pub(crate) fn create(folder: &Path) -> io::Result<(Self, File)> {
        Self::create_with(folder, 0o600)
    }

    /// As [`Temporary::create`], with these permissions. The file that is open can be written in any case.
    pub(crate) fn create_with(folder: &Path, mode: u32) -> io::Result<(Self, File)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let name = format!(".new-{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let path = folder.join(name);
            match File::options().read(true).write(true).create_new(true).mode(mode).open(&path) {
                Ok(file) => return Ok((Self { path: Some(path) }, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Where it is now.
    pub(crate) fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new(""))
    }

    /// Gives the file its lasting name, replacing what had it.
    pub(crate) fn rename(self, target: &Path) -> io::Result<()> {
        self.rename_by(|path| fs::rename(path, target))
    }

    /// As [`Temporary::rename`], by a rename of the caller's.
    pub(crate) fn rename_by(mut self, rename: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        if let Some(path) = &self.path {
            rename(path)?;
        }
        self.path = None;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Nothing refers to it, and `repair` sweeps what stays.
            drop(fs::remove_file(path));
        }
    }
}
