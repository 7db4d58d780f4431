//! Which patterns can begin where: keeps the common case to one look-up a byte.

use super::pattern::{Head, Letters, Pattern, Unit, value_of};
use super::spelling::{MOST_BACKSLASHES, Reading, TooFew, is_special, readings};
use std::collections::{BTreeSet, HashMap};

/// Numbers of patterns, by how they begin.
pub(super) struct Index {
    /// Whether there is a pattern that may begin with these two bytes, a bit a pair: 8 KiB, which the processor keeps at hand.
    bits: Vec<u64>,
    /// How many bits are set before each word of `bits`.
    ranks: Vec<usize>,
    /// Where the patterns of each set bit begin in `numbers`, and at last where the last ones end.
    offsets: Vec<usize>,
    numbers: Vec<usize>,
    /// Of each of `numbers`, what is compared before the pattern is looked for.
    heads: Vec<Head>,
    /// Bytes with which a pattern may begin.
    begins: Vec<bool>,
    /// By the first character or byte, where it is escaped.
    escaped: HashMap<First, Vec<usize>>,
    /// The keys of `escaped` that are one byte.
    escaped_bytes: Vec<bool>,
}

/// What a pattern begins with.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum First {
    /// An ASCII character, or the first byte of another one.
    Byte(u8),
    /// A character that has several bytes.
    Char(char),
}

/// What may begin at a place.
pub(super) enum Candidates<'a> {
    /// Those of these that may begin with such letters.
    Of {
        numbers: &'a [usize],
        heads: &'a [Head],
        letters: Letters,
    },
    Several(Vec<usize>),
}

impl Index {
    pub(super) fn new(patterns: &[Pattern]) -> Self {
        let mut pairs = Vec::new();
        let mut escaped = HashMap::<First, Vec<usize>>::new();
        for (number, pattern) in patterns.iter().enumerate() {
            let mut units = pattern.units();
            let Some(first) = units.next() else { continue };
            for key in escaped_firsts(first) {
                escaped.entry(key).or_default().push(number);
            }
            pairs.extend(raw_pairs(first, units.next()).into_iter().map(|pair| (pair, Some(number))));
        }
        let firsts: BTreeSet<u8> = escaped.keys().filter_map(First::byte).collect();
        if !patterns.is_empty() {
            pairs.extend(special_pairs(&firsts).into_iter().map(|pair| (pair, None)));
        }
        pairs.sort_unstable();
        pairs.dedup();
        let mut index = Self {
            bits: vec![0; 1024],
            ranks: Vec::with_capacity(1024),
            offsets: Vec::new(),
            numbers: Vec::new(),
            heads: Vec::new(),
            begins: vec![false; 256],
            escaped,
            escaped_bytes: (0..=u8::MAX).map(|byte| firsts.contains(&byte)).collect(),
        };
        for group in pairs.chunk_by(|one, other| one.0 == other.0) {
            index.offsets.push(index.numbers.len());
            index.numbers.extend(group.iter().filter_map(|(_, number)| *number));
            group.iter().take(1).for_each(|(pair, _)| index.mark(*pair));
        }
        index.offsets.push(index.numbers.len());
        let head = |number: &usize| patterns.get(*number).map(Pattern::head).unwrap_or_default();
        index.heads = index.numbers.iter().map(head).collect();
        let mut rank = 0_usize;
        for word in &index.bits {
            index.ranks.push(rank);
            rank = rank.saturating_add(ones(*word));
        }
        index
    }

    fn mark(&mut self, pair: u16) {
        if let Some(word) = self.bits.get_mut(usize::from(pair / 64)) {
            *word |= 1 << (pair % 64);
        }
        if let Some(begins) = self.begins.get_mut(usize::from(pair / 256)) {
            *begins = true;
        }
    }

    /// The first place at which a pattern may begin. Of the last byte it is not known what follows.
    pub(super) fn next(&self, bytes: &[u8]) -> Option<usize> {
        let mut pairs = bytes.iter().zip(bytes.iter().skip(1));
        let found = pairs.position(|(first, second)| {
            let pair = u16::from_be_bytes([*first, *second]);
            self.word(pair) >> (pair % 64) & 1 == 1
        });
        found.or_else(|| {
            let begins = self.begins.get(usize::from(*bytes.last()?)).copied().unwrap_or(false);
            bytes.len().checked_sub(1).filter(|_| begins)
        })
    }

    fn word(&self, pair: u16) -> u64 {
        self.bits.get(usize::from(pair / 64)).copied().unwrap_or(0)
    }

