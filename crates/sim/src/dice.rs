//! Chance that can be had again: numbers that follow from a seed alone.
//!
//! Owns the generator (SplitMix64) and how a number becomes a choice. Nothing else in this crate makes a random choice.

/// A stream of numbers; the same seed gives the same stream.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice that depend on nothing but the seed and these words, however often others were thrown.
    pub(crate) fn of(seed: u64, words: &[&str]) -> Self {
        // FNV-1a, with a byte between words that no word has.
        let mut hash = seed ^ 0xCBF2_9CE4_8422_2325;
        for word in words {
            for byte in word.bytes().chain([0xFF]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
            }
        }
        Self(hash)
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `bound`, without it; 0 if there is no such number.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.number().checked_rem(bound).unwrap_or(0)
    }

    /// From `low` to `high`, with both.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low.saturating_add(self.below(high.saturating_sub(low).saturating_add(1)))
    }

    /// True so many times in a thousand.
    pub(crate) fn permille(&mut self, times: u64) -> bool {
        // Not thrown when it cannot matter, so that a world without faults takes the same course whatever they are.
        times > 0 && self.below(1000) < times
    }

    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(u64::try_from(length).unwrap_or(0))).unwrap_or(0)
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let index = self.index(from.len());
        from.get(index)
    }

    /// One of these words.
    pub(crate) fn word<'a>(&mut self, from: &[&'a str]) -> &'a str {
        self.pick(from).copied().unwrap_or_default()
    }
}
