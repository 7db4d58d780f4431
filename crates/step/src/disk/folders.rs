//! Folders whose names are durable.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Makes `path` and what is missing above it, and syncs each folder that got a new name.
pub(crate) fn create_dir_all(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let missing: Vec<&Path> = path.ancestors().take_while(|folder| !folder.exists()).collect();
    fs::create_dir_all(path)?;
    missing.into_iter().filter_map(Path::parent).try_for_each(sync_dir)
}

/// Syncs the names in a folder.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(path)?.sync_all()
}
