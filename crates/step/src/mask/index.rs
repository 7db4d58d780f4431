//! An index of the bytes with which patterns can begin. The usual case needs one look-up per byte.

use super::base64::{BITS_BEFORE, Bits, letters_of};
use super::pattern::Pattern;
use super::spelling::{MOST_BACKSLASHES, Reading, TooFew, is_escapable, is_special, readings};
use std::collections::{BTreeSet, HashMap};

/// The numbers of the patterns, by their beginning.
pub(super) struct Index {
    /// The first two bytes of a pattern, or of base64 that contains a pattern.
    stops: Pairs,
    /// The first two bytes of a pattern.
    pairs: Pairs,
    /// How many pairs are in `pairs` before each of its words.
    ranks: Vec<usize>,
    /// For each of `pairs` the place in `numbers` where its patterns begin; then the end of the last ones.
    offsets: Vec<usize>,
    numbers: Vec<usize>,
    /// The patterns by their first character or byte, for the case that it is escaped.
    escaped: HashMap<First, Vec<usize>>,
    /// The keys of `escaped` that are one byte.
    escaped_bytes: Vec<bool>,
    /// Letters with which relevant base64 may begin.
    letters: Vec<bool>,
}

/// A set of pairs of bytes.
struct Pairs {
    /// A bit for each pair: 8 KiB, which fits in the processor's cache.
    bits: Box<[u64; 1024]>,
    /// A bit for each byte with which a pair begins.
    firsts: [u64; 4],
}

/// The beginning of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum First {
    /// An ASCII character, or the first byte of another character.
    Byte(u8),
    /// A character that has several bytes.
    Char(char),
}

/// The patterns that may begin at a place.
pub(super) enum Candidates<'a> {
    These(&'a [usize]),
    Several(Vec<usize>),
}

impl Pairs {
    fn of(pairs: &[u16]) -> Self {
        let mut bits = Box::new([0; 1024]);
        for pair in pairs {
            if let Some(word) = bits.get_mut(usize::from(pair / 64)) {
                *word |= 1 << (pair % 64);
            }
        }
        let mut firsts = [0; 4];
        for (nth, words) in bits.chunks(4).enumerate() {
            let any = words.iter().any(|word| *word != 0);
            if let Some(word) = firsts.get_mut(nth / 64) {
                *word |= u64::from(any) << (nth % 64);
            }
        }
        Self { bits, firsts }
    }

    fn word(&self, pair: u16) -> u64 {
        self.bits.get(usize::from(pair / 64)).copied().unwrap_or(0)
    }

    fn has(&self, pair: u16) -> bool {
        self.word(pair) >> (pair % 64) & 1 == 1
    }

    /// How many pairs of the same word come before this pair.
    fn before_in_word(&self, pair: u16) -> usize {
        ones(self.word(pair) & ((1_u64 << (pair % 64)) - 1))
    }

    /// Whether a pair begins with this byte.
    fn any_with_first(&self, first: u8) -> bool {
        any_in(&self.firsts, first.into(), first.into())
    }

    /// Whether a pair begins with the first `bits` bits of `pair`, whose other bits are 0.
    fn any_with(&self, pair: u16, bits: u32) -> bool {
        let last = pair | u16::MAX.checked_shr(bits).unwrap_or(0);
        if bits > 8 { any_in(&*self.bits, pair, last) } else { any_in(&self.firsts, pair >> 8, last >> 8) }
    }
}

/// Whether one of the bits from `first` to `last` is set. The range is within one word, or consists of whole
/// words.
fn any_in(words: &[u64], first: u16, last: u16) -> bool {
    match words.get(usize::from(first / 64)..=usize::from(last / 64)).unwrap_or_default() {
        [word] => (word >> (first % 64)) << (63 - (last - first)) != 0,
        words => words.iter().any(|word| *word != 0),
    }
}

