//! Masking of secret values in a flow of bytes, however it is cut into pieces.
//!
//! Knows the values only, not where they come from. A value is also found as it stands inside a JSON string, and each
//! line of a value by itself, however it is indented. What is encoded otherwise (base64, folded, compressed) is not found.

use std::collections::BTreeSet;

/// Secrets shorter than this many bytes are not masked: they would be found everywhere in innocent text, and replacing
/// them there destroys reports and gives their value away by its places.
pub const MIN_SECRET_BYTES: usize = 4;

/// What stands in the place of a secret.
const MASK: &[u8] = b"***";

/// The values to be masked, in all spellings.
pub(crate) struct Secrets {
    /// Longest first, so that the longest of several that begin at one place is masked.
    spellings: Vec<Vec<u8>>,
    /// Which bytes begin a spelling: keeps the common case to one look-up a byte.
    begins: [bool; 256],
    any_too_short: bool,
}

impl Secrets {
    pub(crate) fn new(values: &[String]) -> Self {
        let long_enough = values.iter().flat_map(|value| parts(value));
        let all: BTreeSet<Vec<u8>> = long_enough.flat_map(spellings).collect();
        let mut begins = [false; 256];
        for first in all.iter().filter_map(|spelling| spelling.first()) {
            if let Some(flag) = begins.get_mut(usize::from(*first)) {
                *flag = true;
            }
        }
        let mut spellings: Vec<_> = all.into_iter().collect();
        spellings.sort_by_key(|spelling| std::cmp::Reverse(spelling.len()));
        let any_too_short = values.iter().any(|value| (1..MIN_SECRET_BYTES).contains(&value.len()));
        Self { spellings, begins, any_too_short }
    }

    /// Whether there is a secret that is not masked, because it has fewer than [`MIN_SECRET_BYTES`].
    pub(crate) fn any_too_short(&self) -> bool {
        self.any_too_short
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.spellings.is_empty()
    }

    /// A text that is at hand as a whole, masked.
    pub(crate) fn mask_str(&self, text: &str) -> String {
        let mut masker = Masker::new(self);
        let mut out = Vec::with_capacity(text.len());
        masker.push(text.as_bytes(), &mut out);
        masker.finish(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Whether one of them stands in `bytes`.
    pub(crate) fn stand_in(&self, bytes: &[u8]) -> bool {
        let (mut masker, mut ignored) = (Masker::new(self), Vec::new());
        masker.push(bytes, &mut ignored);
        masker.finish(&mut ignored);
        masker.hits() > 0
    }

    fn may_begin(&self, byte: u8) -> bool {
        self.begins.get(usize::from(byte)).copied().unwrap_or(false)
    }

    /// Length of the secret at the beginning of `rest`.
    fn found_at(&self, rest: &[u8]) -> Option<usize> {
        self.spellings.iter().find(|spelling| rest.starts_with(spelling)).map(Vec::len)
    }

    /// Whether more bytes could make `rest` begin with a secret that it does not begin with now.
    fn undecided(&self, rest: &[u8]) -> bool {
        self.spellings.iter().any(|spelling| spelling.len() > rest.len() && spelling.starts_with(rest))
    }
}

/// The whole value and, if it has several, its lines without the white space around them: a key is printed line by line,
/// indented or not. Only parts that are long enough.
fn parts(value: &str) -> impl Iterator<Item = &str> {
    let lines = value.split(['\n', '\r']).map(str::trim);
    std::iter::once(value).chain(lines).filter(|part| part.len() >= MIN_SECRET_BYTES)
}

/// The value itself, and as JSON writers put it into a string: escaped minimally, and with ASCII only.
fn spellings(value: &str) -> [Vec<u8>; 3] {
    let quoted = serde_json::to_string(value).unwrap_or_default();
    let minimal = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or(value).to_owned();
    let ascii = minimal.chars().fold(String::new(), |mut text, letter| {
        if letter.is_ascii() {
            text.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        }
        text
    });
    [value.as_bytes().to_vec(), minimal.into_bytes(), ascii.into_bytes()]
}

/// Masks one flow of bytes. Holds back only an end that may yet become a secret.
pub(crate) struct Masker<'a> {
    secrets: &'a Secrets,
    held: Vec<u8>,
    hits: u64,
}

impl<'a> Masker<'a> {
    pub(crate) fn new(secrets: &'a Secrets) -> Self {
        Self { secrets, held: Vec::new(), hits: 0 }
    }

    /// How many secrets were found so far.
    pub(crate) fn hits(&self) -> u64 {
        self.hits
    }

