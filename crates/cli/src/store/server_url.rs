//! The address of a store's server: `.envoi/server.url`, which the server keeps locked while it runs.
//!
//! A killed server leaves its file. Its lock ends with the process, so the file does not count as a running
//! server.

use envoi_journal::Layout;
use rustix::fs::OFlags;
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::PathBuf,
};

/// The most bytes that are read. An address is shorter.
const MOST_BYTES: u64 = 4096;

/// The announcement of a server. It is valid until [`Announced::end`], or until the process ends.
pub(crate) struct Announced {
    file: File,
    path: PathBuf,
}

impl Announced {
    /// Announces the address of this server. Returns `None` if the file cannot be written: `envoi page` then
    /// uses the configuration.
    pub(crate) fn new(layout: &Layout, url: &str) -> Option<Self> {
        let path = layout.server_url();
        // A new file, because a server that is being replaced keeps its own file.
        fs::remove_file(&path).ok();
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path).ok()?;
        // Another process that checks for a server holds the lock for a moment.
        file.lock().ok()?;
        file.write_all(format!("{url}\n").as_bytes()).ok()?;
        Some(Self { file, path })
    }

    /// Removes the announcement. A file of another server is left in place.
    pub(crate) fn end(self) {
        let place = |found: fs::Metadata| (found.dev(), found.ino());
        let ours = self.file.metadata().ok().map(place);
        if ours.is_some() && fs::symlink_metadata(&self.path).ok().map(place) == ours {
            fs::remove_file(&self.path).ok();
        }
    }
}

/// The address of the running server, without a slash at the end. `None` if none runs.
pub(crate) fn running(layout: &Layout) -> Option<String> {
    // A step may have put a pipe there, so opening must not block.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(layout.server_url()).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {}
        Ok(()) | Err(TryLockError::Error(_)) => return None,
    }
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    Some(text.trim().trim_end_matches('/').to_owned()).filter(|url| !url.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_journal::Layout;

    #[test]
    fn a_server_is_found_while_it_runs_and_only_its_owner_reads_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        assert_eq!(running(&layout), None);
        let first = Announced::new(&layout, "http://127.0.0.1:1/").unwrap();
        assert_eq!(running(&layout).as_deref(), Some("http://127.0.0.1:1"));
        let second = Announced::new(&layout, "http://127.0.0.1:2").unwrap();
        first.end();
        assert_eq!(running(&layout).as_deref(), Some("http://127.0.0.1:2"), "the other server's stays");
        // As after a killed process: the file exists without a lock.
        drop(second);
        assert!(layout.server_url().exists());
        assert_eq!(running(&layout), None);
    }
}
