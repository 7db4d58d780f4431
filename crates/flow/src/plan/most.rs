//! An upper bound, which is never too small.

use core::fmt;

/// An upper bound up to the largest integer of the contracts. A larger one is only known to be larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Most(u64);

impl Most {
    /// The largest number that is exact: 2^53 - 1.
    pub const LARGEST: u64 = (1 << 53) - 1;

    const BEYOND: u64 = Self::LARGEST + 1;

    /// The upper bound `count`.
    #[must_use]
    pub fn of(count: u128) -> Self {
        Self(u64::try_from(count).unwrap_or(Self::BEYOND).min(Self::BEYOND))
    }

    /// The number; `None` if it is larger than [`Most::LARGEST`].
    #[must_use]
    pub fn known(self) -> Option<u64> {
        Some(self.0).filter(|count| *count < Self::BEYOND)
    }
}

impl fmt::Display for Most {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known() {
            Some(count) => f.pad(&count.to_string()),
            None => write!(f, "more than {}", Self::LARGEST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_that_is_too_large_to_write_is_more_than_any_other() {
        let largest = u128::from(Most::LARGEST);
        assert_eq!(Most::of(largest).known(), Some(Most::LARGEST));
        for count in [largest + 1, u128::from(u64::MAX), u128::MAX] {
            assert_eq!(Most::of(count).known(), None);
            assert!(Most::of(count) > Most::of(largest));
        }
        assert_eq!(Most::of(7).to_string(), "7");
        assert_eq!(Most::of(u128::MAX).to_string(), "more than 9007199254740991");
    }
}
