//! Finds a secret in bytes, character by character. Each character may be escaped.

use super::base64::ContentBytes;
use super::spelling::{Reading, TooFew, is_quote, is_special, quotes, readings};

/// A secret, or a line of it.
pub(super) struct Pattern(String);

/// The places where a pattern that begins at the first byte may end.
pub(super) struct Found {
    /// The longest of them.
    pub(super) end: Option<usize>,
    /// Whether more bytes could make another end.
    pub(super) undecided: bool,
}

/// Places in the bytes; reused to avoid allocations.
#[derive(Default)]
pub(super) struct Scratch {
    now: Vec<usize>,
    next: Vec<usize>,
    pub(super) content: ContentBytes,
    /// How often a pattern was searched.
    #[cfg(test)]
    pub(super) finds: u64,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The secret.
    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// Searches for this pattern at the beginning of `bytes`, in any spelling. Follows all readings at the
    /// same time, so the time is proportional to the bytes it reads.
    pub(super) fn find(&self, bytes: &[u8], scratch: &mut Scratch) -> Found {
        #[cfg(test)]
        {
            scratch.finds += 1;
        }
        let mut chars = self.0.chars();
        let mut at = 0;
        let first = loop {
            let Some(char) = chars.next() else { return Found { end: Some(at), undecided: false } };
            match step(char, bytes, at) {
                Step::To(end) => at = end,
                Step::Nowhere => return Found { end: None, undecided: false },
                Step::TooFew => return Found { end: None, undecided: true },
                Step::Several => break char,
            }
        };
        let mut undecided = false;
        scratch.now.clear();
        scratch.now.push(at);
        let mut chars = std::iter::once(first).chain(chars).peekable();
        while let Some(char) = chars.next() {
            scratch.next.clear();
            let inside = chars.peek().is_some();
            for at in &scratch.now {
                undecided |= ends(char, bytes, *at, inside, &mut scratch.next).is_err();
            }
            if scratch.next.len() > 1 {
                scratch.next.sort_unstable();
                scratch.next.dedup();
            }
            std::mem::swap(&mut scratch.now, &mut scratch.next);
            if scratch.now.is_empty() {
                break;
            }
        }
        Found { end: scratch.now.last().copied(), undecided }
    }
}

/// The place where a character can end.
enum Step {
    To(usize),
    Nowhere,
    /// There are too few bytes to decide.
    TooFew,
    /// A byte is escaped: see [`ends`].
    Several,
}

/// The only place where the character can end if it begins at `at`, as long as nothing is escaped.
fn step(char: char, bytes: &[u8], at: usize) -> Step {
    let Some(first) = bytes.get(at).copied() else { return Step::TooFew };
    match char {
        _ if is_special(first) => Step::Several,
        '\n' if first == b'\r' => Step::Several,
        '\'' | '"' if is_quote(first) => Step::Several,
        char if !char.is_ascii() => wide_step(char, bytes, at),
        char if u32::from(char) == u32::from(first) => Step::To(at.saturating_add(1)),
        _ => Step::Nowhere,
    }
}

/// Adds to `ends` every place where the character can end if it begins at `at`. `inside`: the secret
/// continues after it.
fn ends(char: char, bytes: &[u8], at: usize, inside: bool, ends: &mut Vec<usize>) -> Result<(), TooFew> {
    match step(char, bytes, at) {
        Step::To(end) => ends.push(end),
        Step::Nowhere => {}
        Step::TooFew => return Err(TooFew),
        Step::Several => {
            return match char {
                '\'' | '"' => quoted(char, bytes, at, inside, ends),
                char if char.is_ascii() => ascii(char, bytes, at, ends),
                char => wide(char, bytes, at, ends),
            };
        }
    }
    Ok(())
}

fn ascii(char: char, bytes: &[u8], at: usize, ends: &mut Vec<usize>) -> Result<(), TooFew> {
    let mut line_ends = Vec::new();
    let looked = readings(bytes, at, |reading, end| match reading.ascii() {
        Some(ascii) if u32::from(char) == u32::from(ascii) => ends.push(end),
        // The two-byte line end of another system.
        Some(b'\r') if char == '\n' => line_ends.push(end),
        _ => {}
    });
    for line_end in line_ends {
        readings(bytes, line_end, |reading, end| {
            if reading.ascii() == Some(b'\n') {
                ends.push(end);
            }
        })?;
    }
    looked
}

/// A quote, which may also be written as several quotes.
fn quoted(char: char, bytes: &[u8], at: usize, inside: bool, ends: &mut Vec<usize>) -> Result<(), TooFew> {
    let looked = ascii(char, bytes, at, ends);
    let several = quotes(bytes, at, inside, |sign, end| {
        if u32::from(char) == u32::from(sign) {
            ends.push(end);
        }
    });
    looked.and(several)
}

fn wide_step(char: char, bytes: &[u8], at: usize) -> Step {
    let mut buffer = [0; 4];
    let encoded = char.encode_utf8(&mut buffer).as_bytes();
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.iter().zip(encoded).find(|(found, wanted)| found != wanted) {
        Some((found, _)) if is_special(*found) => Step::Several,
        Some(_) => Step::Nowhere,
        None if rest.len() < encoded.len() => Step::TooFew,
        None => Step::To(at.saturating_add(encoded.len())),
    }
}

/// A character of several bytes, some or all of which are escaped.
fn wide(char: char, bytes: &[u8], at: usize, ends: &mut Vec<usize>) -> Result<(), TooFew> {
    let mut buffer = [0; 4];
    let encoded = char.encode_utf8(&mut buffer).as_bytes();
    let mut looked = readings(bytes, at, |reading, end| {
        if reading == Reading::Char(char) {
            ends.push(end);
        }
    });
    // Byte by byte, each escaped or not. A byte has only one reading.
    let mut place = at;
    for wanted in encoded {
        let mut after = None;
        let read = readings(bytes, place, |reading, end| {
            if reading == Reading::Byte(*wanted) {
                after = Some(end);
            }
        });
        looked = looked.and(read);
        match after {
            Some(end) => place = end,
            None => return looked,
        }
    }
    ends.push(place);
    looked
}
