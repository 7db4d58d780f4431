//! Finds secrets in base64: decodes it and searches the content like ordinary text.
//!
//! The encoded content may have a secret in any spelling, so it is not possible to search for fixed letters
//! of base64. But a secret can only begin at a place whose first letters decode to bytes with which a pattern
//! begins. From such a place only as much is decoded as the patterns need: a few bytes for most places. The
//! first none, two or four bits of a letter may belong to a byte before the secret, because a byte of the
//! content can begin at each even bit. So each place is read in three ways, and it need not be known where
//! the base64 begins.
//!
//! Letters may be escaped, and base64 may continue in the next line. Decoding whole runs of letters would
//! cost more, because every word of a text is such a run, and it would have to remember where they began.

use super::spelling::{Reading, TooFew, readings};

/// How many letters are read to decide whether a secret may begin. Base64 continues in the next line only
/// after at least so many: any line may end with fewer, and would be held back until the next line comes. See
/// [`Begun`].
const FIRST_LETTERS: usize = 4;

/// The longest white space with a line end after which base64 continues.
const LONGEST_GAP: usize = 64;

/// How many bits of a letter may belong to a byte before the secret.
pub(super) const BITS_BEFORE: [u8; 3] = [0, 2, 4];

/// The bits of up to four letters.
#[derive(Clone, Copy, Default)]
pub(super) struct Bits {
    /// The bits of the last letter are the lowest.
    all: u32,
    letters: u32,
}

impl Bits {
    /// The bits of the letters at the beginning of `bytes`, up to four, and only those before an escape. `None` if
    /// the base64 ends after fewer letters.
    #[inline]
    pub(super) fn as_they_stand(bytes: &[u8]) -> Option<Self> {
        let four = bytes.first_chunk().map(|four: &[u8; FIRST_LETTERS]| four.map(sextet));
        match four {
            Some([one, two, three, four]) if (one | two | three | four) < NO_SEXTET => {
                let all =
                    [one, two, three, four].into_iter().fold(0, |all, sextet| (all << 6) | u32::from(sextet));
                Some(Self { all, letters: 4 })
            }
            _ => Self::one_by_one(bytes),
        }
    }

    fn one_by_one(bytes: &[u8]) -> Option<Self> {
        let mut bits = Self::default();
        let mut rest = bytes;
        while bits.letters < 4 {
            let Some((byte, after)) = rest.split_first() else { break };
            match value_of(*byte) {
                Some(sextet) => {
                    bits.add(sextet);
                    rest = after;
                }
                None if is_white(*byte) => match without_gap(rest) {
                    Ok(Some(next)) => rest = next,
                    Ok(None) => return None,
                    Err(TooFew) => break,
                },
                None => return may_go_on(*byte, after).then_some(bits),
            }
        }
        Some(bits)
    }

    fn add(&mut self, sextet: u8) {
        self.all = (self.all << 6) | u32::from(sextet);
        self.letters = self.letters.saturating_add(1);
    }

    /// The first bits of the secret, left-aligned in two bytes, and their number (at most 16). The first
    /// `before` bits of the letters do not belong to it.
    #[inline]
    pub(super) fn of_secret(self, before: u8) -> (u16, u32) {
        let count = self.letters.saturating_mul(6).saturating_sub(u32::from(before));
        let bits = self.all & (1_u32 << count).wrapping_sub(1);
        let two_bytes = if count > 16 { bits >> (count - 16) } else { bits << (16 - count) };
        (u16::try_from(two_bytes & 0xffff).unwrap_or(0), count.min(16))
    }
}

fn is_white(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r' | b' ' | b'\t')
}

/// `bytes` after the unescaped white space at their beginning. `None` if that has no line end.
fn without_gap(bytes: &[u8]) -> Result<Option<&[u8]>, TooFew> {
    let end = bytes.iter().take(LONGEST_GAP).position(|byte| !is_white(*byte)).unwrap_or(LONGEST_GAP);
    let (gap, rest) = bytes.split_at_checked(end).unwrap_or((bytes, &[]));
    if gap.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
        return Ok(Some(rest));
    }
    match rest.first() {
        Some(b'\\' | b'%') | None => Err(TooFew),
        Some(_) => Ok(None),
    }
}

