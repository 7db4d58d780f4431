//! The archive writer: entries without data of the machine, and their sums.

use crate::manifest::{SIGNATURE, SUMS};
use envoi_contract::digest::Digest;
use sha2::{Digest as _, Sha256};
use std::io::{self, Read, Write};
use tar::{Builder, EntryType, Header};
use zstd::Encoder;

/// Higher levels take ten times as long for a fifth less.
const LEVEL: i32 = 3;

/// Signs these bytes; returns the signature.
pub type Sign<'s> = &'s dyn Fn(&[u8]) -> io::Result<Vec<u8>>;

pub(crate) struct Archive<W: Write> {
    tar: Builder<Encoder<'static, W>>,
    folder: String,
    sums: Vec<(String, String)>,
}

impl<W: Write> Archive<W> {
    pub(crate) fn new(target: W, folder: &str) -> io::Result<Self> {
        let mut encoder = Encoder::new(target, LEVEL)?;
        encoder.include_checksum(true)?;
        Ok(Self { tar: Builder::new(encoder), folder: folder.to_owned(), sums: Vec::new() })
    }

    pub(crate) fn add(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.add_from(name, size, bytes).map(drop)
    }

    /// Adds the `size` bytes of `source`. Returns their digest.
    pub(crate) fn add_from(&mut self, name: &str, size: u64, source: impl Read) -> io::Result<Digest> {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_size(size);
        let mut summed = Summed { source: source.take(size), sum: Sha256::new(), read: 0 };
        self.tar.append_data(&mut header, format!("{}/{name}", self.folder), &mut summed)?;
        if summed.read != size {
            return Err(io::Error::other(format!("`{name}` became shorter while it was read")));
        }
        let digest = Digest::from_bytes(summed.sum.finalize().into());
        self.sums.push((name.to_owned(), digest.hex()));
        Ok(digest)
    }

    /// Adds the sums and their signature (by `sign`), and ends the archive.
    pub(crate) fn finish(mut self, sign: Option<Sign<'_>>) -> io::Result<W> {
        let sums = std::mem::take(&mut self.sums);
        let lines: String = sums.iter().map(|(name, hex)| format!("{hex}  {name}\n")).collect();
        self.add(SUMS, lines.as_bytes())?;
        if let Some(sign) = sign {
            self.add(SIGNATURE, &sign(lines.as_bytes())?)?;
        }
        self.tar.into_inner()?.finish()
    }
}

struct Summed<R> {
    source: R,
    sum: Sha256,
    read: u64,
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.sum.update(buffer.get(..count).unwrap_or_default());
        self.read = self.read.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        Ok(count)
    }
}
