//! Numbers that may be used once each, in any order.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The used numbers. It stays small: all numbers below a floor that the sender states are used up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Seen {
    floor: u64,
    above: BTreeSet<u64>,
}

impl Seen {
    /// Uses a number. False if it was used before, or is below the floor.
    pub(crate) fn take(&mut self, number: u64, floor: u64) -> bool {
        if floor > self.floor {
            self.floor = floor;
            self.above = self.above.split_off(&floor);
        }
        number >= self.floor && self.above.insert(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_used_once_in_any_order_and_only_open_ones_are_kept() {
        let mut seen = Seen::default();
        let taken = [(3, 1), (1, 1), (3, 1), (2, 1), (5, 4), (3, 4), (4, 2), (4, 4), (5, 1)];
        let taken = taken.map(|(number, floor)| seen.take(number, floor));
        assert_eq!(taken, [true, true, false, true, true, false, true, false, false]);
        assert_eq!(seen.above.len(), 2, "4 and 5");
    }
}
