//! The step's text: the last part of a stream of bytes, as a reader sees it.
//!
//! Masks before escape sequences are removed and again after it, because a sequence can split a secret.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::disk::pieces;
use crate::disk::plain;
use crate::mask::{Masker, Secrets};
use crate::output::ansi::Stripper;

/// The end of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Text {
    /// Invalid bytes are replaced by U+FFFD.
    pub(crate) content: String,
    /// Whether something before it was cut off.
    pub(crate) is_cut: bool,
}

/// Collects the end of a text.
pub(crate) struct TextTail<'a> {
    before: Masker<'a>,
    stripper: Stripper,
    after: Masker<'a>,
    kept: Vec<u8>,
    cap: usize,
    cut: bool,
}

impl<'a> TextTail<'a> {
    /// Keeps at most the last `cap_bytes`, cut at a character boundary.
    pub(crate) fn new(secrets: &'a Secrets, cap_bytes: u64) -> Self {
        let cap = usize::try_from(cap_bytes).unwrap_or(usize::MAX);
        let before = Masker::new(secrets);
        let after = Masker::new(secrets);
        Self { before, stripper: Stripper::default(), after, kept: Vec::new(), cap, cut: false }
    }

    /// Takes the next piece.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        let mut masked = Vec::with_capacity(piece.len());
        self.before.push(piece, &mut masked);
        self.push_masked(&masked);
    }

    fn push_masked(&mut self, masked: &[u8]) {
        let mut plain = Vec::with_capacity(masked.len());
        self.stripper.push(masked, &mut plain);
        self.after.push(&plain, &mut self.kept);
        // Cut rarely, so that each byte is moved about once.
        if self.kept.len() > self.cap.saturating_mul(2).saturating_add(pieces::CHUNK_BYTES) {
            self.cut_front();
        }
    }

    fn cut_front(&mut self) {
        let extra = self.kept.len().saturating_sub(self.cap);
        if extra > 0 {
            self.kept.drain(..extra);
            self.cut = true;
        }
    }

    /// Returns the text.
    pub(crate) fn finish(mut self) -> Text {
        let mut rest = Vec::new();
        self.before.finish(&mut rest);
        self.push_masked(&rest);
        self.after.finish(&mut self.kept);
        self.cut_front();
        let whole = if self.cut { skip_broken_start(&self.kept) } else { &self.kept };
        let read = String::from_utf8_lossy(whole).into_owned();
        let read_bytes = read.len();
        let content = last_chars(read, self.cap);
        Text { is_cut: self.cut || content.len() < read_bytes, content }
    }
}

/// Skips the continuation bytes of a character whose beginning was cut off.
fn skip_broken_start(bytes: &[u8]) -> &[u8] {
    let broken = bytes.iter().take(3).take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    bytes.get(broken..).unwrap_or_default()
}

/// The last whole characters that fit into `cap` bytes.
fn last_chars(text: String, cap: usize) -> String {
    let earliest = text.len().saturating_sub(cap);
    let from = (earliest..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    if from == 0 { text } else { text.get(from..).unwrap_or_default().to_owned() }
}

/// The text of the file at `path`. `None` if there is no regular file. Only the last `most_bytes` of a larger
/// file are read. That must be much more than `cap_bytes`, so that a secret that is cut at its beginning is
/// not in the text.
pub(crate) fn of_file(
    path: &Path,
    secrets: &Secrets,
    cap_bytes: u64,
    most_bytes: u64,
) -> io::Result<Option<Text>> {
    let Some(mut file) = open_if_there(path)? else { return Ok(None) };
    let left_out_bytes = file.metadata()?.len().saturating_sub(most_bytes);
    file.seek(SeekFrom::Start(left_out_bytes))?;
    let mut tail = TextTail::new(secrets, cap_bytes);
    pieces::pieces(&mut file.take(most_bytes), |piece| {
        tail.push(piece);
        Ok(())
    })?;
    let mut text = tail.finish();
    text.is_cut |= left_out_bytes > 0;
    Ok(Some(text))
}

/// The last `cap_bytes` of the text of the file, without reading everything before. The file is masked
/// already.
pub(crate) fn end_of_file(path: &Path, secrets: &Secrets, cap_bytes: u64) -> io::Result<String> {
    let Some(mut file) = open_if_there(path)? else { return Ok(String::new()) };
    // Larger than the text, because masking and escape sequences shorten it.
    let window = cap_bytes.saturating_mul(16);
    file.seek(SeekFrom::Start(file.metadata()?.len().saturating_sub(window)))?;
    let mut tail = TextTail::new(secrets, cap_bytes);
    pieces::pieces(&mut file.take(window), |piece| {
        tail.push(piece);
        Ok(())
    })?;
    Ok(tail.finish().content)
}

/// Opens a regular file. `None` if there is none.
pub(crate) fn open_if_there(path: &Path) -> io::Result<Option<std::fs::File>> {
    match plain::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if plain::is_missing(&error) || error.kind() == io::ErrorKind::InvalidData => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::{Text, TextTail, of_file};
    use crate::mask::Secrets;

    fn text(cap: u64, secrets: &[&str], bytes: &[u8], size: usize) -> Text {
        let values: Vec<String> = secrets.iter().map(|value| (*value).to_owned()).collect();
        let secrets = Secrets::new(&values);
        let mut tail = TextTail::new(&secrets, cap);
        bytes.chunks(size).for_each(|piece| tail.push(piece));
        tail.finish()
    }

    #[test]
    fn the_text_is_readable_masked_and_only_its_end() {
        type Row<'r> = (u64, &'r [&'r str], &'r [u8], &'r str, bool);
        let rows: &[Row<'_>] = &[
            (100, &[], b"plain\n", "plain\n", false),
            (100, &[], b"bad \xff byte", "bad \u{fffd} byte", false),
            (100, &["hunter2"], b"hunt\x1b[1mer2 hunter2", "*** ***", false),
            (6, &[], b"123456", "123456", false),
            (6, &["1234567"], b"123456", "123456", false),
            (6, &[], b"\x1b[1m123456", "123456", false),
            (4, &[], b"123456", "3456", true),
            (4, &[], "aä€".as_bytes(), "€", true),
            (5, &[], "aä€".as_bytes(), "ä€", true),
            (3, &[], b"\xff\xff", "\u{fffd}", true),
        ];
        for (cap, secrets, bytes, expected, is_cut) in rows {
            let expected = Text { content: (*expected).to_owned(), is_cut: *is_cut };
            for size in 1..=bytes.len() {
                assert_eq!(text(*cap, secrets, bytes, size), expected, "{bytes:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn a_text_whose_beginning_is_not_read_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output");
        // After masking and the removal of escape sequences, the bytes that were read fit.
        std::fs::write(&path, "UNVERIFIED\x1b[1m\x1b[1m\x1b[1mend").unwrap();
        let none = Secrets::new(&[]);
        let read = |most_bytes| of_file(&path, &none, 10, most_bytes).unwrap().unwrap();
        assert_eq!(read(11), Text { content: "end".to_owned(), is_cut: true });
        assert!(!of_file(&path, &none, 13, 100).unwrap().unwrap().is_cut);
    }

    #[test]
    fn a_long_flow_is_cut_to_its_end() {
        let bytes = "0123456789".repeat(100_000);
        let expected = Text { content: "0123456789".to_owned(), is_cut: true };
        assert_eq!(text(10, &[], bytes.as_bytes(), 4096), expected);
    }
}