/// Whether `sign`, which is not a letter, may begin an escaped letter or white space.
fn may_go_on(sign: u8, after: &[u8]) -> bool {
    match sign {
        b'%' => after.first().is_none_or(u8::is_ascii_hexdigit),
        b'\\' => match after.iter().find(|byte| **byte != b'\\') {
            None | Some(b'%' | b'u' | b'U' | b'x' | b'0'..=b'7' | b'n' | b'r' | b't') => true,
            Some(sign) => sign.is_ascii_punctuation() && value_of(*sign).is_some(),
        },
        _ => false,
    }
}

/// The first letters at a place, up to four.
#[derive(Clone, Copy)]
pub(super) struct FirstLetters {
    pub(super) bits: Bits,
    /// The place after each of the letters.
    ends: [usize; FIRST_LETTERS],
    /// The bytes after the letters.
    pub(super) then: Then,
}

/// The kind of bytes after the first letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// There may be more letters.
    More,
    /// White space, which begins at this place.
    Gap(usize),
    /// The bytes are cut off here.
    Cut,
    /// Other bytes: the base64 has ended.
    End,
}

impl FirstLetters {
    pub(super) fn at_the_beginning_of(bytes: &[u8]) -> Self {
        let none = Self { bits: Bits::default(), ends: [0; FIRST_LETTERS], then: Then::More };
        none.with_those_of(bytes)
    }

    fn count(&self) -> usize {
        usize::try_from(self.bits.letters).unwrap_or(0)
    }

    /// The bits of these letters and of the first ones of the next line, as far as `bytes` has them. `gap` is
    /// the place of the white space after these letters. `None` if that has no line end.
    pub(super) fn with_next_line(&self, bytes: &[u8], gap: usize) -> Option<Bits> {
        let next_line = match after_gap(bytes, gap) {
            Ok(place) => bytes.get(place?..),
            Err(TooFew) => None,
        };
        Some(next_line.map_or(self.bits, |next_line| self.with_those_of(next_line).bits))
    }

    /// These letters and the ones at the beginning of `bytes`, up to four.
    fn with_those_of(mut self, bytes: &[u8]) -> Self {
        self.then = Then::More;
        let mut at = 0;
        let count = self.count();
        for place in self.ends.iter_mut().skip(count) {
            match letter(bytes, at) {
                Letter::Is { sextet, end } => {
                    self.bits.add(sextet);
                    (at, *place) = (end, end);
                }
                Letter::None(then) => {
                    self.then = then;
                    break;
                }
            }
        }
        self
    }

    fn sextets(&self) -> impl Iterator<Item = (u8, usize)> {
        let Bits { all, letters } = self.bits;
        let sextet = move |after: u32| u8::try_from((all >> after.saturating_mul(6)) & 0x3f).unwrap_or(0);
        (0..letters).rev().map(sextet).zip(self.ends)
    }
}

/// A secret that may have begun in base64 with the last letters of a line, fewer than four. The line is not
/// held back, so those letters stay visible; the rest in the next line is masked.
pub(super) struct Begun {
    letters: FirstLetters,
    before: u8,
    gap: Gap,
}

/// White space that has been read as far as it has arrived.
struct Gap {
    /// Distance to the place where reading continues.
    ahead: usize,
    /// How many more characters it may have.
    left: usize,
    has_line_end: bool,
    is_over: bool,
}

impl Begun {
    /// For letters that are followed by white space, which begins at `gap`.
    pub(super) fn new(letters: FirstLetters, before: u8, gap: usize) -> Self {
        let gap = Gap { ahead: gap, left: LONGEST_GAP, has_line_end: false, is_over: false };
        Self { letters: FirstLetters { ends: [0; FIRST_LETTERS], ..letters }, before, gap }
    }

