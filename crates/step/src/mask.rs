//! Masks secret values in bytes and in JSON: which forms of a value are searched, and what replaces them. The
//! bytes may come in pieces of any size.
//!
//! Knows only the values, not where they come from. A value is found in these spellings: each of its
//! characters as it is, escaped as in a JSON string or another language, quoted as in a shell or CSV, or
//! encoded as in a URL, and all of these in base64. Each line of a value is also found on its own, however it
//! is indented. Other encodings (hexadecimal, compressed, encrypted, folded) are not found.

mod base64;
mod index;
mod ordinary;
mod pattern;
mod spelling;
mod value;

use base64::{BITS_BEFORE, Begun, Content, FirstLetters, Then};
use index::Index;
use pattern::{Pattern, Scratch};
use spelling::TooFew;
use std::collections::BTreeSet;

/// Secrets shorter than this many bytes are not masked: they would be found everywhere in harmless text.
/// Replacing them there would destroy reports, and the places would give the value away.
pub const MIN_SECRET_BYTES: usize = 4;

/// How many bytes of base64 content are decoded first. Few places need more.
const FIRST_LOOK: usize = 4;

/// Replaces a secret.
const MASK: &[u8] = b"***";

/// The values to mask, in all spellings.
pub struct Secrets {
    patterns: Vec<Pattern>,
    index: Index,
    any_too_short: bool,
}

/// The result of a search at one place.
#[derive(Default)]
struct Look {
    /// Length of the longest secret that begins there.
    longest: Option<usize>,
    /// More bytes could change the result.
    undecided: bool,
}

impl Look {
    fn add(&mut self, other: &Self) {
        self.longest = self.longest.max(other.longest);
        self.undecided |= other.undecided;
    }
}

impl Secrets {
    /// Searches for these values.
    #[must_use]
    pub fn new(values: &[String]) -> Self {
        let patterns = patterns(values);
        let index = Index::new(&patterns);
        let any_too_short = values.iter().any(|value| (1..MIN_SECRET_BYTES).contains(&value.len()));
        Self { patterns, index, any_too_short }
    }

    /// Whether there is a secret that is not masked, because it has fewer than [`MIN_SECRET_BYTES`].
    pub(crate) fn any_too_short(&self) -> bool {
        self.any_too_short
    }

    /// Whether there is nothing to mask.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Masks a complete text.
    #[must_use]
    pub fn mask_str(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        String::from_utf8_lossy(&self.mask_bytes(text.as_bytes()).0).into_owned()
    }

    /// Masks complete bytes. Also returns how many secrets were found.
    pub(crate) fn mask_bytes(&self, bytes: &[u8]) -> (Vec<u8>, u64) {
        let mut masker = Masker::new(self);
        let mut masked = Vec::with_capacity(bytes.len());
        masker.push(bytes, &mut masked);
        masker.finish(&mut masked);
        (masked, masker.hits())
    }

    /// Masks a complete document. In JSON the decoded values are masked too. A document without a secret
    /// keeps its bytes.
    #[must_use]
    pub fn mask_whole(&self, document: Vec<u8>) -> Vec<u8> {
        if self.is_empty() { document } else { self.mask_document(document).bytes }
    }

    /// Whether `bytes` contain one of the secrets.
    #[must_use]
    pub fn stand_in(&self, bytes: &[u8]) -> bool {
        !self.is_empty() && self.mask_bytes(bytes).1 > 0
    }

    /// Searches for secrets that begin with the first of `bytes`, directly or in base64. `begun` holds base64
    /// that began in the line before; base64 that begins here at the end of a line is added to it.
    fn look(&self, bytes: &[u8], begun: &mut Vec<Begun>, scratch: &mut Scratch) -> Look {
        let mut look = self.look_at_text(bytes, scratch);
        let mut new = Vec::new();
        if bytes.first().is_some_and(|first| self.index.may_begin_in_base64(*first)) {
            let letters = FirstLetters::at_the_beginning_of(bytes);
            for before in BITS_BEFORE {
                look.add(&self.look_into_base64(bytes, &letters, before, &mut new, scratch));
            }
        }
        for begun in begun.iter().filter(|begun| begun.is_due()) {
            let (letters, before) = begun.with_next_line(bytes);
            look.add(&self.look_into_base64(bytes, &letters, before, &mut new, scratch));
        }
        begun.append(&mut new);
        look
    }

    fn look_at_text(&self, bytes: &[u8], scratch: &mut Scratch) -> Look {
        let mut look = Look::default();
        match self.index.candidates(bytes) {
            Ok(candidates) => candidates.each(|number| {
                let Some(pattern) = self.patterns.get(number) else { return };
                let found = pattern.find(bytes, scratch);
                look.add(&Look { longest: found.end, undecided: found.undecided });
            }),
            Err(TooFew) => look.undecided = true,
        }
        look
    }

    fn look_into_base64(
        &self,
        bytes: &[u8],
        letters: &FirstLetters,
        before: u8,
        begun: &mut Vec<Begun>,
        scratch: &mut Scratch,
    ) -> Look {
        if !self.index.may_begin_with(letters.bits, before) {
            return Look::default();
        }
        match letters.then {
            Then::More => {
                let mut read = std::mem::take(&mut scratch.content);
                let look = self.look_at_content(Content::new(bytes, letters, before, &mut read), scratch);
                scratch.content = read;
                look
            }
            Then::Cut => Look { longest: None, undecided: true },
            Then::Gap(gap) => {
                let bits = letters.with_next_line(bytes, gap);
                if bits.is_some_and(|bits| self.index.may_begin_with(bits, before)) {
                    begun.push(Begun::new(*letters, before, gap));
                }
                Look::default()
            }
            Then::End => Look::default(),
        }
    }

