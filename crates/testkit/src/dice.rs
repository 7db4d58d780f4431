//! Repeatable random choices: numbers that follow only from a seed.
//!
//! Owns the generator (`SplitMix64`) and how a number becomes a choice.

/// A stream of numbers; the same seed gives the same stream.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Dice that depend only on the seed and these words, not on how often other dice were used.
    #[must_use]
    pub fn of(seed: u64, words: &[&str]) -> Self {
        // FNV-1a, with a byte after each word that does not occur in words.
        let mut hash = seed ^ 0xCBF2_9CE4_8422_2325;
        for word in words {
            for byte in word.bytes().chain([0xFF]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
            }
        }
        Self(hash)
    }

    /// The next number.
    #[must_use]
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `bound`, exclusive; 0 if `bound` is 0.
    #[must_use]
    pub fn below(&mut self, bound: u64) -> u64 {
        self.number().checked_rem(bound).unwrap_or(0)
    }

    /// From `low` to `high`, both inclusive.
    #[must_use]
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low.saturating_add(self.below(high.saturating_sub(low).saturating_add(1)))
    }

    /// True with a probability of `times` in a thousand.
    #[must_use]
    pub fn permille(&mut self, times: u64) -> bool {
        // No number is drawn for a probability of zero, so that a world without faults is the same whatever
        // faults exist.
        times > 0 && self.below(1000) < times
    }

    /// An index into a list of this length; 0 if the list is empty.
    #[must_use]
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(u64::try_from(length).unwrap_or(0))).unwrap_or(0)
    }

    /// An element of the list; `None` if there is none.
    #[must_use]
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let index = self.index(from.len());
        from.get(index)
    }

    /// A word of these; empty if there is none.
    #[must_use]
    pub fn word<'a>(&mut self, from: &[&'a str]) -> &'a str {
        self.pick(from).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_words_give_the_same_numbers_on_every_machine() {
        let numbers = |seed, words: &[&str]| {
            let mut dice = Dice::of(seed, words);
            [(); 3].map(|()| dice.number())
        };
        assert_eq!(numbers(3, &["world"]), numbers(3, &["world"]));
        let others = [numbers(4, &["world"]), numbers(3, &["worl", "d"]), numbers(3, &["world", ""])];
        assert!(others.iter().all(|other| *other != numbers(3, &["world"])), "{others:?}");
    }

    #[test]
    fn every_choice_is_inside_of_what_it_is_made_from() {
        let mut dice = Dice::of(1, &["bounds"]);
        for _ in 0..1_000 {
            assert!(dice.below(3) < 3 && (5..=7).contains(&dice.between(5, 7)) && dice.index(2) < 2);
            assert!(!dice.permille(0) && dice.permille(1_000));
        }
        assert_eq!((dice.below(0), dice.index(0), dice.pick::<u8>(&[]), dice.word(&[])), (0, 0, None, ""));
    }
}
