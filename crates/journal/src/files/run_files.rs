//! The source of the files of one run, and how one of them is replaced or compared.

use crate::{
    folder::{
        beneath::{self, PathBeneath},
        blobs,
        layout::Layout,
    },
    log::reader::Reader,
    model::error::FileError,
};
use envoi_contract::digest::Digest;
use envoi_durable::Temporary;
use envoi_kernel::ids::RunId;
use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// The source and the target of the files of one run.
pub(super) struct RunFiles<'a> {
    pub(super) layout: &'a Layout,
    pub(super) reader: &'a Reader,
    pub(super) run: &'a RunId,
}

impl RunFiles<'_> {
    /// The digest of a file of the run, if it is there as a regular file and no link leads to it.
    pub(super) fn digest_of(&self, path: &Path) -> Option<Digest> {
        digest_below(self.layout, path)
    }

    /// Puts a new file, which only its owner may read, in the place of the old one, with its folders.
    pub(super) fn replace(
        &self,
        target: &Path,
        fill: impl FnOnce(&mut File) -> Result<(), Fill>,
    ) -> Result<(), FileError> {
        let failed = |source| FileError::Io { path: target.to_owned(), source };
        let spot = PathBeneath::make(self.layout.root(), target)?;
        let temporary = self.filled(fill)?;
        temporary.rename_by(|from| spot.take_path(from)).map_err(failed)
    }

    /// As [`RunFiles::replace`], then the same for a file with the same bytes and a shorter name in the same folder, which is opened
    /// once for both.
    pub(super) fn replace_both(&self, target: &Path, shorter: &OsStr, bytes: &[u8]) -> Result<(), FileError> {
        let spot = PathBeneath::make(self.layout.root(), target)?;
        let fill = || self.filled(|file| Ok(file.write_all(bytes)?));
        let failed = |path: PathBuf| move |source| FileError::Io { path, source };
        fill()?.rename_by(|from| spot.take_path(from)).map_err(failed(target.to_owned()))?;
        let beside = |from: &Path| spot.take_path_beside(shorter, from);
        fill()?.rename_by(beside).map_err(failed(target.with_file_name(shorter)))
    }

    /// A new read-only file, without a lasting name.
    fn filled(&self, fill: impl FnOnce(&mut File) -> Result<(), Fill>) -> Result<Temporary, FileError> {
        let (temporary, mut file) = beneath::temporary_of(self.layout, 0o400)?;
        fill(&mut file).map_err(|fill| fill.of(temporary.path()))?;
        Ok(temporary)
    }
}

/// Why a new file could not be filled.
pub(super) enum Fill {
    Machine(io::Error),
    Other(FileError),
}

impl Fill {
    fn of(self, path: &Path) -> FileError {
        match self {
            Self::Machine(source) => FileError::Io { path: path.to_owned(), source },
            Self::Other(error) => error,
        }
    }
}

impl From<io::Error> for Fill {
    fn from(error: io::Error) -> Self {
        Self::Machine(error)
    }
}

impl From<crate::model::error::BlobError> for Fill {
    fn from(error: crate::model::error::BlobError) -> Self {
        Self::Other(error.into())
    }
}

/// The result of a restoration.
#[derive(Default)]
pub(crate) struct Restored {
    /// RunFiles that were missing or differed.
    pub(crate) written: Vec<PathBuf>,
    /// Artifacts that have no place, as `flow/path`.
    pub(crate) unplaceable: Vec<String>,
}

/// The digest of the regular file of the store at `target`, if it can be reached and read.
pub(crate) fn digest_below(layout: &Layout, target: &Path) -> Option<Digest> {
    let file = PathBeneath::find(layout.root(), target).ok()?.open().ok()?;
    blobs::copy(file, &mut io::sink()).ok().map(|(digest, _)| digest)
}

/// The obstacle for a file of the store at `target`, if there is one: something else in the place of a folder, or a folder
/// in the place of the file. A missing folder is no obstacle.
pub(crate) fn in_the_way(layout: &Layout, target: &Path) -> Option<PathBuf> {
    let below = target.strip_prefix(layout.root()).ok()?;
    let mut place = layout.root().to_owned();
    let mut names = below.iter().peekable();
    while let Some(name) = names.next() {
        place.push(name);
        let found = place.symlink_metadata().ok()?;
        if found.is_dir() != names.peek().is_some() {
            // A file that is another than it should be is replaced.
            return (found.is_dir() || names.peek().is_some()).then_some(place);
        }
    }
    None
}

/// The digest of the plain file at `path`, if there is one that can be read.
#[must_use]
pub fn digest_of(path: &Path) -> Option<Digest> {
    let file = envoi_durable::open_regular(path).ok()?;
    blobs::copy(file, &mut io::sink()).ok().map(|(digest, _)| digest)
}
