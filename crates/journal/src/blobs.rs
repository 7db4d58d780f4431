//! Content by digest, in files: for what is too large for the database.
//!
//! Owns the order write, fdatasync, rename, fsync of the folder, and the check of what is read. Which content exists is
//! the events' to say; content that none of them names is harmless.

use crate::{durable, durable::Temporary, error::BlobError, layout::Layout, plain};
use envoi_contract::digest::Digest;
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeSet,
    fs::{self, File, Permissions},
    io::{self, Read, Write},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// The largest content that goes into the database, within the commit that refers to it: 16 KiB. A row that large costs
/// the one fsync of its commit less than three fsyncs of its own would.
pub const INLINE_MAX_BYTES: usize = 16 * 1024;

/// Bytes that are read at a time.
const CHUNK_BYTES: usize = 64 * 1024;

/// The content files of one store. Cheap to clone; every method may be called from any thread.
#[derive(Debug, Clone)]
pub struct Blobs {
    layout: Layout,
    /// Folders whose entry in their parent this process has made durable.
    durable: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Blobs {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { layout, durable: Arc::default() }
    }

    /// Stores bytes. Returns after they and their name are durable; writes nothing that is already there.
    ///
    /// # Errors
    /// [`BlobError::Io`].
    pub fn put(&self, bytes: &[u8]) -> Result<Digest, BlobError> {
        let digest = Digest::of(bytes);
        self.store(digest, |file| file.write_all(bytes).map_err(|error| self.failed(error)))?;
        Ok(digest)
    }

    /// Stores a copy of the file at `path`, which must have this digest and size. Durable as [`Blobs::put`].
    ///
    /// # Errors
    /// [`BlobError::Mismatch`] when the file is not what was announced; [`BlobError::Io`].
    pub fn put_file(&self, path: &Path, expected: Digest, size_bytes: u64) -> Result<(), BlobError> {
        let source = plain::open(path).map_err(|source| BlobError::Io { path: path.to_owned(), source })?;
        self.put_open(source, path, expected, size_bytes)
    }

    /// As [`Blobs::put_file`], of a file that is open; `path` is where it lies, for messages.
    ///
    /// # Errors
    /// As [`Blobs::put_file`].
    pub fn put_open(
        &self,
        source: File,
        path: &Path,
        expected: Digest,
        size_bytes: u64,
    ) -> Result<(), BlobError> {
        self.store(expected, |file| self.fill_from(file, (source, path), expected, size_bytes))
    }

    fn fill_from(
        &self,
        file: &mut File,
        (source, path): (File, &Path),
        expected: Digest,
        size_bytes: u64,
    ) -> Result<(), BlobError> {
        let (found, found_bytes) = copy(source, file).map_err(|error| self.failed(error))?;
        if found == expected && found_bytes == size_bytes {
            return Ok(());
        }
        let path = path.to_owned();
        Err(BlobError::Mismatch { path, expected, found, expected_bytes: size_bytes, found_bytes })
    }

    /// Stores copies of several open files, each of which must have its digest and size; their paths are for messages. All are
    /// durable when it returns: their file system is synced twice, whatever their number, in place of three syncs a file.
    ///
    /// # Errors
    /// As [`Blobs::put_file`]; what was stored before is harmless.
    pub fn put_all(&self, files: Vec<(File, PathBuf, Digest, u64)>) -> Result<(), BlobError> {
        let mut filled = Vec::new();
        for (source, path, digest, size_bytes) in files {
            self.ensure_folder(durable::parent(&self.layout.blob(&digest)))?;
            if self.write_to(&digest, &mut io::sink()).is_ok() {
                continue;
            }
            let (temporary, mut file) =
                Temporary::create(&self.layout.temporary()).map_err(|error| self.failed(error))?;
            self.fill_from(&mut file, (source, &path), digest, size_bytes)?;
            file.set_permissions(Permissions::from_mode(0o400)).map_err(|error| self.failed(error))?;
            filled.push((temporary, digest));
        }
        let settle = || {
            // The contents before the names: a name never stands for bytes that are not on disk.
            durable::sync_file_system(&self.layout.temporary())?;
            for (temporary, digest) in filled {
                temporary.rename(&self.layout.blob(&digest))?;
            }
            durable::sync_file_system(&self.layout.artifacts())
        };
        settle().map_err(|error| self.failed(error))
    }

