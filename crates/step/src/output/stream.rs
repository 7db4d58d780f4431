//! An output stream on disk: written while it arrives, masked, with its beginning and its end kept.
//!
//! The first half of the cap goes into the file itself, where a person can follow it. Later bytes go into a
//! ring file beside it, whose content is appended to the file when the stream has ended. The ring begins with
//! the number of bytes ever written to it, so that its end can be found after a crash too.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use envoi_contract::digest::hex;
use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};

use crate::disk::pieces::Measure;
use crate::disk::plain;
use crate::mask::{Masker, Secrets};

/// Length of the count at the beginning of a ring file.
const COUNT_BYTES: u64 = 8;

/// The result of writing a stream.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The length of the command's output.
    pub(crate) total_bytes: u64,
    /// How many bytes of the masked text were left out in the middle.
    pub(crate) left_out_bytes: u64,
    /// An error of writing. The file then has only what could be written.
    pub(crate) failed: Option<io::Error>,
    /// The content of the file, if all of it was masked here. `None` if that is not known, or there is
    /// nothing to mask.
    pub(crate) written: Option<Measure>,
}

/// A stream while it is written.
pub(crate) struct StreamFile<'a> {
    path: PathBuf,
    head: File,
    head_bytes: u64,
    head_cap_bytes: u64,
    ring: Option<Ring>,
    ring_cap_bytes: u64,
    masker: Masker<'a>,
    masked: Vec<u8>,
    total_bytes: u64,
    failed: Option<io::Error>,
    /// The digest of the bytes written to the head. `None` if there is nothing to mask.
    digest: Option<Sha256>,
}

impl<'a> StreamFile<'a> {
    /// Begins a new file at `path`.
    pub(crate) fn create(path: PathBuf, cap_bytes: u64, secrets: &'a Secrets) -> io::Result<Self> {
        let head = plain::create(&path)?;
        // Append mode: bytes that the command itself writes to the file are not overwritten, so a secret in
        // them is found.
        rustix::fs::fcntl_setfl(&head, OFlags::APPEND)?;
        Ok(Self::begin(path, head, cap_bytes, secrets))
    }

    fn begin(path: PathBuf, head: File, cap_bytes: u64, secrets: &'a Secrets) -> Self {
        let head_cap_bytes = cap_bytes / 2;
        Self {
            path,
            head,
            head_bytes: 0,
            head_cap_bytes,
            ring: None,
            ring_cap_bytes: cap_bytes.saturating_sub(head_cap_bytes),
            masker: Masker::new(secrets),
            masked: Vec::new(),
            total_bytes: 0,
            failed: None,
            digest: (!secrets.is_empty()).then(Sha256::new),
        }
    }

    /// Takes output of the command. A full disk does not stop the command: see [`StreamFile::finish`].
    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.total_bytes = self.total_bytes.saturating_add(piece.len() as u64);
        if self.failed.is_none() {
            let mut masked = std::mem::take(&mut self.masked);
            self.masker.push(piece, &mut masked);
            self.keep(&masked);
            masked.clear();
            self.masked = masked;
        }
    }

    fn keep(&mut self, masked: &[u8]) {
        if let Err(error) = self.try_keep(masked) {
            self.failed = Some(error);
        }
    }

    fn try_keep(&mut self, masked: &[u8]) -> io::Result<()> {
        let room = usize::try_from(self.head_cap_bytes.saturating_sub(self.head_bytes)).unwrap_or(usize::MAX);
        let (head, rest) = masked.split_at(room.min(masked.len()));
        self.head.write_all(head)?;
        if let Some(digest) = &mut self.digest {
            digest.update(head);
        }
        self.head_bytes = self.head_bytes.saturating_add(head.len() as u64);
        if rest.is_empty() {
            return Ok(());
        }
        if self.ring.is_none() {
            self.ring = Some(Ring::create(&ring_path(&self.path), self.ring_cap_bytes)?);
        }
        self.ring.as_mut().map_or(Ok(()), |ring| ring.push(rest))
    }

    /// Appends the kept end to the file and syncs it.
    pub(crate) fn finish(mut self) -> Kept {
        let mut rest = Vec::new();
        self.masker.finish(&mut rest);
        if self.failed.is_none() {
            self.keep(&rest);
        }
        let left_out_bytes = self.ring.as_ref().map_or(0, Ring::left_out_bytes);
        // The ring was on disk, where the command could change it, so its content is not trusted.
        let digest = self.digest.take().filter(|_| self.ring.is_none());
        let finished = self.append_ring().and_then(|()| self.sync());
        let failed = self.failed.or(finished.err());
        let written = digest.filter(|_| failed.is_none());
        let written =
            written.map(|digest| Measure { bytes: self.head_bytes, sha256: hex(&digest.finalize()) });
        Kept { total_bytes: self.total_bytes, left_out_bytes, failed, written }
    }

    fn sync(&self) -> io::Result<()> {
        // An empty file has no content to lose.
        if self.total_bytes == 0 { Ok(()) } else { self.head.sync_all() }
    }

    fn append_ring(&mut self) -> io::Result<()> {
        let Some(mut ring) = self.ring.take() else { return Ok(()) };
        let left_out = ring.left_out_bytes();
        if left_out > 0 {
            write!(self.head, "\n--- {left_out} bytes left out ---\n")?;
        }
        let head = &mut self.head;
        ring.read_in_order(|part| io::copy(part, head).map(drop))?;
        fs::remove_file(ring_path(&self.path))
    }
}

