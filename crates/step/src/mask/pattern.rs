//! How one form of a secret is found in bytes: its characters, or its base64 at one of three alignments. Each character may be escaped.

use super::spelling::{Reading, TooFew, is_quote, is_special, quotes, readings};
use std::sync::Arc;

/// Base64 goes on in the next line only after so many letters of a pattern. Fewer are found at the end of any line, and
/// the line would be held back until the next one comes.
const LETTERS_BEFORE_GAP: usize = 4;

/// The fewest letters of base64 that are looked for where others of the secret stand in the line before.
const FEWEST_LETTERS: usize = 6;

/// The longest white space at which base64 goes on in the next line.
const LONGEST_GAP: usize = 64;

/// See the module.
pub(super) struct Pattern {
    text: Arc<str>,
    form: Form,
}

#[derive(Clone, Copy)]
enum Form {
    /// The characters themselves.
    Plain,
    /// Base64 of a content in which so many bytes (0 to 2, of the last group of three) stand before the secret; without its
    /// first letters, if those may stand at the end of the line before.
    Base64 { before: usize, without: usize },
}

/// What is looked for at one place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// A character.
    Char(char),
    /// A letter of base64, as far as its bits belong to the secret: those in `mask` are known.
    Sextet { value: u8, mask: u8 },
}

/// Where a pattern may end that begins at the first byte.
pub(super) struct Found {
    /// The longest end.
    pub(super) end: Option<usize>,
    /// Whether more bytes could make another end.
    pub(super) undecided: bool,
}

/// Places in the bytes; kept to spare allocations.
#[derive(Default)]
pub(super) struct Scratch {
    now: Vec<usize>,
    next: Vec<usize>,
    /// How often a pattern was looked for.
    #[cfg(test)]
    pub(super) finds: u64,
}

impl Pattern {
    pub(super) fn plain(text: Arc<str>) -> Self {
        Self { text, form: Form::Plain }
    }

    pub(super) fn base64(text: Arc<str>) -> [Self; 3] {
        [0, 1, 2].map(|before| Self { text: Arc::clone(&text), form: Form::Base64 { before, without: 0 } })
    }

    /// What follows where a line of base64 ends within the first letters of the secret.
    pub(super) fn base64_in_next_line(text: &str) -> Vec<Self> {
        let all = (0..3).flat_map(|before| (1..LETTERS_BEFORE_GAP).map(move |without| (before, without)));
        let patterns = all.map(|(before, without)| Form::Base64 { before, without });
        let text = Arc::<str>::from(text);
        let patterns = patterns.map(|form| Self { text: Arc::clone(&text), form });
        patterns.filter(|pattern| pattern.units().count() >= FEWEST_LETTERS).collect()
    }

    /// The secret.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What is looked for, in its order.
    pub(super) fn units(&self) -> Units<'_> {
        match self.form {
            Form::Plain => Units::Plain(self.text.chars()),
            Form::Base64 { before, without } => {
                // Before the secret there are letters in which it has no bit.
                let next = (before * 8 / 6).saturating_add(without);
                Units::Base64 { bytes: self.text.as_bytes(), before, next }
            }
        }
    }

    /// The bits of the first letters, if it is base64: letters that stand for themselves can be compared with them at once.
    pub(super) fn head(&self) -> Head {
        let sextets = self.units().take(LETTERS_OF_HEAD).map(|unit| match unit {
            Unit::Sextet { value, mask } => Some((u32::from(value), u32::from(mask))),
            Unit::Char(_) => None,
        });
        let mut head = Head::default();
        for (nth, sextet) in sextets.enumerate() {
            let Some((value, mask)) = sextet else { return Head::default() };
            let shift = SHIFTS.get(nth).copied().unwrap_or(0);
            head = Head { value: head.value | ((value & mask) << shift), mask: head.mask | (mask << shift) };
        }
        head
    }

    /// Whether this stands at the beginning of `bytes`, in any spelling. Follows all readings at once, so that it takes time
    /// in proportion to what it reads.
    pub(super) fn find(&self, bytes: &[u8], scratch: &mut Scratch) -> Found {
        #[cfg(test)]
        {
            scratch.finds += 1;
        }
        let mut units = self.units();
        let mut at = 0;
        let mut letters = 0_usize;
        let first = loop {
            let Some(unit) = units.next() else { return Found { end: Some(at), undecided: false } };
            match unit.step(bytes, at, letters >= LETTERS_BEFORE_GAP) {
                Step::To(end) => at = end,
                Step::Nowhere => return Found { end: None, undecided: false },
                Step::TooFew => return Found { end: None, undecided: true },
                Step::Several => break unit,
            }
            letters = letters.saturating_add(1);
        };
        let mut undecided = false;
        scratch.now.clear();
        scratch.now.push(at);
        let mut units = std::iter::once(first).chain(units).peekable();
        while let Some(unit) = units.next() {
            scratch.next.clear();
            let place = UnitPosition { wraps: letters >= LETTERS_BEFORE_GAP, inside: units.peek().is_some() };
            for at in &scratch.now {
                undecided |= unit.ends(bytes, *at, place, &mut scratch.next).is_err();
            }
            if scratch.next.len() > 1 {
                scratch.next.sort_unstable();
                scratch.next.dedup();
            }
            std::mem::swap(&mut scratch.now, &mut scratch.next);
            if scratch.now.is_empty() {
                break;
            }
            letters = letters.saturating_add(1);
        }
        Found { end: scratch.now.last().copied(), undecided }
    }
}