impl Index {
    pub(super) fn new(patterns: &[Pattern]) -> Self {
        let mut pairs = Vec::new();
        let mut escaped = HashMap::<First, Vec<usize>>::new();
        for (number, pattern) in patterns.iter().enumerate() {
            let mut chars = pattern.text().chars();
            let Some(first) = chars.next() else { continue };
            for key in escaped_firsts(first) {
                escaped.entry(key).or_default().push(number);
            }
            pairs.extend(raw_pairs(first, chars.next()).into_iter().map(|pair| (pair, Some(number))));
        }
        let firsts: BTreeSet<u8> = escaped.keys().filter_map(First::byte).collect();
        pairs.extend(special_pairs(&firsts).into_iter().map(|pair| (pair, None)));
        pairs.sort_unstable();
        pairs.dedup();
        let (mut offsets, mut numbers) = (Vec::new(), Vec::new());
        for group in pairs.chunk_by(|one, other| one.0 == other.0) {
            offsets.push(numbers.len());
            numbers.extend(group.iter().filter_map(|(_, number)| *number));
        }
        offsets.push(numbers.len());
        let all: Vec<u16> = pairs.into_iter().map(|(pair, _)| pair).collect();
        let pairs = Pairs::of(&all);
        let mut before = 0_usize;
        let ranks = pairs.bits.iter().map(|word| {
            let rank = before;
            before = before.saturating_add(ones(*word));
            rank
        });
        let ranks = ranks.collect();
        let (stops, letters) = stops(&pairs, all, &firsts);
        let escaped_bytes = (0..=u8::MAX).map(|byte| firsts.contains(&byte)).collect();
        Self { stops, pairs, ranks, offsets, numbers, escaped, escaped_bytes, letters }
    }

    /// The first place among the first `most` at which a pattern, or base64 that contains one, may begin. The
    /// last byte counts if any pattern begins with it, because the byte after it is not known.
    pub(super) fn next(&self, bytes: &[u8], most: usize) -> Option<usize> {
        let places = bytes.get(..most).unwrap_or(bytes);
        let mut pairs = places.iter().zip(bytes.iter().skip(1)).enumerate();
        let found = pairs.find(|(at, (first, second))| {
            let pair = u16::from_be_bytes([**first, **second]);
            self.stops.has(pair) && self.takes_a_look(pair, bytes.get(*at..).unwrap_or_default())
        });
        let last = || {
            let begins = bytes.last().is_some_and(|last| self.stops.any_with_first(*last));
            bytes.len().checked_sub(1).filter(|_| begins)
        };
        found.map(|(at, _)| at).or_else(last)
    }

    /// Whether the place needs a closer look. If it is base64, more than two letters must fit a pattern.
    #[inline]
    fn takes_a_look(&self, pair: u16, bytes: &[u8]) -> bool {
        let [first, _] = pair.to_be_bytes();
        if self.pairs.has(pair) || matches!(first, b'\\' | b'%') {
            return true;
        }
        let bits = Bits::as_they_stand(bytes);
        bits.is_some_and(|bits| BITS_BEFORE.into_iter().any(|before| self.may_begin_with(bits, before)))
    }