/// The end of a stream that is being written, or whose supervisor was killed while it wrote it: at most
/// `cap_bytes`, as stored. Reads no more than that. A missing stream is empty.
///
/// # Errors
/// An existing file cannot be read.
pub fn end_of(path: &Path, cap_bytes: u64) -> io::Result<Vec<u8>> {
    match Ring::open(&ring_path(path)) {
        Ok(ring) => ring.end(cap_bytes),
        Err(error) if plain::is_missing(&error) => end_of_plain(path, cap_bytes),
        Err(error) => Err(error),
    }
}

fn end_of_plain(path: &Path, cap_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let Some(mut file) = plain::open_if_there(path)? else { return Ok(bytes) };
    file.seek(SeekFrom::Start(file.metadata()?.len().saturating_sub(cap_bytes)))?;
    // Later bytes belong to the next call.
    file.take(cap_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Path of the ring file of the stream at `path`, while it is written.
pub(crate) fn ring_path(path: &Path) -> PathBuf {
    path.with_extension("ring")
}

/// Masks the ring file at `path`, which a killed supervisor has left and the command may have written to.
/// True if it contained a secret.
///
/// # Errors
/// It cannot be read or replaced, or has more than `most_bytes`.
pub(crate) fn mask_ring(path: &Path, secrets: &Secrets, most_bytes: u64) -> io::Result<bool> {
    let raw = plain::read(path, most_bytes.saturating_add(COUNT_BYTES))?;
    let mut ordered = Vec::new();
    let read = Ring::open(path)
        .and_then(|mut ring| ring.read_in_order(|part| part.read_to_end(&mut ordered).map(drop)));
    let (masked, hits) = secrets.mask_bytes(&ordered);
    // With a wrong count some bytes are not in order, so the raw bytes are searched too.
    if hits == 0 && !secrets.stand_in(&raw) {
        return Ok(false);
    }
    read?;
    let temporary = envoi_durable::temp_beside(path);
    let mut file = plain::create(&temporary)?;
    file.write_all(&(masked.len() as u64).to_le_bytes())?;
    file.write_all(&masked)?;
    fs::rename(&temporary, path)?;
    Ok(true)
}

/// A file of fixed size that keeps the last bytes of what is written to it.
struct Ring {
    file: File,
    cap_bytes: u64,
    written: u64,
}

impl Ring {
    fn create(path: &Path, cap_bytes: u64) -> io::Result<Self> {
        let file = plain::create(path)?;
        Ok(Self { file, cap_bytes, written: 0 })
    }

    /// How many bytes were overwritten.
    fn left_out_bytes(&self) -> u64 {
        self.written.saturating_sub(self.cap_bytes)
    }

    /// Opens the ring of another process. Its size is known only if it has wrapped, and matters only then.
    fn open(path: &Path) -> io::Result<Self> {
        let file = plain::open(path)?;
        let mut count = [0; 8];
        file.read_exact_at(&mut count, 0)?;
        let cap_bytes = file.metadata()?.len().saturating_sub(COUNT_BYTES);
        Ok(Self { file, cap_bytes, written: u64::from_le_bytes(count) })
    }

    fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() && self.cap_bytes > 0 {
            let at = self.written % self.cap_bytes;
            let room = usize::try_from(self.cap_bytes.saturating_sub(at)).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at(room.min(rest.len()));
            self.file.write_all_at(now, COUNT_BYTES.saturating_add(at))?;
            self.written = self.written.saturating_add(now.len() as u64);
            rest = later;
        }
        if self.cap_bytes == 0 {
            self.written = self.written.saturating_add(bytes.len() as u64);
        }
        self.file.write_all_at(&self.written.to_le_bytes(), 0)
    }

    /// The newest bytes, at most `most`. Bytes that are written at the same time may be among them.
    fn end(&self, most: u64) -> io::Result<Vec<u8>> {
        let length = most.min(self.written).min(self.cap_bytes);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        let from = self.written.saturating_sub(length).checked_rem(self.cap_bytes).unwrap_or(0);
        let first =
            usize::try_from(self.cap_bytes.saturating_sub(from)).unwrap_or(usize::MAX).min(bytes.len());
        let (older, newer) = bytes.split_at_mut(first);
        self.file.read_exact_at(older, COUNT_BYTES.saturating_add(from))?;
        self.file.read_exact_at(newer, COUNT_BYTES)?;
        Ok(bytes)
    }

    /// Passes on the kept bytes, oldest first, in at most two parts.
    fn read_in_order(
        &mut self,
        mut each: impl FnMut(&mut io::Take<&mut File>) -> io::Result<()>,
    ) -> io::Result<()> {
        let newest = if self.cap_bytes == 0 { 0 } else { self.written % self.cap_bytes };
        let gone_round = self.written > self.cap_bytes;
        let older = if gone_round { (newest, self.cap_bytes.saturating_sub(newest)) } else { (0, 0) };
        let newer = if gone_round { (0, newest) } else { (0, self.written.min(self.cap_bytes)) };
        for (from, length) in [older, newer] {
            self.file.seek(SeekFrom::Start(COUNT_BYTES.saturating_add(from)))?;
            each(&mut (&mut self.file).take(length))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{StreamFile, end_of};
    use crate::mask::Secrets;

    #[test]
    fn a_capped_stream_keeps_its_head_and_its_tail_and_says_what_is_missing() {
        let rows = [
            (10, "", ""),
            (10, "12345", "12345"),
            (10, "1234567890", "1234567890"),
            (10, "1234567890A", "12345\n--- 1 bytes left out ---\n7890A"),
            (10, "1234567890ABCDE", "12345\n--- 5 bytes left out ---\nABCDE"),
            (10, "1234567890ABCDEFGHI", "12345\n--- 9 bytes left out ---\nEFGHI"),
            (0, "123", "\n--- 3 bytes left out ---\n"),
        ];
        for (cap, text, expected) in rows {
            for size in 1..=text.len().max(1) {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("stdout");
                let secrets = Secrets::new(&[]);
                let mut stream = StreamFile::create(path.clone(), cap, &secrets).unwrap();
                text.as_bytes().chunks(size).for_each(|piece| stream.push(piece));
                let kept = stream.finish();
                assert!(kept.failed.is_none());
                assert_eq!(kept.total_bytes, text.len() as u64);
                assert_eq!(kept.left_out_bytes, (text.len() as u64).saturating_sub(cap));
                assert_eq!(std::fs::read_to_string(&path).unwrap(), expected, "{text} in pieces of {size}");
                assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "the ring is gone");
            }
        }
    }

    #[test]
    fn what_a_command_writes_to_the_file_itself_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stderr");
        let secrets = Secrets::new(&["hunter22".to_owned()]);
        let mut stream = StreamFile::create(path.clone(), 100, &secrets).unwrap();
        stream.push(b"first ");
        std::fs::write(&path, "hunter22").unwrap();
        stream.push(b"then");
        let kept = stream.finish();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "hunter22then");
        assert_ne!(
            kept.written,
            Some(crate::disk::pieces::measure(&path).unwrap()),
            "it is not what was written"
        );
    }

    #[test]
    fn a_full_disk_is_reported_and_does_not_stop_the_command() {
        let secrets = Secrets::new(&[]);
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut stream = StreamFile::begin("/dev/full".into(), full, 100, &secrets);
        stream.push(b"output");
        stream.push(b"more");
        let kept = stream.finish();
        assert_eq!((kept.total_bytes, kept.failed.unwrap().kind()), (10, std::io::ErrorKind::StorageFull));
    }

    #[test]
    fn the_end_of_a_stream_is_found_at_any_moment() {
        for written in 0..40_usize {
            let text: String = ('a'..='z').cycle().take(written).collect();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("stderr");
            let secrets = Secrets::new(&[]);
            let mut stream = StreamFile::create(path.clone(), 10, &secrets).unwrap();
            text.as_bytes().chunks(3).for_each(|piece| stream.push(piece));
            drop(stream);
            for most in 0..8 {
                let end = String::from_utf8(end_of(&path, most).unwrap()).unwrap();
                assert!(text.ends_with(&end), "{end} of {text}");
                assert!(end.len() as u64 <= most, "{end}");
                assert!(!end.is_empty() || text.is_empty() || most == 0);
            }
        }
    }
}