    /// A place for content that comes piece by piece.
    ///
    /// # Errors
    /// [`BlobError::Io`].
    pub fn receive(&self) -> Result<Incoming, BlobError> {
        let (temporary, file) =
            Temporary::create(&self.layout.temporary()).map_err(|error| self.failed(error))?;
        Ok(Incoming { blobs: self.clone(), temporary, file, hasher: Sha256::new(), size_bytes: 0 })
    }

    /// The bytes with this digest, verified.
    ///
    /// # Errors
    /// [`BlobError::Missing`], [`BlobError::Damaged`], [`BlobError::NotRegular`], [`BlobError::Io`].
    pub fn get(&self, digest: &Digest) -> Result<Vec<u8>, BlobError> {
        let mut bytes = Vec::new();
        self.write_to(digest, &mut bytes)?;
        Ok(bytes)
    }

    /// The file with this digest, not yet verified: its bytes are to be used after [`Blobs::verify`].
    ///
    /// # Errors
    /// [`BlobError::Missing`], [`BlobError::NotRegular`], [`BlobError::Io`].
    pub fn open(&self, digest: &Digest) -> Result<File, BlobError> {
        let place = self.layout.blob(digest);
        match plain::open(&place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(BlobError::Missing { digest: *digest })
            }
            Err(error) if plain::is_not_regular(&error) => {
                Err(BlobError::NotRegular { expected: *digest, place })
            }
            opened => opened.map_err(|source| BlobError::Io { path: place, source }),
        }
    }

    /// Reads a file that [`Blobs::open`] has just opened to its end, and says whether its bytes are the right ones.
    ///
    /// # Errors
    /// [`BlobError::Damaged`], [`BlobError::Io`].
    pub fn verify(&self, digest: &Digest, file: &File) -> Result<(), BlobError> {
        self.write_from(digest, file, &mut io::sink())
    }

    /// How many bytes the file with this digest has; none of them is read.
    ///
    /// # Errors
    /// As [`Blobs::open`].
    pub fn size_bytes(&self, digest: &Digest) -> Result<u64, BlobError> {
        let size = self.open(digest)?.metadata().map(|found| found.len());
        size.map_err(|source| BlobError::Io { path: self.layout.blob(digest), source })
    }

    /// Writes the bytes with this digest to `target`, a piece at a time, and then says whether they were the right ones:
    /// what was written is to be used only after `Ok`.
    ///
    /// # Errors
    /// As [`Blobs::get`].
    pub fn write_to(&self, digest: &Digest, target: &mut dyn Write) -> Result<(), BlobError> {
        self.write_from(digest, &self.open(digest)?, target)
    }

    fn write_from(&self, digest: &Digest, file: &File, target: &mut dyn Write) -> Result<(), BlobError> {
        let place = self.layout.blob(digest);
        let (found, _) =
            copy(file, target).map_err(|source| BlobError::Io { path: place.clone(), source })?;
        if found == *digest { Ok(()) } else { Err(BlobError::Damaged { expected: *digest, found, place }) }
    }

    fn store(
        &self,
        digest: Digest,
        fill: impl FnOnce(&mut File) -> Result<(), BlobError>,
    ) -> Result<(), BlobError> {
        let target = self.layout.blob(&digest);
        let folder = durable::parent(&target);
        self.ensure_folder(folder)?;
        if self.write_to(&digest, &mut io::sink()).is_ok() {
            // Whoever put it may have been killed before its name was durable.
            return durable::sync_folder(folder).map_err(|error| self.failed(error));
        }
        let (temporary, mut file) =
            Temporary::create(&self.layout.temporary()).map_err(|error| self.failed(error))?;
        fill(&mut file)?;
        self.settle(temporary, &file, digest)
    }

    /// Makes a whole file lasting under its digest.
    fn settle(&self, temporary: Temporary, file: &File, digest: Digest) -> Result<(), BlobError> {
        let target = self.layout.blob(&digest);
        let settle = || {
            // For its owner alone: an artifact may hold a secret, and is kept as it is.
            file.set_permissions(Permissions::from_mode(0o400))?;
            file.sync_data()?;
            temporary.rename(&target)?;
            durable::sync_folder(durable::parent(&target))
        };
        settle().map_err(|error| self.failed(error))
    }

    /// Makes sure once a process that a folder is there and stays, whoever made it.
    fn ensure_folder(&self, folder: &Path) -> Result<(), BlobError> {
        let known = || self.durable.lock().unwrap_or_else(PoisonError::into_inner);
        if known().contains(folder) {
            return Ok(());
        }
        let make = || {
            fs::create_dir_all(folder)?;
            durable::sync_folder(durable::parent(folder))
        };
        make().map_err(|error| self.failed(error))?;
        known().insert(folder.to_owned());
        Ok(())
    }

    fn failed(&self, source: io::Error) -> BlobError {
        BlobError::Io { path: self.layout.artifacts(), source }
    }
}

