//! Content by its digest, in the database or in a file.

use super::Reader;
use crate::{
    model::error::{BlobError, ReadError},
    tables::schema::cause,
};
use envoi_contract::digest::Digest;
use rusqlite::OptionalExtension as _;

impl Reader {
    /// The bytes with this digest, from the database or their file, verified.
    ///
    /// # Errors
    /// [`BlobError::Missing`], or [`BlobError::Damaged`] when they are not what was stored.
    pub fn blob(&self, digest: &Digest) -> Result<Vec<u8>, BlobError> {
        match self.inline(digest)? {
            Some(bytes) => Ok(bytes),
            None => self.blobs.get(digest),
        }
    }

    /// As [`Reader::blob`], a piece at a time: the output may be used only after `Ok`.
    ///
    /// # Errors
    /// As [`Reader::blob`], and [`BlobError::Io`] for `target`.
    pub fn write_blob(&self, digest: &Digest, target: &mut dyn std::io::Write) -> Result<(), BlobError> {
        match self.inline(digest)? {
            Some(bytes) => {
                target.write_all(&bytes).map_err(|source| BlobError::Io { path: self.place(), source })
            }
            None => self.blobs.write_to(digest, target),
        }
    }

    /// How many bytes the content with this digest has; a file is not read for it.
    ///
    /// # Errors
    /// As [`Reader::blob`].
    pub fn blob_size_bytes(&self, digest: &Digest) -> Result<u64, BlobError> {
        match self.inline(digest)? {
            Some(bytes) => Ok(u64::try_from(bytes.len()).unwrap_or(u64::MAX)),
            None => self.blobs.size_bytes(digest),
        }
    }

    /// The file of a content that lies in one, not yet verified. `None`: there is none.
    ///
    /// # Errors
    /// As [`crate::Blobs::open`], but [`BlobError::Missing`]. Whether it is there is not known then.
    pub fn content_file(&self, digest: &Digest) -> Result<Option<std::fs::File>, BlobError> {
        match self.blobs.open(digest) {
            Err(BlobError::Missing { .. }) => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// The digests of all content in the database.
    pub(crate) fn inline_digests(&self) -> Result<Vec<Digest>, ReadError> {
        self.readable("SELECT digest FROM blobs", [], |row| row.get(0).map(Digest::from_bytes), "content")
    }

    pub(super) fn inline(&self, digest: &Digest) -> Result<Option<Vec<u8>>, BlobError> {
        let read = || {
            let mut statement = self.conn.prepare_cached(
                "SELECT bytes FROM blobs WHERE digest = ?1 UNION ALL \
                 SELECT bytes FROM old_blobs WHERE digest = ?1 LIMIT 1",
            )?;
            statement.query_row([digest.as_bytes()], |row| row.get::<_, Vec<u8>>(0)).optional()
        };
        let bytes = read().map_err(|error| BlobError::Store { source: cause(error) })?;
        match bytes.as_deref().map(Digest::of) {
            Some(found) if found != *digest => {
                Err(BlobError::Damaged { expected: *digest, found, place: self.place() })
            }
            _ => Ok(bytes),
        }
    }

    fn place(&self) -> std::path::PathBuf {
        self.conn.path().unwrap_or_default().into()
    }
}
