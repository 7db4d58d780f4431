//! The store that all machines of a cluster share: bytes under names, written once.
//!
//! Owns the interface and its only implementation: a folder that all machines can reach. The bytes under a
//! name never change, so two machines that write one name at the same time write the same bytes.

use envoi_durable::Temporary;
use envoi_restate::Unavailable;
use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// The most bytes under one name. They are read into memory.
pub(crate) const MOST_BYTES: u64 = 1024 * 1024 * 1024;

/// A store of blobs by name. A name is a path with `/`, of letters, digits, `-`, `_` and `.`.
pub trait BlobStore: Send + Sync + 'static {
    /// The bytes under a name. `None` if there are none.
    ///
    /// # Errors
    /// [`Unavailable`]: it is not known whether they exist.
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, Unavailable>;

    /// Stores bytes under a name, unless the name exists. Durable when it returns.
    ///
    /// # Errors
    /// [`Unavailable`]: they may not be stored.
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), Unavailable>;
}

/// A folder that all machines can reach: on one machine, or on a shared file system.
#[derive(Debug, Clone)]
pub struct Folder(PathBuf);

impl Folder {
    /// Opens the folder, and makes it if it is missing.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(path: &Path) -> io::Result<Self> {
        envoi_durable::create_folders(path)?;
        Ok(Self(path.to_owned()))
    }

    fn failed(&self, name: &str, error: &io::Error) -> Unavailable {
        Unavailable { reason: format!("`{}`: {error}", self.0.join(name).display()) }
    }
}

impl BlobStore for Folder {
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, Unavailable> {
        match envoi_durable::read_regular(&self.0.join(name), MOST_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some).map_err(|error| self.failed(name, &error)),
        }
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), Unavailable> {
        let place = self.0.join(name);
        check_size(&place, bytes.len(), MOST_BYTES)?;
        let put = || {
            let folder = envoi_durable::parent(&place);
            if place.is_file() {
                // The process that put it there may have been killed before the name was durable, so sync it.
                return envoi_durable::sync_folder(folder);
            }
            envoi_durable::create_folders(folder)?;
            let (temporary, mut file) = Temporary::create(folder)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            // False: another machine was first, with the same bytes.
            temporary.publish(&place).map(drop)
        };
        put().map_err(|error| self.failed(name, &error))
    }
}

/// Refuses content that is too large to be read again.
fn check_size(place: &Path, bytes: usize, most: u64) -> Result<(), Unavailable> {
    if u64::try_from(bytes).is_ok_and(|bytes| bytes <= most) {
        return Ok(());
    }
    Err(Unavailable {
        reason: format!("`{}`: {bytes} bytes, and at most {most} can be kept", place.display()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_under_a_name_stays_there() {
        let folder = tempfile::tempdir().unwrap();
        let store = Folder::open(&folder.path().join("shared/contents")).unwrap();
        assert_eq!(store.get("runs/run_1/0").unwrap(), None);
        store.put("runs/run_1/0", b"first").unwrap();
        store.put("runs/run_1/0", b"second").unwrap();
        assert_eq!(store.get("runs/run_1/0").unwrap().as_deref(), Some(&b"first"[..]));
        assert_eq!(std::fs::read_dir(folder.path().join("shared/contents/runs/run_1")).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_read_is_not_taken_for_missing() {
        let folder = tempfile::tempdir().unwrap();
        let store = Folder::open(folder.path()).unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        assert!(store.get("a").is_err());
        std::fs::write(folder.path().join("file"), "").unwrap();
        let error = store.put("file/b", b"x").unwrap_err();
        assert!(error.reason.contains("file/b"), "{error}");
    }

    #[test]
    fn what_could_not_be_read_again_is_not_written() {
        let place = Path::new("contents/sha256/ab");
        assert!(check_size(place, 8, 8).is_ok());
        assert!(check_size(place, 9, 8).unwrap_err().reason.contains("9 bytes, and at most 8"));
    }
}