    /// What may begin with the first of `bytes`, a place that [`Index::next`] has found.
    pub(super) fn candidates(&self, bytes: &[u8]) -> Result<Candidates<'_>, TooFew> {
        let first = *bytes.first().ok_or(TooFew)?;
        if is_special(first) {
            return self.escaped_candidates(bytes);
        }
        let pair = u16::from_be_bytes([first, *bytes.get(1).ok_or(TooFew)?]);
        let below = self.word(pair) & ((1_u64 << (pair % 64)) - 1);
        let slot = self.ranks.get(usize::from(pair / 64)).copied().unwrap_or(0).saturating_add(ones(below));
        let offset = |slot: usize| self.offsets.get(slot).copied().unwrap_or(0);
        let range = offset(slot)..offset(slot.saturating_add(1));
        let numbers = self.numbers.get(range.clone()).unwrap_or_default();
        let heads = self.heads.get(range).unwrap_or_default();
        Ok(Candidates::Of { numbers, heads, letters: Letters::of(bytes) })
    }

    /// How many backslashes at the beginning of `bytes` no pattern can begin with: most escapes are of a character with which none
    /// begins, and of a long run only the last backslashes can belong to an escape. None where it takes a closer look.
    pub(super) fn harmless_backslashes(&self, bytes: &[u8]) -> Option<usize> {
        let begins = |byte: u8| self.escaped_bytes.get(usize::from(byte)).copied().unwrap_or(true);
        if bytes.first() != Some(&b'\\') || begins(b'\\') {
            return None;
        }
        let count = bytes.iter().position(|byte| *byte != b'\\');
        // All of them at once: were the run looked at again from each of its bytes, it would take time with the square of its length.
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
            other => begins(other),
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
            // Else the patterns say themselves that they want more.
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
    pub(super) fn each(&self, mut look: impl FnMut(usize)) {
        match self {
            Self::Of { numbers, heads, letters } => {
                let may_be = numbers.iter().zip(*heads).filter(|(_, head)| head.may_be(*letters));
                may_be.for_each(|(number, _)| look(*number));
            }
            Self::Several(numbers) => numbers.iter().for_each(|number| look(*number)),
        }
    }
}

/// The number that four hexadecimal digits stand for, none of which is encoded itself.
fn four_digits(bytes: &[u8]) -> Option<u32> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    bytes.get(..4)?.iter().try_fold(0, |code, byte| Some((code << 4) | digit(byte)?))
}

fn ones(word: u64) -> usize {
    usize::try_from(word.count_ones()).unwrap_or(0)
}

/// The first two bytes where the first one stands for itself.
fn raw_pairs(first: Unit, second: Option<Unit>) -> Vec<u16> {
    let mut buffer = [0; 4];
    let encoded = match first {
        Unit::Char(char) => char.encode_utf8(&mut buffer).as_bytes(),
        Unit::Sextet { .. } => &[],
    };
    let seconds = match (encoded, second) {
        ([_, next, ..], _) => vec![*next],
        (_, Some(second)) => raw_firsts(second),
        (_, None) => (0..=u8::MAX).collect(),
    };
    // Several quotes may stand for one.
    let quotes: &[u8] = if matches!(first, Unit::Char('\'' | '"')) { b"'\"" } else { b"" };
    let pairs = |first: u8| {
        // An escape may follow.
        let seconds = seconds.iter().chain(b"\\%+").chain(quotes).copied();
        seconds.map(move |second| u16::from_be_bytes([first, second])).collect::<Vec<_>>()
    };
    raw_firsts(first).into_iter().filter(|byte| !is_special(*byte)).flat_map(pairs).collect()
}

/// The first two bytes of escapes for patterns that begin with one of these.
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
        // `%25` may be a `%` of another escape, `%5C` a backslash.
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
        other => begins(other),
    });
    pairs
}

/// The bytes with which a unit begins where nothing is escaped.
fn raw_firsts(unit: Unit) -> Vec<u8> {
    match unit {
        // A line end of another system has another byte before it.
        Unit::Char('\n') => vec![b'\n', b'\r'],
        // Outside of a shell's quotes, one kind of quote stands in the other: `"'"`.
        Unit::Char('\'' | '"') => vec![b'\'', b'"'],
        Unit::Char(char) => char.encode_utf8(&mut [0; 4]).as_bytes().first().copied().into_iter().collect(),
        Unit::Sextet { .. } => {
            (0..=127).filter(|letter| value_of(*letter).is_some() && unit.takes(*letter)).collect()
        }
    }
}

fn escaped_firsts(unit: Unit) -> Vec<First> {
    let char = match unit {
        Unit::Char(char) if !char.is_ascii() => Some(First::Char(char)),
        _ => None,
    };
    raw_firsts(unit).into_iter().map(First::Byte).chain(char).collect()
}