    /// Continues to read the white space. Returns whether a next line may follow it.
    pub(super) fn read(&mut self, bytes: &[u8]) -> bool {
        let gap = &mut self.gap;
        while !gap.is_over {
            match white_space(bytes, gap.ahead) {
                Ok(Some(White { is_line_end, end })) if gap.left > 0 => {
                    gap.ahead = end;
                    gap.left = gap.left.saturating_sub(1);
                    gap.has_line_end |= is_line_end;
                }
                Ok(_) => gap.is_over = true,
                Err(TooFew) => break,
            }
        }
        gap.has_line_end || !gap.is_over
    }

    /// Distance to the beginning of the next line, or to the end of the white space that has arrived. `None`
    /// if all of `bytes` belongs to the white space.
    pub(super) fn ahead(&self, bytes: &[u8]) -> Option<usize> {
        Some(self.gap.ahead).filter(|ahead| *ahead < bytes.len())
    }

    /// Whether the next line begins here, or the white space that has arrived ends here.
    pub(super) fn is_due(&self) -> bool {
        self.gap.ahead == 0
    }

    /// The letters together with those of the next line, with which `bytes` begin, and how many of their bits
    /// belong to a byte before the secret.
    pub(super) fn with_next_line(&self, bytes: &[u8]) -> (FirstLetters, u8) {
        (self.letters.with_those_of(bytes), self.before)
    }

    /// Whether the beginning of the next line is known.
    pub(super) fn is_known(&self) -> bool {
        self.gap.is_over
    }

    /// Moves on by `count` bytes.
    pub(super) fn pass(&mut self, count: usize) {
        self.gap.ahead = self.gap.ahead.saturating_sub(count);
    }
}

/// Decoded base64, read as far as needed, from a place at which a secret may begin.
pub(super) struct Content<'a> {
    source: &'a [u8],
    at: usize,
    letters: usize,
    /// The last bits. The first of them are part of a byte.
    bits: u16,
    /// How many more bits the next byte needs.
    missing: u8,
    read: &'a mut ContentBytes,
    then: Then,
}

/// Decoded bytes; reused to avoid allocations.
#[derive(Default)]
pub(super) struct ContentBytes {
    bytes: Vec<u8>,
    /// The place after the last letter of each byte.
    ends: Vec<usize>,
}

impl<'a> Content<'a> {
    /// Decodes `source`, which begins with the letters `first`. Their first `before` bits do not belong to
    /// the content.
    pub(super) fn new(
        source: &'a [u8],
        first: &FirstLetters,
        before: u8,
        read: &'a mut ContentBytes,
    ) -> Self {
        read.bytes.clear();
        read.ends.clear();
        let at = first.ends.get(first.count().saturating_sub(1)).copied().unwrap_or(0);
        let missing = before.saturating_add(8);
        let mut content = Self { source, at, letters: 0, bits: 0, missing, read, then: Then::More };
        first.sextets().for_each(|(sextet, end)| content.add(sextet, end));
        content
    }

    fn add(&mut self, sextet: u8, end: usize) {
        self.letters = self.letters.saturating_add(1);
        self.bits = ((self.bits & 0x3ff) << 6) | u16::from(sextet);
        match 6_u8.checked_sub(self.missing) {
            Some(more) => {
                self.read.bytes.push(u8::try_from((self.bits >> more) & 0xff).unwrap_or(0));
                self.read.ends.push(end);
                self.missing = 8_u8.saturating_sub(more);
            }
            None => self.missing = self.missing.saturating_sub(6),
        }
    }

    /// Continues to decode until there are `most` bytes, or the base64 ends.
    pub(super) fn read(&mut self, most: usize) {
        while self.read.bytes.len() < most && self.then == Then::More {
            let next = match letter(self.source, self.at) {
                Letter::None(Then::Gap(gap)) if self.letters >= FIRST_LETTERS => {
                    match after_gap(self.source, gap) {
                        Ok(Some(next)) => letter(self.source, next),
                        Ok(None) => Letter::None(Then::End),
                        Err(TooFew) => Letter::None(Then::Cut),
                    }
                }
                other => other,
            };
            match next {
                Letter::Is { sextet, end } => {
                    self.at = end;
                    self.add(sextet, end);
                }
                Letter::None(then) => self.then = then,
            }
        }
    }

