//! Contents by digest: single files, in the form in which the store keeps artifacts, and packs.

use crate::disk::pack::{Pack, pack_paths};
use envoi_contract::digest::Digest;
use envoi_durable::{open_regular, read_regular};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

/// The places of the contents of a store. All of them are on one file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// Single files: the first two digits of a digest name a folder, the others a file in it.
    pub files: PathBuf,
    /// Files that have no name yet.
    pub temporary: PathBuf,
    /// Packs.
    pub packs: PathBuf,
}

/// Why a content cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// The store does not have it.
    #[error("content `{digest}` is not in the store")]
    Missing {
        /// The content.
        digest: Digest,
    },
    /// The stored content has another digest.
    #[error("content `{digest}` is damaged, in `{}`", place.display())]
    Damaged {
        /// The content.
        digest: Digest,
        /// The file that was read.
        place: PathBuf,
    },
    /// The system failed.
    #[error("`{}`: {source}", place.display())]
    Io {
        /// The path.
        place: PathBuf,
        /// The error.
        source: io::Error,
    },
}

impl Contents {
    /// Makes the folders that are missing. Safe to repeat.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn create(&self) -> io::Result<()> {
        for folder in [&self.files, &self.temporary, &self.packs] {
            fs::create_dir_all(folder)?;
        }
        Ok(())
    }

    /// The file of a content that is not in a pack.
    #[must_use]
    pub fn file(&self, digest: &Digest) -> PathBuf {
        let hex = digest.hex();
        let (head, tail) = hex.split_at_checked(2).unwrap_or((&hex, ""));
        self.files.join(head).join(tail)
    }

    /// Opens the packs that are there now. A pack that cannot be read is passed over: its contents count as missing.
    ///
    /// # Errors
    /// The folder of packs cannot be read.
    pub fn shelf(&self) -> io::Result<Shelf> {
        let open = |path: PathBuf| Pack::open(&path).ok().map(|pack| (path, pack));
        // A pack that is laid aside or brought back meanwhile is found in one of three looks.
        let first: BTreeSet<_> = self.pack_paths()?.into_iter().collect();
        let mut packs: Vec<_> = first.iter().cloned().filter_map(open).collect();
        let old_packs = pack_paths(&self.old_packs())?.into_iter().filter_map(open).collect();
        packs.extend(self.pack_paths()?.into_iter().filter(|path| !first.contains(path)).filter_map(open));
        Ok(Shelf { contents: self.clone(), packs, old_packs })
    }

    /// As [`Contents::shelf`], but with every pack that is there: the contents of an unreadable pack are not
    /// known.
    ///
    /// # Errors
    /// A pack cannot be read.
    pub fn whole_shelf(&self) -> io::Result<Shelf> {
        let open = |path: PathBuf| match Pack::open(&path) {
            Err(error) => Err(io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))),
            Ok(pack) => Ok((path, pack)),
        };
        let all = |paths: Vec<PathBuf>| paths.into_iter().map(open).collect::<io::Result<Vec<_>>>();
        let (packs, old_packs) = (all(self.pack_paths()?)?, all(pack_paths(&self.old_packs())?)?);
        Ok(Shelf { contents: self.clone(), packs, old_packs })
    }

    /// Packs that cannot be read, each with the reason.
    pub(crate) fn broken_packs(&self) -> io::Result<Vec<(PathBuf, io::Error)>> {
        let broken = |path: PathBuf| Pack::open(&path).err().map(|error| (path, error));
        Ok(self.pack_paths()?.into_iter().filter_map(broken).collect())
    }

    /// Packs that were laid aside.
    pub(crate) fn old_packs(&self) -> PathBuf {
        self.old().join("packs")
    }

    /// The file of a content that was laid aside.
    pub(crate) fn old_file(&self, digest: &Digest) -> PathBuf {
        self.old().join("sha256").join(digest.hex())
    }

    fn old(&self) -> PathBuf {
        self.packs.with_file_name("old")
    }

    /// Packs that are not laid aside.
    pub(crate) fn pack_paths(&self) -> io::Result<Vec<PathBuf>> {
        pack_paths(&self.packs)
    }
}

/// Contents, with the packs open.
#[derive(Debug)]
pub struct Shelf {
    contents: Contents,
    packs: Vec<(PathBuf, Pack)>,
    /// They are read, and nothing relies on them that puts a content.
    old_packs: Vec<(PathBuf, Pack)>,
}

impl Shelf {
    /// The store that it reads.
    #[must_use]
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Whether the content is there. It is not read.
    #[must_use]
    pub fn has(&self, digest: &Digest) -> bool {
        self.packs.iter().any(|(_, pack)| pack.find(digest).is_some())
            || fs::symlink_metadata(self.contents.file(digest)).is_ok_and(|found| found.is_file())
    }

    /// As [`Shelf::has`], of a content with so many bytes: a file of another length under its name does not count, because it is damaged.
    pub(crate) fn has_whole(&self, digest: &Digest, bytes: u64) -> bool {
        let is_whole = |found: fs::Metadata| found.is_file() && found.len() == bytes;
        self.packs.iter().any(|(_, pack)| pack.find(digest).is_some())
            || fs::symlink_metadata(self.contents.file(digest)).is_ok_and(is_whole)
    }

    /// The content, verified.
    ///
    /// # Errors
    /// See [`ContentError`].
    pub fn read(&self, digest: &Digest) -> Result<Vec<u8>, ContentError> {
        let mut trouble = ContentError::Missing { digest: *digest };
        let single = |file: PathBuf| match open_regular(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            _ => Some((read_regular(&file, u64::MAX), file)),
        };
        let packed = self
            .packs
            .iter()
            .chain(&self.old_packs)
            .filter_map(|(path, pack)| pack.find(digest).map(|place| (pack.read(place), path.clone())));
        // It may be laid aside or brought back meanwhile.
        let place = self.contents.file(digest);
        let places = [place.clone(), self.contents.old_file(digest), place];
        for (read, place) in places.into_iter().filter_map(single).chain(packed) {
            match check(digest, &place, read) {
                Ok(bytes) => return Ok(bytes),
                Err(error) => trouble = error,
            }
        }
        Err(trouble)
    }
}

fn check(digest: &Digest, place: &Path, read: io::Result<Vec<u8>>) -> Result<Vec<u8>, ContentError> {
    let place = place.to_owned();
    match read {
        Ok(bytes) if Digest::of(&bytes) == *digest => Ok(bytes),
        Ok(_) => Err(ContentError::Damaged { digest: *digest, place }),
        Err(source) => Err(ContentError::Io { place, source }),
    }
}
