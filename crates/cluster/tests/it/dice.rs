//! Chance that can be had again: numbers that follow from a seed alone (SplitMix64).

#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice that depend on nothing but the seed and these words.
    pub(crate) fn of(seed: u64, words: &[&str]) -> Self {
        // FNV-1a, with a byte between words that no word has.
        let mut hash = seed ^ 0xCBF2_9CE4_8422_2325;
        for byte in words.iter().flat_map(|word| word.bytes().chain([0xFF])) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
        Self(hash)
    }

    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `bound`, without it.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.number().checked_rem(bound).unwrap_or(0)
    }

    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    pub(crate) fn permille(&mut self, times: u64) -> bool {
        times > 0 && self.below(1000) < times
    }
}