    /// Takes the next piece; adds to `out` what can be told already.
    pub(crate) fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        if self.secrets.is_empty() {
            out.extend_from_slice(piece);
        } else if self.held.is_empty() {
            self.held = self.scan(piece, out).to_vec();
        } else {
            let mut joined = std::mem::take(&mut self.held);
            joined.extend_from_slice(piece);
            self.held = self.scan(&joined, out).to_vec();
        }
    }

    /// Adds what was held back: the flow is over, it is no secret.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        // It may still hold a shorter secret than the one it was held back for.
        let mut rest = std::mem::take(&mut self.held);
        while !rest.is_empty() {
            let taken = match self.secrets.found_at(&rest) {
                Some(length) => {
                    self.hits = self.hits.saturating_add(1);
                    out.extend_from_slice(MASK);
                    length
                }
                None => {
                    out.extend(rest.first());
                    1
                }
            };
            rest.drain(..taken);
        }
    }

    /// Masks up to the first place that cannot be told yet, and returns the bytes from there.
    fn scan<'b>(&mut self, bytes: &'b [u8], out: &mut Vec<u8>) -> &'b [u8] {
        let mut rest = bytes;
        while let Some(skip) = rest.iter().position(|byte| self.secrets.may_begin(*byte)) {
            let (plain, from_here) = rest.split_at(skip);
            out.extend_from_slice(plain);
            if self.secrets.undecided(from_here) {
                return from_here;
            }
            let keep = match self.secrets.found_at(from_here) {
                Some(length) => {
                    self.hits = self.hits.saturating_add(1);
                    out.extend_from_slice(MASK);
                    length
                }
                None => {
                    out.extend(from_here.first());
                    1
                }
            };
            rest = from_here.get(keep..).unwrap_or_default();
        }
        out.extend_from_slice(rest);
        &[]
    }
}

#[cfg(test)]
mod tests {
    use super::{Masker, Secrets};

    fn masked_in_pieces_of(size: usize, secrets: &[&str], text: &str) -> String {
        let values: Vec<String> = secrets.iter().map(|value| (*value).to_owned()).collect();
        let secrets = Secrets::new(&values);
        let (mut masker, mut out) = (Masker::new(&secrets), Vec::new());
        for piece in text.as_bytes().chunks(size) {
            masker.push(piece, &mut out);
        }
        masker.finish(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_secret_is_masked_wherever_the_flow_is_cut() {
        let rows: &[(&[&str], &str, &str)] = &[
            (&["hunter2"], "pass hunter2, again hunter2hunter2!", "pass ***, again ******!"),
            (&["aaab"], "aaaaaab aaa", "aaa*** aaa"),
            (&["abcd", "abcdef"], "abcdef abcde abcd", "*** ***e ***"),
            (&["abcdefgh", "cdef"], "abcdefg", "ab***g"),
            (&["abcdefgh", "cdef"], "xxabcdef", "xxab***"),
            (&["q\"x\ny"], r#"{"a":"q\"x\ny"}"#, r#"{"a":"***"}"#),
            (&["pässwort"], r#"{"a":"p\u00e4sswort"} pässwort"#, r#"{"a":"***"} ***"#),
            (&["abc"], "abc is too short", "abc is too short"),
            (&["-----BEGIN\n  line1\r\nab\nlast\n"], "-----BEGIN\n  line1\r\nab\nlast\n.", "***."),
            (
                &["-----BEGIN\n  line1\r\nab\nlast\n"],
                "\t-----BEGIN\n\tline1\n\tab\n\tlast",
                "\t***\n\t***\n\tab\n\t***",
            ),
            (
                &["-----BEGIN\n  line1\r\nab\nlast\n"],
                "-----BEGIN\n  line1\r\nab\nlost",
                "***\n  ***\r\nab\nlost",
            ),
            (
                &["li\"ne\nzw\u{e4}i"],
                r#"{"a":["li\"ne","zw\u00e4i"]} li\"ne\nzwäi"#,
                r#"{"a":["***","***"]} ***"#,
            ),
            (&["one1\n    \ntwo2"], "one1    two2", "***    ***"),
            (&[], "nothing", "nothing"),
        ];
        for (secrets, text, expected) in rows {
            for size in 1..=text.len() {
                assert_eq!(
                    &masked_in_pieces_of(size, secrets, text),
                    expected,
                    "{secrets:?} in pieces of {size}"
                );
            }
        }
    }

    #[test]
    fn nothing_is_held_back_that_cannot_become_a_secret() {
        let secrets = Secrets::new(&["hunter2".to_owned()]);
        let (mut masker, mut out) = (Masker::new(&secrets), Vec::new());
        masker.push(b"a line\n", &mut out);
        assert_eq!(out, b"a line\n");
        masker.push(b"hunt", &mut out);
        assert_eq!(out, b"a line\n");
        masker.push(b"er\n", &mut out);
        assert_eq!(out, b"a line\nhunter\n");
    }
}
