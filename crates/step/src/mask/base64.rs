//! Secrets in base64: what it stands for is read, and searched as ordinary text is.
//!
//! A secret may stand in the encoded content in any spelling, so no letters of base64 can be looked for. But a place can only be the
//! beginning if its first letters stand for bytes with which a pattern begins. From such a place only as much is decoded as the patterns
//! want to see: for most places a few bytes. Of a letter, the first none, two or four bits may belong to a byte before the secret: a byte of the
//! content begins at each even bit. So each place is read in three ways, and nothing need be known of where the base64 begins.
//!
//! Letters may be escaped, and they go on in the next line. Decoding whole runs of letters instead would cost more, as every word of a
//! text is such a run, and would have to keep in mind where they began.

use super::spelling::{Reading, TooFew, readings};

/// So many letters are looked at to see whether a secret may begin. Only after as many does base64 go on in the next line: fewer stand
/// at the end of any line, and the line would be held back until the next one comes. See [`Begun`].
const FIRST_LETTERS: usize = 4;

/// The longest white space with a line end behind which base64 goes on.
const LONGEST_GAP: usize = 64;

/// The bits of each letter that may belong to a byte before the secret.
pub(super) const BITS_BEFORE: [u8; 3] = [0, 2, 4];

/// The bits of some letters, up to four.
#[derive(Clone, Copy, Default)]
pub(super) struct Bits {
    /// The last letter's in the lowest place.
    all: u32,
    letters: u32,
}

impl Bits {
    /// Those of the letters that `bytes` begin with, as far as none is escaped; none if so few letters cannot begin a secret.
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

    /// Those that belong to a secret if so many before them do not, in the highest places of two bytes, and how many there are.
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

/// `bytes` without the white space that they begin with, as far as none is escaped; none if there is no line end in it.
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

/// Whether what begins with `sign`, which is no letter, may be an escaped letter or white space.
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
    /// The place after each of them.
    ends: [usize; FIRST_LETTERS],
    /// What follows them.
    pub(super) then: Then,
}

/// What follows some letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// Perhaps more of them.
    More,
    /// White space. Its place.
    Gap(usize),
    /// The bytes are cut off here.
    Cut,
    /// Something else.
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

    /// With those of the next line of `bytes`, as far as it is there. `gap`: the place of what follows these. None if that has no line end.
    pub(super) fn with_next_line(&self, bytes: &[u8], gap: usize) -> Option<Bits> {
        let next_line = match after_gap(bytes, gap) {
            Ok(place) => bytes.get(place?..),
            Err(TooFew) => None,
        };
        Some(next_line.map_or(self.bits, |next_line| self.with_those_of(next_line).bits))
    }

    /// These and those that follow in `bytes`.
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

/// Base64 that may have begun a secret with the last letters of a line, fewer than four. The line is not held back, so those letters stay; what
/// follows in the next line is masked.
pub(super) struct Begun {
    letters: FirstLetters,
    before: u8,
    gap: Gap,
}

/// White space that is read as far as it is there.
struct Gap {
    /// How far ahead it goes on.
    ahead: usize,
    /// How many more characters it may have.
    left: usize,
    has_line_end: bool,
    is_over: bool,
}

impl Begun {
    /// Where these letters are followed by white space, which begins at `gap`.
    pub(super) fn new(letters: FirstLetters, before: u8, gap: usize) -> Self {
        let gap = Gap { ahead: gap, left: LONGEST_GAP, has_line_end: false, is_over: false };
        Self { letters: FirstLetters { ends: [0; FIRST_LETTERS], ..letters }, before, gap }
    }

    /// Reads on in the white space. Whether there may be a next line behind it.
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

    /// How far ahead the next line begins, or ends what is to be seen of the white space before it. None if all of these `bytes` belongs to it.
    pub(super) fn ahead(&self, bytes: &[u8]) -> Option<usize> {
        Some(self.gap.ahead).filter(|ahead| *ahead < bytes.len())
    }

    /// Whether the next line begins at this place, or the white space before it is cut off here.
    pub(super) fn is_due(&self) -> bool {
        self.gap.ahead == 0
    }

    /// The letters with those of the next line, which `bytes` begin with, and how many of their bits belong to a byte before the secret.
    pub(super) fn with_next_line(&self, bytes: &[u8]) -> (FirstLetters, u8) {
        (self.letters.with_those_of(bytes), self.before)
    }

    /// Whether it is known where the next line begins.
    pub(super) fn is_known(&self) -> bool {
        self.gap.is_over
    }

    /// So many bytes are passed.
    pub(super) fn pass(&mut self, count: usize) {
        self.gap.ahead = self.gap.ahead.saturating_sub(count);
    }
}

/// What some base64 stands for, as far as it is read, from a place at which a secret may begin.
pub(super) struct Content<'a> {
    source: &'a [u8],
    at: usize,
    letters: usize,
    /// The last bits, the first of which are a part of a byte.
    bits: u16,
    /// How many more are needed for the next byte.
    missing: u8,
    read: &'a mut ContentBytes,
    then: Then,
}

/// Bytes of a content; kept to spare allocations.
#[derive(Default)]
pub(super) struct ContentBytes {
    bytes: Vec<u8>,
    /// The place after the last letter of each byte.
    ends: Vec<usize>,
}

impl<'a> Content<'a> {
    /// That of `source`, whose first letters these are. So many bits do not belong to it.
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

    /// Reads on, until there are so many bytes or no more.
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

    /// What was read.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.read.bytes
    }

    /// Whether there is more to be read.
    pub(super) fn goes_on(&self) -> bool {
        self.then == Then::More
    }

    /// Whether it could go on if more bytes came.
    pub(super) fn is_cut(&self) -> bool {
        self.then == Then::Cut
    }

    /// The place after the letters that the first `count` bytes take.
    pub(super) fn end(&self, count: usize) -> Option<usize> {
        self.read.ends.get(count.checked_sub(1)?).copied()
    }
}

/// A letter at a place.
enum Letter {
    Is { sextet: u8, end: usize },
    None(Then),
}

/// The letter at `at`, escaped or not. Its readings are not ambiguous: no letter is the beginning of another one's escape.
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

/// The place after the white space at `at`; none if there is no line end in it.
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

/// One character of white space, escaped or not.
struct White {
    is_line_end: bool,
    /// The place after it.
    end: usize,
}

/// The white space at a place; none if something else stands there.
fn white_space(bytes: &[u8], at: usize) -> Result<Option<White>, TooFew> {
    let mut white = None;
    readings(bytes, at, |reading, end| match reading {
        Reading::Byte(b'\n' | b'\r') | Reading::Char('\n' | '\r') => {
            white = Some(White { is_line_end: true, end });
        }
        // Not every space: `+` stands for one in a form, and is a letter here.
        Reading::Byte(b' ' | b'\t') => white = Some(White { is_line_end: false, end }),
        _ => {}
    })?;
    Ok(white)
}

/// What a letter of base64 stands for, in the standard alphabet and in that of URLs.
pub(super) fn value_of(letter: u8) -> Option<u8> {
    Some(sextet(letter)).filter(|sextet| *sextet != NO_SEXTET)
}

fn sextet(letter: u8) -> u8 {
    SEXTETS.get(usize::from(letter)).copied().unwrap_or(NO_SEXTET)
}

/// What stands in [`SEXTETS`] for a byte that is no letter.
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

/// The letters that stand for this value.
pub(super) fn letters_of(sextet: u8) -> impl Iterator<Item = u8> {
    (0..=127).filter(move |letter| value_of(*letter) == Some(sextet))
}
