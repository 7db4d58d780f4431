//! Content by digest, in files: for what is too large for the database.
//!
//! Owns the order write, fdatasync, rename, fsync of the folder, and the check of what is read. The events define which
//! content exists; content that none of them names is harmless.

use crate::{
    folder::{
        beneath::{self, PathBeneath},
        layout::Layout,
    },
    model::error::BlobError,
};
use envoi_contract::digest::Digest;
use envoi_durable::{Sparse, Temporary};
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeSet,
    fs::{File, Permissions},
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

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Stores bytes. Returns after they and their name are durable; writes nothing that is already there.
    ///
    /// # Errors
    /// [`BlobError::Io`].
    pub fn put(&self, bytes: &[u8]) -> Result<Digest, BlobError> {
        let digest = Digest::of(bytes);
        self.store(digest, |file, at| file.write_all(bytes).map_err(|error| failed(at, error)))?;
        Ok(digest)
    }

    /// Stores a copy of the file at `path`, which must have this digest and size. Durable as [`Blobs::put`].
    ///
    /// # Errors
    /// [`BlobError::Mismatch`] when the file is not what was announced; [`BlobError::Io`].
    pub fn put_file(&self, path: &Path, expected: Digest, size_bytes: u64) -> Result<(), BlobError> {
        let source = envoi_durable::open_regular(path)
            .map_err(|source| BlobError::Io { path: path.to_owned(), source })?;
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
        self.store(expected, |file, at| fill_from(file, at, source, path, expected, size_bytes))
    }

    /// Stores copies of several open files, each of which must have its digest and size; their paths are for messages. All are
    /// durable when it returns: their file system is synced twice for all of them, in place of three syncs a file.
    ///
    /// # Errors
    /// As [`Blobs::put_file`]; contents that were stored before are harmless.
    pub fn put_all(&self, files: Vec<(File, PathBuf, Digest, u64)>) -> Result<(), BlobError> {
        let mut filled = Vec::new();
        for (source, path, digest, size_bytes) in files {
            self.spot(&self.layout.blob(&digest))?;
            if self.is_in_place(&digest) {
                continue;
            }
            let (temporary, mut file) = beneath::temporary(&self.layout)?;
            fill_from(&mut file, temporary.path(), source, &path, digest, size_bytes)?;
            file.set_permissions(Permissions::from_mode(0o400))
                .map_err(|error| failed(temporary.path(), error))?;
            filled.push((temporary, digest));
        }
        let sync = |folder: PathBuf| {
            envoi_durable::sync_file_system(&folder).map_err(|error| failed(&folder, error))
        };
        // The contents before the names: a name must never exist for bytes that are not on disk.
        sync(self.layout.temporary())?;
        for (temporary, digest) in filled {
            let place = self.layout.blob(&digest);
            let spot = self.spot(&place)?;
            temporary.rename_by(|from| spot.take_path(from)).map_err(|error| failed(&place, error))?;
        }
        sync(self.layout.artifacts())
    }

    /// A place for content that comes piece by piece.
    ///
    /// # Errors
    /// [`BlobError::Io`].
    pub fn receive(&self) -> Result<Incoming, BlobError> {
        let (temporary, file) = beneath::temporary(&self.layout)?;
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
        match self.open_at(digest, self.layout.blob(digest)) {
            Err(BlobError::Missing { .. }) => {}
            opened => return opened,
        }
        match self.open_at(digest, self.layout.old_blob(digest)) {
            // It may be brought back meanwhile.
            Err(BlobError::Missing { .. }) => self.open_at(digest, self.layout.blob(digest)),
            opened => opened,
        }
    }

    fn open_at(&self, digest: &Digest, place: PathBuf) -> Result<File, BlobError> {
        let opened = match PathBeneath::find(self.layout.root(), &place) {
            Ok(spot) => spot.open(),
            Err(blocked) if blocked.source.kind() == io::ErrorKind::NotFound => Err(blocked.source),
            Err(blocked) => return Err(blocked.into()),
        };
        match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(BlobError::Missing { digest: *digest })
            }
            Err(error) if envoi_durable::is_not_regular(&error) => {
                Err(BlobError::NotRegular { expected: *digest, place })
            }
            opened => opened.map_err(|source| BlobError::Io { path: place, source }),
        }
    }

    /// Reads a file that [`Blobs::open`] has just opened to its end, and checks whether its bytes are the right
    /// ones.
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

    /// Writes the bytes with this digest to `target`, a piece at a time, and then checks whether they were the right
    /// ones: the output may be used only after `Ok`.
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
        fill: impl FnOnce(&mut File, &Path) -> Result<(), BlobError>,
    ) -> Result<(), BlobError> {
        let place = self.layout.blob(&digest);
        let spot = self.spot(&place)?;
        if self.is_in_place(&digest) {
            // The process that put it may have been killed before its name was durable.
            return spot.sync().map_err(|error| failed(&place, error));
        }
        let (temporary, mut file) = beneath::temporary(&self.layout)?;
        fill(&mut file, temporary.path())?;
        self.settle(temporary, &file, digest)
    }

    /// Whether the content need not be written. A content that was laid aside is about to go, and is written again.
    fn is_in_place(&self, digest: &Digest) -> bool {
        let there = self.open_at(digest, self.layout.blob(digest));
        there.is_ok_and(|file| self.verify(digest, &file).is_ok())
    }

    /// Makes a whole file lasting under its digest.
    fn settle(&self, temporary: Temporary, file: &File, digest: Digest) -> Result<(), BlobError> {
        let place = self.layout.blob(&digest);
        let spot = self.spot(&place)?;
        // For its owner alone: an artifact may hold a secret, and is kept as it is.
        let written = file.set_permissions(Permissions::from_mode(0o400)).and_then(|()| file.sync_data());
        written.map_err(|error| failed(temporary.path(), error))?;
        let renamed = temporary.rename_by(|from| spot.take_path(from)).and_then(|()| spot.sync());
        renamed.map_err(|error| failed(&place, error))
    }

    /// The place of a content that exists or will be made. The first call in a process makes its folder, if it is missing, and makes that
    /// durable.
    fn spot<'p>(&self, place: &'p Path) -> Result<PathBeneath<'p>, BlobError> {
        let folder = envoi_durable::parent(place);
        let known = || self.durable.lock().unwrap_or_else(PoisonError::into_inner);
        if known().contains(folder)
            && let Ok(spot) = PathBeneath::find(self.layout.root(), place)
        {
            return Ok(spot);
        }
        let spot = PathBeneath::make(self.layout.root(), place)?;
        envoi_durable::sync_folder(envoi_durable::parent(folder)).map_err(|error| failed(folder, error))?;
        known().insert(folder.to_owned());
        Ok(spot)
    }
}