    /// The patterns that may begin with the first of `bytes`.
    pub(super) fn candidates(&self, bytes: &[u8]) -> Result<Candidates<'_>, TooFew> {
        let first = *bytes.first().ok_or(TooFew)?;
        let Some(second) = bytes.get(1) else {
            return if self.pairs.any_with_first(first) { Err(TooFew) } else { Ok(Candidates::These(&[])) };
        };
        let pair = u16::from_be_bytes([first, *second]);
        if !self.pairs.has(pair) {
            return Ok(Candidates::These(&[]));
        }
        if is_special(first) {
            return self.escaped_candidates(bytes);
        }
        let rank = self.ranks.get(usize::from(pair / 64)).copied().unwrap_or(0);
        let slot = rank.saturating_add(self.pairs.before_in_word(pair));
        let offset = |slot: usize| self.offsets.get(slot).copied().unwrap_or(0);
        let range = offset(slot)..offset(slot.saturating_add(1));
        Ok(Candidates::These(self.numbers.get(range).unwrap_or_default()))
    }

    /// Whether a pattern may begin with these bits, without the first `before`.
    pub(super) fn may_begin_with(&self, bits: Bits, before: u8) -> bool {
        let (bits, count) = bits.of_secret(before);
        if count < 16 { self.pairs.any_with(bits, count) } else { self.pairs.has(bits) }
    }

    /// Whether base64 that contains a pattern may begin with this byte, as a letter or as the sign of an
    /// escape.
    pub(super) fn may_begin_in_base64(&self, first: u8) -> bool {
        matches!(first, b'\\' | b'%') || self.letters.get(usize::from(first)).copied().unwrap_or(false)
    }

    /// How many backslashes at the beginning of `bytes` cannot begin a pattern. Most escapes are of a
    /// character with which no pattern begins, and only the last backslashes of a long run can belong to an
    /// escape. `None` if the place needs a closer look.
    pub(super) fn harmless_backslashes(&self, bytes: &[u8]) -> Option<usize> {
        let is_one = |bytes: &[bool], byte: u8| bytes.get(usize::from(byte)).copied().unwrap_or(true);
        let begins = |byte: u8| is_one(&self.escaped_bytes, byte) || is_one(&self.letters, byte);
        if bytes.first() != Some(&b'\\') || begins(b'\\') {
            return None;
        }
        let count = bytes.iter().position(|byte| *byte != b'\\');
        // All of them at once: a search from each byte of the run would take time with the square of its
        // length.
        let run = count.unwrap_or(bytes.len());
        if run > MOST_BACKSLASHES {
            return run.checked_sub(MOST_BACKSLASHES);
        }
        let count = count?;
        let begins_with_it = match bytes.get(count).copied()? {
            b'%' | b'x' | b'U' | b'0'..=b'7' => true,
            b'u' => {
                let code = four_digits(bytes.get(count.saturating_add(1)..)?)?;
                match char::from_u32(code) {
                    Some(char) if char.is_ascii() => u8::try_from(code).map_or(true, begins),
                    Some(char) => self.escaped.contains_key(&First::Char(char)),
                    None => true,
                }
            }
            b'n' => begins(b'\n'),
            b'r' => begins(b'\r'),
            b't' => begins(b'\t'),
            b'b' => begins(0x08),
            b'f' => begins(0x0c),
            sign => is_escapable(sign) && begins(sign),
        };
        (!begins_with_it).then_some(count)
    }

    fn escaped_candidates(&self, bytes: &[u8]) -> Result<Candidates<'_>, TooFew> {
        let mut all = Vec::new();
        let looked = readings(bytes, 0, |reading, _| {
            let key = match reading {
                Reading::Byte(byte) => First::Byte(byte),
                Reading::Char(char) => reading.ascii().map_or(First::Char(char), First::Byte),
            };
            let may_be =
                key.byte().is_none_or(|byte| self.escaped_bytes.get(usize::from(byte)) == Some(&true));
            if may_be {
                all.extend(self.escaped.get(&key).into_iter().flatten());
            }
        });
        all.sort_unstable();
        all.dedup();
        match looked {
            // Otherwise the patterns report that they need more bytes.
            Err(TooFew) if all.is_empty() => Err(TooFew),
            _ => Ok(Candidates::Several(all)),
        }
    }
}

impl First {
    fn byte(&self) -> Option<u8> {
        match self {
            Self::Byte(byte) => Some(*byte),
            Self::Char(_) => None,
        }
    }
}

impl Candidates<'_> {
    pub(super) fn each(&self, look: impl FnMut(usize)) {
        let numbers = match self {
            Self::These(numbers) => numbers,
            Self::Several(numbers) => numbers.as_slice(),
        };
        numbers.iter().copied().for_each(look);
    }
}

/// The number written as four hexadecimal digits, none of which is encoded.
fn four_digits(bytes: &[u8]) -> Option<u32> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    bytes.get(..4)?.iter().try_fold(0, |code, byte| Some((code << 4) | digit(byte)?))
}

fn ones(word: u64) -> usize {
    usize::try_from(word.count_ones()).unwrap_or(0)
}

