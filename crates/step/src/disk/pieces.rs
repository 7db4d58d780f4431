//! Reads and writes files in pieces, and computes their digests.
//!
//! Does not know what the files mean.

use std::io::{self, Read};
use std::path::Path;

use envoi_contract::digest::hex;
use sha2::{Digest, Sha256};

use crate::disk::plain;

/// Size of one read; large enough that a system call is cheap beside the work on its bytes.
pub(crate) const CHUNK_BYTES: usize = 64 * 1024;

/// A reading buffer.
pub(crate) fn chunk() -> Vec<u8> {
    vec![0; CHUNK_BYTES]
}

/// Length and SHA-256 of some bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Measure {
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

/// Length and SHA-256 of the file at `path`.
pub(crate) fn measure(path: &Path) -> io::Result<Measure> {
    let mut file = plain::open(path)?;
    read_through(&mut file, |_| Ok(()))
}

/// Reads to the end and passes each piece to `each`. Returns the length and the digest.
pub(crate) fn read_through(
    from: &mut impl Read,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<Measure> {
    let mut hash = Sha256::new();
    let mut bytes: u64 = 0;
    pieces(from, |piece| {
        hash.update(piece);
        bytes = bytes.saturating_add(piece.len() as u64);
        each(piece)
    })?;
    Ok(Measure { bytes, sha256: hex(&hash.finalize()) })
}

/// Reads to the end and passes each piece to `each`.
pub(crate) fn pieces(from: &mut impl Read, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut buffer = chunk();
    loop {
        let read = match from.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        match buffer.get(..read) {
            Some(piece) if !piece.is_empty() => each(piece)?,
            _ => return Ok(()),
        }
    }
}