fn failed(path: &Path, source: io::Error) -> BlobError {
    BlobError::Io { path: path.to_owned(), source }
}

/// Copies `source`, which lies at `path`, into `file`, which lies at `at`.
fn fill_from(
    file: &mut File,
    at: &Path,
    source: File,
    path: &Path,
    expected: Digest,
    size_bytes: u64,
) -> Result<(), BlobError> {
    let mut to = Sparse::new(file);
    let copied = copy(source, &mut to).and_then(|copied| to.finish().map(|()| copied));
    let (found, found_bytes) = copied.map_err(|error| failed(at, error))?;
    if found == expected && found_bytes == size_bytes {
        return Ok(());
    }
    let path = path.to_owned();
    Err(BlobError::Mismatch { path, expected, found, expected_bytes: size_bytes, found_bytes })
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
        self.file.write_all(piece).map_err(|error| failed(self.temporary.path(), error))
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
    use std::{fs, os::unix::fs::MetadataExt as _};

    fn blobs() -> (tempfile::TempDir, Layout, Blobs) {
        let place = tempfile::tempdir().unwrap();
        let layout = Layout::new(place.path().join(".envoi"));
        layout.create().unwrap();
        (place, layout.clone(), Blobs::new(layout))
    }

    fn large() -> Vec<u8> {
        (0_u32..200_000).flat_map(u32::to_le_bytes).collect()
    }

    /// A sparse file that looks long cannot fill the disk of the store.
    #[test]
    fn holes_of_a_file_take_no_room_in_the_store() {
        let (place, layout, blobs) = blobs();
        let path = place.path().join("sparse");
        let file = File::create(&path).unwrap();
        file.set_len(8 << 20).unwrap();
        let (digest, size_bytes) = copy(File::open(&path).unwrap(), &mut io::sink()).unwrap();
        let source = File::open(&path).unwrap();
        blobs.put_file(&path, digest, size_bytes).unwrap();
        let kept = || fs::metadata(layout.blob(&digest)).unwrap();
        assert!(kept().len() == 8 << 20 && kept().blocks() * 512 < 1 << 20, "{:?}", kept());
        fs::remove_file(layout.blob(&digest)).unwrap();
        blobs.put_all(vec![(source, path, digest, size_bytes)]).unwrap();
        assert!(kept().len() == 8 << 20 && kept().blocks() * 512 < 1 << 20, "{:?}", kept());
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
        let stored = layout.blob(&digest);
        let elsewhere = place.path().join("elsewhere");
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

    /// An error names anything in the place of a folder of the store, with its cause; nothing is read or written behind it.
    #[test]
    fn content_is_neither_read_nor_stored_through_a_link() {
        let (place, layout, blobs) = blobs();
        let old = blobs.put(&large()).unwrap();
        let new = &large()[4..];
        let outside = place.path().join("outside");
        let head = envoi_durable::parent(&layout.blob(&Digest::of(new))).to_owned();
        fs::create_dir_all(&head).unwrap();
        let folders = [
            head,
            envoi_durable::parent(&layout.blob(&old)).to_owned(),
            layout.artifacts(),
            layout.temporary(),
        ];
        for folder in folders.into_iter().chain([layout.root().join("artifacts")]) {
            for is_link in [true, false] {
                fs::rename(&folder, &outside).unwrap();
                match is_link {
                    true => std::os::unix::fs::symlink(&outside, &folder).unwrap(),
                    false => fs::write(&folder, "").unwrap(),
                }
                let count = || fs::read_dir(&outside).unwrap().count();
                let before = count();
                let is_named = |error: &BlobError| {
                    let message =
                        format!("`{}` cannot be read or written: a folder belongs there", folder.display());
                    crate::with_causes(error).starts_with(&message)
                };
                let path = place.path().join("new");
                fs::write(&path, new).unwrap();
                let sources =
                    || vec![(File::open(&path).unwrap(), path.clone(), Digest::of(new), new.len() as u64)];
                let puts = [
                    blobs.put(new).err(),
                    Blobs::new(layout.clone()).put(new).err(),
                    blobs.put_all(sources()).err(),
                    blobs.receive().and_then(|mut incoming| incoming.write(new).and(incoming.finish())).err(),
                ];
                let reads = [blobs.get(&old).map(drop).err(), blobs.size_bytes(&old).map(drop).err()];
                if folder != envoi_durable::parent(&layout.blob(&old)) {
                    assert!(puts.iter().flatten().count() == 4, "{}: {puts:?}", folder.display());
                }
                if layout.blob(&old).starts_with(&folder) {
                    assert!(reads.iter().flatten().count() == 2, "{}: {reads:?}", folder.display());
                }
                for error in puts.into_iter().flatten().chain(reads.into_iter().flatten()) {
                    assert!(is_named(&error), "{}: {error}", folder.display());
                }
                assert_eq!(count(), before, "{}", folder.display());
                fs::remove_file(&folder).unwrap();
                fs::rename(&outside, &folder).unwrap();
                let _ = fs::remove_file(layout.blob(&Digest::of(new)));
            }
            assert_eq!(blobs.get(&old).unwrap(), large());
        }
        assert_eq!(blobs.put(new).unwrap(), Digest::of(new));
    }

    #[test]
    fn a_removed_folder_is_made_again() {
        let (_place, layout, blobs) = blobs();
        blobs.put(&large()).unwrap();
        fs::remove_dir_all(layout.root().join("artifacts")).unwrap();
        let digest = blobs.put(&large()).unwrap();
        assert_eq!(blobs.get(&digest).unwrap(), large());
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
