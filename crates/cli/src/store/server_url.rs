//! Where the server of a store is found: `.envoi/server.url`, which the server keeps locked for as long as it runs.
//!
//! A server that was killed leaves its file. The lock is gone with the process, so that the file is not taken for a server.

use envoi_journal::Layout;
use rustix::fs::OFlags;
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::PathBuf,
};

/// The longest file that is read; an address is shorter.
const MOST_BYTES: u64 = 4096;

/// The announcement of a server. It stands until [`Announced::end`], or until the process is gone.
pub(crate) struct Announced {
    file: File,
    path: PathBuf,
}

impl Announced {
    /// Says where the server of this store is found; `None` if the machine refuses: `envoi page` then looks into the
    /// configuration.
    pub(crate) fn new(layout: &Layout, url: &str) -> Option<Self> {
        let path = layout.server_url();
        // A file of its own: the one of a server that is replaced stays that server's.
        fs::remove_file(&path).ok();
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path).ok()?;
        // A process that looks whether a server runs holds it for a moment.
        file.lock().ok()?;
        file.write_all(format!("{url}\n").as_bytes()).ok()?;
        Some(Self { file, path })
    }

    /// The server ends. A file that another server has put there meanwhile stays.
    pub(crate) fn end(self) {
        let place = |found: fs::Metadata| (found.dev(), found.ino());
        let ours = self.file.metadata().ok().map(place);
        if ours.is_some() && fs::symlink_metadata(&self.path).ok().map(place) == ours {
            fs::remove_file(&self.path).ok();
        }
    }
}

/// Where the server of this store is found, without a slash at the end; `None` if none runs.
pub(crate) fn running(layout: &Layout) -> Option<String> {
    // A step may have put a pipe there.
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
        // As if the process had been killed: the file is there, and nobody holds it.
        drop(second);
        assert!(layout.server_url().exists());
        assert_eq!(running(&layout), None);
    }
}