/// Content that is being received; gone when dropped before [`Incoming::finish`].
#[derive(Debug)]
pub struct Incoming {
    blobs: Blobs,
    temporary: Temporary,
    file: File,
    hasher: Sha256,
    size_bytes: u64,
}

impl Incoming {
    /// Takes the next piece.
    ///
    /// # Errors
    /// [`BlobError::Io`].
    pub fn write(&mut self, piece: &[u8]) -> Result<(), BlobError> {
        self.hasher.update(piece);
        self.size_bytes = self.size_bytes.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
        self.file.write_all(piece).map_err(|error| self.blobs.failed(error))
    }

    /// Bytes so far.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// That was all: the content is in the store and durable when this returns its digest and size.
    ///
    /// # Errors
    /// [`BlobError::Io`].
    pub fn finish(self) -> Result<(Digest, u64), BlobError> {
        let Self { blobs, temporary, file, hasher, size_bytes } = self;
        let digest = Digest::from_bytes(hasher.finalize().into());
        blobs.ensure_folder(durable::parent(&blobs.layout.blob(&digest)))?;
        blobs.settle(temporary, &file, digest)?;
        Ok((digest, size_bytes))
    }
}

/// Copies to the end; returns digest and size of what was copied.
pub(crate) fn copy(mut source: impl Read, target: &mut (impl Write + ?Sized)) -> io::Result<(Digest, u64)> {
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut size_bytes = 0_u64;
    loop {
        let length = match source.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            length => length?,
        };
        let piece = chunk.get(..length).unwrap_or_default();
        if piece.is_empty() {
            return Ok((Digest::from_bytes(hasher.finalize().into()), size_bytes));
        }
        hasher.update(piece);
        target.write_all(piece)?;
        size_bytes = size_bytes.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    fn blobs() -> (tempfile::TempDir, Layout, Blobs) {
        let place = tempfile::tempdir().unwrap();
        let layout = Layout::new(place.path().join(".envoi"));
        layout.create().unwrap();
        (place, layout.clone(), Blobs::new(layout))
    }

    fn large() -> Vec<u8> {
        (0_u32..200_000).flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn what_was_put_is_read_back_and_nothing_else_is_left() {
        let (_place, layout, blobs) = blobs();
        let digest = blobs.put(&large()).unwrap();
        assert_eq!(digest, Digest::of(&large()));
        assert_eq!(blobs.get(&digest).unwrap(), large());
        assert_eq!(fs::read_dir(layout.temporary()).unwrap().count(), 0);
        assert_eq!(fs::metadata(layout.blob(&digest)).unwrap().mode() & 0o777, 0o400);
    }

    #[test]
    fn content_that_comes_in_pieces_is_stored_whole_or_not_at_all() {
        let (_place, layout, blobs) = blobs();
        let mut incoming = blobs.receive().unwrap();
        large().chunks(70_001).for_each(|piece| incoming.write(piece).unwrap());
        assert_eq!(incoming.size_bytes(), 800_000);
        let digest = Digest::of(&large());
        assert!(matches!(blobs.get(&digest), Err(BlobError::Missing { .. })));
        assert_eq!(incoming.finish().unwrap(), (digest, 800_000));
        assert_eq!(blobs.get(&digest).unwrap(), large());
        let mut broken_off = blobs.receive().unwrap();
        broken_off.write(b"half").unwrap();
        drop(broken_off);
        assert_eq!(fs::read_dir(layout.temporary()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_there_is_not_written_again() {
        let (_place, layout, blobs) = blobs();
        let digest = blobs.put(&large()).unwrap();
        let inode = || fs::metadata(layout.blob(&digest)).unwrap().ino();
        let before = inode();
        blobs.put(&large()).unwrap();
        assert_eq!(inode(), before);
    }

    #[test]
    fn damage_is_seen_when_read_and_healed_when_put_again() {
        let (_place, layout, blobs) = blobs();
        let digest = blobs.put(&large()).unwrap();
        fs::remove_file(layout.blob(&digest)).unwrap();
        assert!(matches!(blobs.get(&digest), Err(BlobError::Missing { .. })));
        fs::write(layout.blob(&digest), b"other").unwrap();
        let error = blobs.get(&digest).unwrap_err();
        assert!(
            matches!(error, BlobError::Damaged { found, .. } if found == Digest::of(b"other")),
            "{error}"
        );
        blobs.put(&large()).unwrap();
        assert_eq!(blobs.get(&digest).unwrap(), large());
    }

    #[test]
    fn what_is_no_regular_file_is_no_content() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let (place, layout, blobs) = blobs();
        let digest = blobs.put(&large()).unwrap();
        let (stored, elsewhere) = (layout.blob(&digest), place.path().join("elsewhere"));
        fs::rename(&stored, &elsewhere).unwrap();
        let pipe = |at: &Path| mknodat(CWD, at, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let link = |at: &Path| std::os::unix::fs::symlink(&elsewhere, at).unwrap();
        for put in [&pipe as &dyn Fn(&Path), &link] {
            put(&stored);
            for error in [blobs.get(&digest).unwrap_err(), blobs.size_bytes(&digest).unwrap_err()] {
                assert!(matches!(error, BlobError::NotRegular { .. }), "{error}");
            }
            assert!(blobs.put_file(&stored, digest, 800_000).is_err());
            blobs.put(&large()).unwrap();
            assert_eq!(blobs.get(&digest).unwrap(), large());
            fs::remove_file(&stored).unwrap();
        }
    }

    #[test]
    fn a_file_that_is_not_what_was_announced_is_not_stored() {
        let (place, layout, blobs) = blobs();
        let path = place.path().join("out");
        fs::write(&path, large()).unwrap();
        let digest = Digest::of(&large());
        for (announced, size_bytes) in [(Digest::of(b"x"), 800_000), (digest, 1)] {
            let error = blobs.put_file(&path, announced, size_bytes).unwrap_err();
            assert!(matches!(error, BlobError::Mismatch { found_bytes: 800_000, .. }), "{error}");
            assert!(matches!(blobs.get(&announced), Err(BlobError::Missing { .. })));
        }
        assert_eq!(fs::read_dir(layout.temporary()).unwrap().count(), 0);
        blobs.put_file(&path, digest, 800_000).unwrap();
        assert_eq!(blobs.get(&digest).unwrap(), large());
        assert!(path.exists());
    }
}