/// The pairs at which a closer look is needed, and the letters with which relevant base64 may begin. `pairs`
/// has the first two bytes of the patterns, `all` the same as a list, and `firsts` their first bytes for the
/// case that they are escaped.
fn stops(pairs: &Pairs, mut all: Vec<u16>, firsts: &BTreeSet<u8>) -> (Pairs, Vec<bool>) {
    // Whether the first bits of two bytes, which one or two letters give, are those of a pattern.
    let begin_one = |sextets: u16, bits: u32| {
        BITS_BEFORE.into_iter().any(|before| {
            let known = bits.saturating_sub(u32::from(before));
            pairs.any_with(sextets << (16_u32.saturating_sub(known)), known)
        })
    };
    let letters: Vec<(u8, u8)> =
        (0..64).flat_map(|sextet| letters_of(sextet).map(move |letter| (sextet, letter))).collect();
    let firsts_in_base64: Vec<(u8, u8)> =
        letters.iter().copied().filter(|(sextet, _)| begin_one(u16::from(*sextet), 6)).collect();
    for (high, first) in &firsts_in_base64 {
        let seconds =
            letters.iter().filter(|(low, _)| begin_one(u16::from(*high) << 6 | u16::from(*low), 12));
        // The next letter may be escaped, or be in another line.
        let seconds = seconds.map(|(_, second)| *second).chain(*b"\\%\n\r \t");
        all.extend(seconds.map(|second| u16::from_be_bytes([*first, second])));
    }
    let escaped: BTreeSet<u8> =
        firsts_in_base64.iter().map(|(_, letter)| *letter).chain(firsts.iter().copied()).collect();
    all.extend(special_pairs(&escaped));
    let is_letter = |byte: u8| firsts_in_base64.iter().any(|(_, letter)| *letter == byte);
    (Pairs::of(&all), (0..=u8::MAX).map(is_letter).collect())
}

/// The first two bytes if the first one is not escaped.
fn raw_pairs(first: char, second: Option<char>) -> Vec<u16> {
    let mut buffer = [0; 4];
    let encoded = first.encode_utf8(&mut buffer).as_bytes();
    let seconds = match (encoded, second) {
        ([_, next, ..], _) => vec![*next],
        (_, Some(second)) => raw_firsts(second),
        (_, None) => (0..=u8::MAX).collect(),
    };
    let others: &[u8] = match first {
        // Several quotes may be written for one, and two bytes for a line end.
        '\'' | '"' => b"'\"",
        '\n' => b"\n",
        _ => b"",
    };
    let pairs = |first: u8| {
        // An escape may follow.
        let seconds = seconds.iter().chain(b"\\%+").chain(others).copied();
        seconds.map(move |second| u16::from_be_bytes([first, second])).collect::<Vec<_>>()
    };
    raw_firsts(first).into_iter().filter(|byte| !is_special(*byte)).flat_map(pairs).collect()
}

/// The first two bytes of escapes, for patterns that begin with one of `firsts`.
fn special_pairs(firsts: &BTreeSet<u8>) -> Vec<u16> {
    let begins = |byte: u8| firsts.contains(&byte);
    let mut pairs = Vec::new();
    let mut add = |special: u8, is_one: &dyn Fn(u8) -> bool| {
        let seconds = (0..=u8::MAX).filter(|second| is_one(*second));
        pairs.extend(seconds.map(|second| u16::from_be_bytes([special, second])));
    };
    add(b'+', &|_| begins(b' ') || begins(b'+'));
    add(b'%', &|second| {
        let digit = char::from(second).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        // `%25` may be the `%` of another escape, and `%5C` a backslash.
        begins(b'%')
            || digit
                .is_some_and(|digit| [2, 5].contains(&digit) || firsts.iter().any(|byte| byte >> 4 == digit))
    });
    add(b'\\', &|second| match second {
        _ if begins(b'\\') => true,
        b'u' | b'U' | b'x' | b'0'..=b'7' | b'\\' | b'%' => true,
        b'n' => begins(b'\n'),
        b'r' => begins(b'\r') || begins(b'\n'),
        b't' => begins(b'\t'),
        b'b' => begins(0x08),
        b'f' => begins(0x0c),
        sign => is_escapable(sign) && begins(sign),
    });
    pairs
}

/// The bytes with which a character begins if it is not escaped.
fn raw_firsts(char: char) -> Vec<u8> {
    match char {
        // Some systems write another byte before a line end.
        '\n' => vec![b'\n', b'\r'],
        // Outside of a shell's quotes, one kind of quote is written in the other: `"'"`.
        '\'' | '"' => vec![b'\'', b'"'],
        char => char.encode_utf8(&mut [0; 4]).as_bytes().first().copied().into_iter().collect(),
    }
}

fn escaped_firsts(char: char) -> Vec<First> {
    let whole = Some(First::Char(char)).filter(|_| !char.is_ascii());
    raw_firsts(char).into_iter().map(First::Byte).chain(whole).collect()
}
