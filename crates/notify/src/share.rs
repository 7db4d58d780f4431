//! How many of the places that all have in common one of them may take.

/// Whether somebody who has `own` of the `taken` ones of `places` may take one more: the first, if any is left, and a further one
/// that leaves as many free as they then have. So whoever is alone has half, the next one finds half of the rest, and with places that
/// are given back and taken the shares become equal.
#[must_use]
pub fn may_take(own: usize, taken: usize, places: usize) -> bool {
    let left = places.saturating_sub(taken);
    left > 0 && (own == 0 || left.saturating_sub(1) > own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_leaves_room_for_those_who_come_later() {
        // Of those who want all that they can have, one after the other.
        let mut taken = 0;
        for expected in [8, 4, 2, 1, 1, 0] {
            let mut own = 0;
            while may_take(own, taken, 16) {
                (own, taken) = (own + 1, taken + 1);
            }
            assert_eq!(own, expected, "{taken}");
        }
        assert_eq!(taken, 16);
        // A place that was given back is for those who have none.
        assert!(!may_take(1, 15, 16) && may_take(0, 15, 16));
    }
}
