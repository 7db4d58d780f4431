//! How many of the shared slots one client may hold.

/// Whether a client that holds `own` slots may take one more, if `taken` of all `slots` are taken.
///
/// The first slot is allowed while one is free. A further one is allowed if at least as many stay free as the client then holds.
/// A client that is alone gets half of the slots, and the next one half of the rest. As slots become free and are taken again,
/// the shares become equal.
pub(crate) fn may_take(own: usize, taken: usize, slots: usize) -> bool {
    let free = slots.saturating_sub(taken);
    free > 0 && (own == 0 || free.saturating_sub(1) > own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_leaves_room_for_those_who_come_later() {
        // Each client takes all that it can get, one client after the other.
        let mut taken = 0;
        for expected in [8, 4, 2, 1, 1, 0] {
            let mut own = 0;
            while may_take(own, taken, 16) {
                own += 1;
                taken += 1;
            }
            assert_eq!(own, expected, "{taken}");
        }
        assert_eq!(taken, 16);
        // A slot that becomes free is for a client that has none.
        assert!(!may_take(1, 15, 16) && may_take(0, 15, 16));
    }
}