/// How many letters are compared at once. Base64 goes on in another line only after so many.
const LETTERS_OF_HEAD: usize = LETTERS_BEFORE_GAP;

/// Where the bits of each letter stand in a [`Head`].
const SHIFTS: [u32; LETTERS_OF_HEAD] = [18, 12, 6, 0];

/// The first letters of base64 in one number. Without a mask it is nothing that can be compared.
#[derive(Clone, Copy, Default)]
pub(super) struct Head {
    value: u32,
    mask: u32,
}

impl Head {
    /// Whether a pattern with this head may begin with these letters. One that is not base64 may.
    pub(super) fn may_be(self, letters: Letters) -> bool {
        self.mask == 0
            || letters.are_possible && (letters.value ^ self.value) & self.mask & letters.known == 0
    }
}

/// What the first letters of some bytes are, if the bytes are base64.
#[derive(Clone, Copy)]
pub(super) struct Letters {
    value: u32,
    /// The bits that are known: a letter may be escaped, or not be there yet.
    known: u32,
    /// Whether they can be letters.
    are_possible: bool,
}

impl Letters {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut letters = Self { value: 0, known: 0, are_possible: true };
        for (nth, shift) in SHIFTS.into_iter().enumerate() {
            let rest = bytes.get(nth..).unwrap_or_default();
            match rest.first().map(|letter| (*letter, value_of(*letter))) {
                Some((_, Some(value))) => {
                    letters.value |= u32::from(value) << shift;
                    letters.known |= ALL_BITS << shift;
                }
                // A letter that is encoded, or not there yet.
                None => break,
                Some((b'%', None)) if rest.get(1).is_none_or(u8::is_ascii_hexdigit) => break,
                Some((b'\\', None)) if may_be_letter(rest) => break,
                Some((_, None)) => {
                    letters.are_possible = false;
                    break;
                }
            }
        }
        letters
    }
}

/// The bits of a letter.
const ALL_BITS: u32 = 0x3f;

/// Whether what some backslashes escape may be a letter of base64.
fn may_be_letter(escape: &[u8]) -> bool {
    match escape.iter().find(|byte| **byte != b'\\') {
        None | Some(b'%' | b'u' | b'U' | b'x' | b'0'..=b'7') => true,
        Some(sign) => sign.is_ascii_punctuation() && value_of(*sign).is_some(),
    }
}

/// See [`Pattern::units`].
pub(super) enum Units<'a> {
    Plain(std::str::Chars<'a>),
    Base64 { bytes: &'a [u8], before: usize, next: usize },
}

impl Iterator for Units<'_> {
    type Item = Unit;

    fn next(&mut self) -> Option<Unit> {
        match self {
            Self::Plain(chars) => chars.next().map(Unit::Char),
            Self::Base64 { bytes, before, next } => {
                let unit = sextet(bytes, *before, *next)?;
                *next = next.saturating_add(1);
                Some(unit)
            }
        }
    }
}

/// The letter number `index` of the base64 of `before` unknown bytes and then `bytes`; none after their end.
fn sextet(bytes: &[u8], before: usize, index: usize) -> Option<Unit> {
    let bit = index.saturating_mul(6);
    let byte = bit / 8;
    let shift = bit % 8;
    if byte >= before.saturating_add(bytes.len()) {
        return None;
    }
    // Of each byte: what it is, and which of its bits are known.
    let known = |place: usize| match place.checked_sub(before).and_then(|at| bytes.get(at)) {
        Some(byte) => (u16::from(*byte), 0xff_u16),
        None => (0, 0),
    };
    let ((first, first_known), (second, second_known)) = (known(byte), known(byte.saturating_add(1)));
    let six = |high: u16, low: u16| {
        let both = (high << 8) | low;
        u8::try_from((both >> (10_usize.saturating_sub(shift))) & 0x3f).unwrap_or_default()
    };
    Some(Unit::Sextet { value: six(first, second), mask: six(first_known, second_known) })
}

