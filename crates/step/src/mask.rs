//! Masking of secret values in bytes and in JSON: which forms of a value are looked for, and what is put in their place. The bytes
//! may come in any pieces.
//!
//! Knows the values only, not where they come from. A value is found in every spelling: each of its characters as it is,
//! escaped as in a JSON string or another language, quoted as in a shell or CSV, or encoded as in a URL, and all that in base64.
//! Each line of a value is found by itself too, however it is indented. What is encoded otherwise (hexadecimal, compressed,
//! encrypted, folded) is not found.

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

/// Secrets shorter than this many bytes are not masked: they would be found everywhere in innocent text, and replacing
/// them there destroys reports and gives their value away by its places.
pub const MIN_SECRET_BYTES: usize = 4;

/// So many bytes of what base64 stands for are decoded first. Few places want to see more.
const FIRST_LOOK: usize = 4;

/// What stands in the place of a secret.
const MASK: &[u8] = b"***";

/// The values to be masked, in all spellings.
pub struct Secrets {
    patterns: Vec<Pattern>,
    index: Index,
    any_too_short: bool,
}

/// What begins at a place.
#[derive(Default)]
struct Look {
    /// The longest secret.
    longest: Option<usize>,
    /// More bytes could make it another one.
    undecided: bool,
}

impl Look {
    fn add(&mut self, other: &Self) {
        self.longest = self.longest.max(other.longest);
        self.undecided |= other.undecided;
    }
}

impl Secrets {
    /// Looks for these values.
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

    /// A text that is at hand as a whole, masked.
    #[must_use]
    pub fn mask_str(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        String::from_utf8_lossy(&self.mask_bytes(text.as_bytes()).0).into_owned()
    }

    /// Bytes that are at hand as a whole, masked, and how many secrets stood in them.
    pub(crate) fn mask_bytes(&self, bytes: &[u8]) -> (Vec<u8>, u64) {
        let mut masker = Masker::new(self);
        let mut masked = Vec::with_capacity(bytes.len());
        masker.push(bytes, &mut masked);
        masker.finish(&mut masked);
        (masked, masker.hits())
    }

    /// A document that is at hand as a whole, masked. In JSON the values are masked as they are read too, and the document is kept
    /// byte for byte where no secret stands.
    #[must_use]
    pub fn mask_whole(&self, document: Vec<u8>) -> Vec<u8> {
        if self.is_empty() { document } else { self.mask_document(document).bytes }
    }

    /// Whether one of them stands in `bytes`.
    #[must_use]
    pub fn stand_in(&self, bytes: &[u8]) -> bool {
        !self.is_empty() && self.mask_bytes(bytes).1 > 0
    }

    /// What begins with the first of `bytes`, as it is or in base64. `begun`: base64 that began in the line before; to which is added what
    /// begins here at the end of a line.
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

/// The patterns of the whole values and of their lines, each once.
fn patterns(values: &[String]) -> Vec<Pattern> {
    let texts: BTreeSet<&str> = values.iter().flat_map(|value| parts(value)).collect();
    texts.into_iter().map(Pattern::new).collect()
}

/// The whole value and, if it has several, its lines without the white space around them: a key is printed line by line,
/// indented or not. Only parts that are long enough.
fn parts(value: &str) -> impl Iterator<Item = &str> {
    let lines = value.split(['\n', '\r']).map(str::trim);
    std::iter::once(value).chain(lines).filter(|part| part.len() >= MIN_SECRET_BYTES)
}

/// Masks one flow of bytes. Holds back only an end that may yet become a secret. Secrets that overlap are one mask: a shorter one may
/// begin before a longer one, and must not save the longer one's end.
pub(crate) struct Masker<'a> {
    secrets: &'a Secrets,
    held: Vec<u8>,
    /// So many of the next bytes belong to a secret whose mask is out already.
    masked: usize,
    begun: Vec<Begun>,
    scratch: Scratch,
    hits: u64,
}

impl<'a> Masker<'a> {
    pub(crate) fn new(secrets: &'a Secrets) -> Self {
        Self { secrets, held: Vec::new(), masked: 0, begun: Vec::new(), scratch: Scratch::default(), hits: 0 }
    }

    /// How many secrets were found so far.
    pub(crate) fn hits(&self) -> u64 {
        self.hits
    }

    /// Takes the next piece; adds to `out` what is decided already.
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

    /// Adds what was held back: the flow is over. It may still hold a shorter secret than the one it was held back for.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        let rest = std::mem::take(&mut self.held);
        self.scan(&rest, out, true);
    }

    /// Masks up to the first place that is not decided yet, and returns the bytes from there. At the end of the stream (`last`)
    /// all is decided.
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

    /// Adds these bytes to `out`, but for those that are masked.
    fn pass(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(bytes.get(self.masked..).unwrap_or_default());
        self.masked = self.masked.saturating_sub(bytes.len());
        self.begun.iter_mut().for_each(|begun| begun.pass(bytes.len()));
    }
}

#[cfg(test)]
mod tests;