    fn look_at_content(&self, mut content: Content, scratch: &mut Scratch) -> Look {
        #[cfg(test)]
        {
            scratch.finds += 1;
        }
        let mut most = FIRST_LOOK;
        loop {
            content.read(most);
            if self.index.harmless_backslashes(content.bytes()).is_some() {
                return Look::default();
            }
            let look = self.look_at_text(content.bytes(), scratch);
            if look.undecided && content.goes_on() {
                most = most.saturating_mul(4);
                continue;
            }
            let longest = look.longest.and_then(|length| content.end(length));
            return Look { longest, undecided: look.undecided && content.is_cut() };
        }
    }
}

/// The patterns of the whole values and of their lines, without duplicates.
fn patterns(values: &[String]) -> Vec<Pattern> {
    let texts: BTreeSet<&str> = values.iter().flat_map(|value| parts(value)).collect();
    texts.into_iter().map(Pattern::new).collect()
}

/// The whole value and, if it has several lines, each line without the white space around it: a key is
/// printed line by line, indented or not. Too short parts are left out.
fn parts(value: &str) -> impl Iterator<Item = &str> {
    let lines = value.split(['\n', '\r']).map(str::trim);
    std::iter::once(value).chain(lines).filter(|part| part.len() >= MIN_SECRET_BYTES)
}

/// Masks one stream of bytes. Holds back only an end that may still become a secret. Secrets that overlap get
/// one mask: if a shorter one begins before a longer one, the end of the longer one must be masked too.
pub(crate) struct Masker<'a> {
    secrets: &'a Secrets,
    held: Vec<u8>,
    /// How many of the next bytes belong to a secret whose mask is written already.
    masked: usize,
    begun: Vec<Begun>,
    scratch: Scratch,
    hits: u64,
}

impl<'a> Masker<'a> {
    pub(crate) fn new(secrets: &'a Secrets) -> Self {
        Self { secrets, held: Vec::new(), masked: 0, begun: Vec::new(), scratch: Scratch::default(), hits: 0 }
    }

    /// How many secrets have been found so far.
    pub(crate) fn hits(&self) -> u64 {
        self.hits
    }

    /// Takes the next piece and adds the decided bytes to `out`.
    pub(crate) fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        if self.secrets.is_empty() {
            out.extend_from_slice(piece);
        } else if self.held.is_empty() {
            self.held = self.scan(piece, out, false).to_vec();
        } else {
            let mut joined = std::mem::take(&mut self.held);
            joined.extend_from_slice(piece);
            self.held = self.scan(&joined, out, false).to_vec();
        }
    }

    /// Adds the bytes that were held back: the stream has ended. They may still contain a shorter secret than
    /// the one they were held back for.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        let rest = std::mem::take(&mut self.held);
        self.scan(&rest, out, true);
    }

    /// Masks up to the first place that is not decided yet, and returns the bytes from there. At the end of
    /// the stream (`last`) everything is decided.
    fn scan<'b>(&mut self, bytes: &'b [u8], out: &mut Vec<u8>, last: bool) -> &'b [u8] {
        let mut rest = bytes;
        loop {
            self.begun.retain_mut(|begun| begun.read(rest));
            let next_line = self.begun.iter().filter_map(|begun| begun.ahead(rest)).min();
            let next = self.secrets.index.next(rest, next_line.unwrap_or(usize::MAX));
            let Some(skip) = next.into_iter().chain(next_line).min() else { break };
            let (plain, from_here) = rest.split_at(skip);
            self.pass(plain, out);
            let next_line = next_line.and_then(|line| line.checked_sub(skip));
            if next_line == Some(0) {
                if !last && self.begun.iter().any(|begun| begun.is_due() && !begun.is_known()) {
                    return from_here;
                }
            } else if let Some(count) = self.secrets.index.harmless_backslashes(from_here) {
                let (backslashes, after) =
                    from_here.split_at(next_line.map_or(count, |line| line.min(count)));
                self.pass(backslashes, out);
                rest = after;
                continue;
            }
            let begun_before = self.begun.len();
            let look = self.secrets.look(from_here, &mut self.begun, &mut self.scratch);
            if look.undecided && !last {
                self.begun.truncate(begun_before);
                return from_here;
            }
            self.begun.retain(|begun| !begun.is_due());
            if let Some(length) = look.longest {
                if self.masked == 0 {
                    self.hits = self.hits.saturating_add(1);
                    out.extend_from_slice(MASK);
                }
                self.masked = self.masked.max(length);
            }
            let (first, after) = from_here.split_at(from_here.len().min(1));
            self.pass(first, out);
            rest = after;
        }
        self.pass(rest, out);
        &[]
    }

    /// Adds these bytes to `out`, except those that are masked.
    fn pass(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(bytes.get(self.masked..).unwrap_or_default());
        self.masked = self.masked.saturating_sub(bytes.len());
        self.begun.iter_mut().for_each(|begun| begun.pass(bytes.len()));
    }
}

#[cfg(test)]
mod tests;