impl Unit {
    /// The only place at which this can end if it begins at `at`, as long as nothing is escaped.
    fn step(self, bytes: &[u8], at: usize, wraps: bool) -> Step {
        let Some(first) = bytes.get(at).copied() else { return Step::TooFew };
        let is_it = match self {
            Self::Char(_) if is_special(first) => return Step::Several,
            Self::Char('\n') if first == b'\r' => return Step::Several,
            Self::Char('\'' | '"') if is_quote(first) => return Step::Several,
            Self::Char(char) if !char.is_ascii() => return wide_step(char, bytes, at),
            Self::Char(char) => u32::from(char) == u32::from(first),
            Self::Sextet { .. } => match first {
                b'\\' | b'%' => return Step::Several,
                b'\n' | b'\r' if wraps => return Step::Several,
                _ => self.takes(first),
            },
        };
        if is_it { Step::To(at.saturating_add(1)) } else { Step::Nowhere }
    }

    /// Adds to `ends` every place at which this ends if it begins at `at`.
    fn ends(self, bytes: &[u8], at: usize, place: UnitPosition, ends: &mut Vec<usize>) -> Result<(), TooFew> {
        match self.step(bytes, at, place.wraps) {
            Step::To(end) => ends.push(end),
            Step::Nowhere => {}
            Step::TooFew => return Err(TooFew),
            Step::Several => {
                return match self {
                    Self::Char(char @ ('\'' | '"')) => quoted(char, bytes, at, place.inside, ends),
                    Self::Char(char) if char.is_ascii() => ascii(char, bytes, at, ends),
                    Self::Char(char) => wide(char, bytes, at, ends),
                    Self::Sextet { .. } => self.letter(bytes, at, place.wraps, ends),
                };
            }
        }
        Ok(())
    }

    fn letter(self, bytes: &[u8], at: usize, wraps: bool, ends: &mut Vec<usize>) -> Result<(), TooFew> {
        let looked = self.letter_at(bytes, at, ends);
        if !wraps {
            return looked;
        }
        let went_on = match after_gap(bytes, at)? {
            Some(next) => self.letter_at(bytes, next, ends),
            None => Ok(()),
        };
        looked.and(went_on)
    }

    fn letter_at(self, bytes: &[u8], at: usize, ends: &mut Vec<usize>) -> Result<(), TooFew> {
        readings(bytes, at, |reading, end| {
            if reading.ascii().is_some_and(|ascii| self.takes(ascii)) {
                ends.push(end);
            }
        })
    }

    /// Whether this letter of base64 may stand here.
    pub(super) fn takes(self, letter: u8) -> bool {
        match self {
            Self::Sextet { value, mask } => {
                value_of(letter).is_some_and(|found| found & mask == value & mask)
            }
            Self::Char(_) => false,
        }
    }
}

/// Where in its pattern a unit stands.
#[derive(Clone, Copy)]
struct UnitPosition {
    /// A line end may stand before it.
    wraps: bool,
    /// Another unit follows.
    inside: bool,
}

/// Where a unit can end.
enum Step {
    To(usize),
    Nowhere,
    /// There are not enough bytes to say.
    TooFew,
    /// Something is escaped: see [`Unit::ends`].
    Several,
}

fn ascii(char: char, bytes: &[u8], at: usize, ends: &mut Vec<usize>) -> Result<(), TooFew> {
    let mut line_ends = Vec::new();
    let looked = readings(bytes, at, |reading, end| match reading.ascii() {
        Some(ascii) if u32::from(char) == u32::from(ascii) => ends.push(end),
        // A line end of another system.
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

/// A quote, which may also be written as several ones.
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

/// A character that has several bytes, of which some or all are escaped.
fn wide(char: char, bytes: &[u8], at: usize, ends: &mut Vec<usize>) -> Result<(), TooFew> {
    let mut buffer = [0; 4];
    let encoded = char.encode_utf8(&mut buffer).as_bytes();
    let mut looked = readings(bytes, at, |reading, end| {
        if reading == Reading::Char(char) {
            ends.push(end);
        }
    });
    // Byte by byte, each of which may be escaped or not; of one byte there is one reading.
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

/// The place after a line end and the white space that follows it; none if there is no line end.
fn after_gap(bytes: &[u8], at: usize) -> Result<Option<usize>, TooFew> {
    let mut place = at;
    let mut any = false;
    for _ in 0..LONGEST_GAP {
        let mut after = None;
        readings(bytes, place, |reading, end| match reading {
            Reading::Byte(b'\n' | b'\r') | Reading::Char('\n' | '\r') => after = Some(end),
            // Not every space: `+` stands for one in a form, and is a letter here.
            Reading::Byte(b' ' | b'\t') if any => after = Some(end),
            _ => {}
        })?;
        match after {
            Some(end) => (place, any) = (end, true),
            None => break,
        }
    }
    Ok(any.then_some(place))
}

/// What a letter of base64 stands for, in the standard alphabet and in that of URLs.
pub(super) fn value_of(letter: u8) -> Option<u8> {
    let from = |base: u8, first: u8| letter.checked_sub(base).map(|offset| offset.saturating_add(first));
    match letter {
        b'A'..=b'Z' => from(b'A', 0),
        b'a'..=b'z' => from(b'a', 26),
        b'0'..=b'9' => from(b'0', 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}