    /// The bytes decoded so far.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.read.bytes
    }

    /// Whether there is more to decode.
    pub(super) fn goes_on(&self) -> bool {
        self.then == Then::More
    }

    /// Whether the base64 could continue if more bytes came.
    pub(super) fn is_cut(&self) -> bool {
        self.then == Then::Cut
    }

    /// The place after the letters of the first `count` bytes.
    pub(super) fn end(&self, count: usize) -> Option<usize> {
        self.read.ends.get(count.checked_sub(1)?).copied()
    }
}

/// A letter at a place, or something else.
enum Letter {
    Is { sextet: u8, end: usize },
    None(Then),
}

/// The letter at `at`, escaped or not. There is only one reading: no letter begins the escape of another one.
fn letter(bytes: &[u8], at: usize) -> Letter {
    let Some(first) = bytes.get(at).copied() else { return Letter::None(Then::Cut) };
    if let Some(sextet) = value_of(first) {
        return Letter::Is { sextet, end: at.saturating_add(1) };
    }
    if is_white(first) {
        return Letter::None(Then::Gap(at));
    }
    if !matches!(first, b'\\' | b'%') {
        return Letter::None(Then::End);
    }
    let mut found = None;
    let looked = readings(bytes, at, |reading, end| {
        let sextet = reading.ascii().and_then(value_of);
        found = sextet.map(|sextet| Letter::Is { sextet, end }).or(found.take());
    });
    found.unwrap_or_else(|| match white_space(bytes, at) {
        _ if looked.is_err() => Letter::None(Then::Cut),
        Ok(Some(_)) => Letter::None(Then::Gap(at)),
        Ok(None) => Letter::None(Then::End),
        Err(TooFew) => Letter::None(Then::Cut),
    })
}

/// The place after the white space at `at`. `None` if that has no line end.
fn after_gap(bytes: &[u8], at: usize) -> Result<Option<usize>, TooFew> {
    let (mut place, mut has_line_end) = (at, false);
    for _ in 0..LONGEST_GAP {
        match white_space(bytes, place)? {
            Some(White { is_line_end, end }) => {
                place = end;
                has_line_end |= is_line_end;
            }
            None => break,
        }
    }
    Ok(has_line_end.then_some(place))
}

/// A character of white space, escaped or not.
struct White {
    is_line_end: bool,
    /// The place after the character.
    end: usize,
}

/// The white space at a place. `None` if there is another character.
fn white_space(bytes: &[u8], at: usize) -> Result<Option<White>, TooFew> {
    let mut white = None;
    readings(bytes, at, |reading, end| match reading {
        Reading::Byte(b'\n' | b'\r') | Reading::Char('\n' | '\r') => {
            white = Some(White { is_line_end: true, end });
        }
        // `+` is a space in form encoding, but a letter here, so only these bytes count.
        Reading::Byte(b' ' | b'\t') => white = Some(White { is_line_end: false, end }),
        _ => {}
    })?;
    Ok(white)
}

/// The value of a letter of base64, in the standard alphabet or that of URLs.
pub(super) fn value_of(letter: u8) -> Option<u8> {
    Some(sextet(letter)).filter(|sextet| *sextet != NO_SEXTET)
}

fn sextet(letter: u8) -> u8 {
    SEXTETS.get(usize::from(letter)).copied().unwrap_or(NO_SEXTET)
}

/// The entry of [`SEXTETS`] for a byte that is not a letter.
const NO_SEXTET: u8 = 64;

static SEXTETS: [u8; 256] = {
    let mut all = [NO_SEXTET; 256];
    let mut letter = 0_u8;
    let mut rest: &mut [u8] = &mut all;
    while let Some((sextet, others)) = rest.split_first_mut() {
        *sextet = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => NO_SEXTET,
        };
        rest = others;
        letter = letter.wrapping_add(1);
    }
    all
};

/// The letters with this value.
pub(super) fn letters_of(sextet: u8) -> impl Iterator<Item = u8> {
    (0..=127).filter(move |letter| value_of(*letter) == Some(sextet))
}
