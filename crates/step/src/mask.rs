//! Masking of secret values in bytes and in JSON: which forms of a value are looked for, and what is put in their place. The bytes
//! may come in any pieces.
//!
//! Knows the values only, not where they come from. A value is found in every spelling: each of its characters as it is,
//! escaped as in a JSON string or another language, quoted as in a shell or CSV, or encoded as in a URL, and the whole in base64.
//! Each line of a value is found by itself too, however it is indented. What is encoded otherwise (hexadecimal, compressed,
//! encrypted, folded) is not found.

mod index;
mod ordinary;
mod pattern;
mod spelling;
mod value;

use index::Index;
use pattern::{Pattern, Scratch};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Secrets shorter than this many bytes are not masked: they would be found everywhere in innocent text, and replacing
/// them there destroys reports and gives their value away by its places.
pub const MIN_SECRET_BYTES: usize = 4;

/// What stands in the place of a secret.
const MASK: &[u8] = b"***";

/// What programs encode in a URL: all but the unreserved characters (RFC 3986 §2.3).
const ENCODED_IN_URLS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Of a value with more lines than this, the base64 of single lines is not looked for: each takes memory and time.
const MOST_LINES_IN_BASE64: usize = 100;

/// The values to be masked, in all spellings.
pub struct Secrets {
    patterns: Vec<Pattern>,
    index: Index,
    any_too_short: bool,
}

/// What begins at a place.
struct Look {
    /// The longest secret.
    longest: Option<usize>,
    /// More bytes could make it another one.
    undecided: bool,
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

    fn look(&self, bytes: &[u8], scratch: &mut Scratch) -> Look {
        let Ok(candidates) = self.index.candidates(bytes) else {
            return Look { longest: None, undecided: true };
        };
        let mut look = Look { longest: None, undecided: false };
        candidates.each(|number| {
            let Some(pattern) = self.patterns.get(number) else { return };
            let found = pattern.find(bytes, scratch);
            look.longest = look.longest.max(found.end);
            look.undecided |= found.undecided;
        });
        look
    }
}

/// The patterns of the whole values and of their lines, each once.
fn patterns(values: &[String]) -> Vec<Pattern> {
    let mut plain = BTreeSet::<&str>::new();
    let mut encoded = BTreeSet::<&str>::new();
    for value in values {
        let parts: Vec<&str> = parts(value).collect();
        encoded.extend(parts.iter().take(if parts.len() > MOST_LINES_IN_BASE64 { 1 } else { usize::MAX }));
        plain.extend(parts);
    }
    let escaped: BTreeSet<String> = values.iter().flat_map(|value| escaped(value)).collect();
    let wholes: BTreeSet<&str> =
        values.iter().map(String::as_str).filter(|value| encoded.contains(value)).collect();
    let plain = plain.into_iter().map(|part| Pattern::plain(Arc::from(part)));
    let encoded = encoded.into_iter().chain(escaped.iter().map(String::as_str));
    let encoded = encoded.flat_map(|part| Pattern::base64(Arc::from(part)));
    let wrapped = wholes.into_iter().flat_map(Pattern::base64_in_next_line);
    plain.chain(encoded).chain(wrapped).collect()
}

/// The value as usual programs write it into a document that may then be put into base64, such as the body of a token: in
/// JSON, with escapes for slashes, for HTML or for all but ASCII, and in a URL.
fn escaped(value: &str) -> impl Iterator<Item = String> {
    let quoted = serde_json::to_string(value).unwrap_or_default();
    let json = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned();
    let slashes = json.replace('/', "\\/");
    let html = json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e");
    let [ascii, both] = [&json, &slashes].map(|text| {
        text.chars().fold(String::new(), |mut ascii, char| {
            match char {
                plain if plain.is_ascii() => ascii.push(plain),
                wide => {
                    wide.encode_utf16(&mut [0; 2]).iter().for_each(|unit| ascii += &format!("\\u{unit:04x}"))
                }
            }
            ascii
        })
    });
    let url = utf8_percent_encode(value, ENCODED_IN_URLS).to_string();
    let form = url.replace("%20", "+");
    let long = value.len() >= MIN_SECRET_BYTES;
    let all = [json, slashes, html, ascii, both, url, form];
    all.into_iter().filter(move |text| long && text != value)
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
    scratch: Scratch,
    hits: u64,
}

impl<'a> Masker<'a> {
    pub(crate) fn new(secrets: &'a Secrets) -> Self {
        Self { secrets, held: Vec::new(), masked: 0, scratch: Scratch::default(), hits: 0 }
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
        while let Some(skip) = self.secrets.index.next(rest) {
            let (plain, from_here) = rest.split_at(skip);
            self.pass(plain, out);
            if let Some(count) = self.secrets.index.harmless_backslashes(from_here) {
                let (backslashes, after) = from_here.split_at(count);
                self.pass(backslashes, out);
                rest = after;
                continue;
            }
            let look = self.secrets.look(from_here, &mut self.scratch);
            if look.undecided && !last {
                return from_here;
            }
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
    }
}

#[cfg(test)]
mod tests;
