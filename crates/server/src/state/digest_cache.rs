//! Records which content files were compared with their digest, so that serving a part does not need to read
//! the whole file.
//!
//! A file counts as compared as long as its device, inode, size and both of its times are the same. A write
//! to it, or another file in its place, changes one of them; the time of change (ctime) cannot be set back. A
//! disk that loses data changes none of them. That is found when the file is compared again, by another
//! process or after the entry was dropped, and by a client that compares the content with the ETag.

use std::{
    collections::BTreeMap,
    fs::File,
    io,
    os::unix::fs::MetadataExt as _,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The most recorded files. If there are more, all are dropped, and are compared again.
const MOST: usize = 4_096;

/// Identifies an unchanged file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    fn of(file: &File) -> io::Result<Self> {
        let found = file.metadata()?;
        Ok(Self {
            device: found.dev(),
            inode: found.ino(),
            size: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

/// The files that were compared.
#[derive(Default)]
pub(crate) struct DigestCache {
    known: Mutex<BTreeMap<[u8; 32], Identity>>,
}

impl DigestCache {
    /// Compares the open file of this digest with `compare`, unless it was compared before and has not
    /// changed.
    ///
    /// # Errors
    /// Those of `compare`, and of reading the file's metadata.
    pub(crate) fn check_once<E: From<io::Error>>(
        &self,
        digest: &[u8; 32],
        file: &File,
        compare: impl FnOnce(&File) -> Result<(), E>,
    ) -> Result<(), E> {
        let before = Identity::of(file)?;
        if self.lock().get(digest) == Some(&before) {
            return Ok(());
        }
        compare(file)?;
        // A file that was changed meanwhile is not the one that was compared.
        if Identity::of(file)? == before {
            let mut known = self.lock();
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(*digest, before);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<[u8; 32], Identity>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{cell::Cell, fs, time::SystemTime};

    const DIGEST: [u8; 32] = [7; 32];

    #[test]
    fn a_file_is_compared_once_while_it_is_the_same() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("content");
        fs::write(&path, "words").unwrap();
        let cache = DigestCache::default();
        let compared = Cell::new(0);
        let look = |digest: &[u8; 32]| {
            let file = File::open(&path).unwrap();
            cache.check_once::<io::Error>(digest, &file, |_| {
                compared.set(compared.get() + 1);
                Ok(())
            })
        };
        for _ in 0..3 {
            look(&DIGEST).unwrap();
        }
        assert_eq!(compared.get(), 1);
        look(&[8; 32]).unwrap();
        assert_eq!(compared.get(), 2, "for another digest it is another comparison");
        // Other bytes of the same size, with the old modification time. The clock of a file system may go in steps.
        let modified: SystemTime = fs::metadata(&path).unwrap().modified().unwrap();
        let changed = || fs::metadata(&path).map(|found| (found.ctime(), found.ctime_nsec())).unwrap();
        let before = changed();
        while changed() == before {
            fs::write(&path, "other").unwrap();
            File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        }
        look(&DIGEST).unwrap();
        assert_eq!(compared.get(), 3);
        fs::remove_file(&path).unwrap();
        fs::write(&path, "other").unwrap();
        look(&DIGEST).unwrap();
        assert_eq!(compared.get(), 4, "another file in its place");
    }

    #[test]
    fn what_does_not_compare_or_changes_meanwhile_is_compared_again() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("content");
        fs::write(&path, "words").unwrap();
        let cache = DigestCache::default();
        let file = File::open(&path).unwrap();
        let damaged = || io::Error::other("damaged");
        assert!(cache.check_once(&DIGEST, &file, |_| Err(damaged())).is_err());
        cache.check_once::<io::Error>(&DIGEST, &file, |_| fs::write(&path, "longer words")).unwrap();
        assert!(cache.check_once(&DIGEST, &file, |_| Err(damaged())).is_err());
    }
}
