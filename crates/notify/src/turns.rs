//! Tracks the deliveries under way and decides whether one more may begin.
//!
//! Owns the bounds that notices and push notifications share: a total, each delivery once, for each tenant no
//! more than leaves slots for the others, and for each tenant and receiver a fixed number. A
//! [`Deliveries`](crate::delivery_loop::Deliveries) takes turns here, and the loop returns them.

use crate::fair_share;
use std::collections::BTreeMap;

/// The tenant of a delivery, and its receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The tenant.
    pub tenant: String,
    /// The receiver, by host and port. `None`: no bound per receiver applies.
    pub receiver: Option<String>,
}

/// The deliveries under way, and their bounds.
///
/// ```
/// use envoi_notify::turns::{Owner, Turns};
///
/// let owner = |tenant: &str| Owner { tenant: tenant.to_owned(), receiver: Some("hooks:443".to_owned()) };
/// let mut turns = Turns::new(16, 2);
/// assert!(turns.try_begin(1, &owner("north")));
/// assert!(!turns.try_begin(1, &owner("north")), "it is under way");
/// assert!(turns.try_begin(2, &owner("north")));
/// assert!(!turns.try_begin(3, &owner("north")), "the receiver has two of this tenant");
/// assert!(turns.try_begin(4, &owner("south")), "another tenant does not wait for them");
/// turns.end(&1);
/// assert!(turns.try_begin(3, &owner("north")));
/// ```
#[derive(Debug)]
pub struct Turns<K> {
    most: usize,
    most_a_receiver: usize,
    /// Each delivery with its owner at the time it began.
    under_way: BTreeMap<K, Owner>,
}

impl<K: Ord> Turns<K> {
    /// At most `most` together, half of which a single tenant can have, and at most `most_a_receiver` of one
    /// tenant to one receiver. The bound is per tenant because a tenant may make its receiver hang: that must
    /// not delay another tenant's deliveries to the same host.
    #[must_use]
    pub const fn new(most: usize, most_a_receiver: usize) -> Self {
        Self { most, most_a_receiver, under_way: BTreeMap::new() }
    }

    /// Whether this delivery may begin now. If so, it is under way.
    #[must_use]
    pub fn try_begin(&mut self, key: K, owner: &Owner) -> bool {
        let may = self.may_begin(&key, owner);
        if may {
            self.under_way.insert(key, owner.clone());
        }
        may
    }

    fn may_begin(&self, key: &K, owner: &Owner) -> bool {
        let of_tenant = self.count(|other| other.tenant == owner.tenant);
        let to_receiver = self.count(|other| other.receiver.is_some() && other == owner);
        fair_share::may_take(of_tenant, self.under_way.len(), self.most)
            && to_receiver < self.most_a_receiver
            && !self.under_way.contains_key(key)
    }

    /// Records that the delivery has ended.
    pub fn end(&mut self, key: &K) {
        self.under_way.remove(key);
    }

    /// How many are under way.
    #[must_use]
    pub fn len(&self) -> usize {
        self.under_way.len()
    }

    /// Whether none is under way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Whether no further delivery of any owner may begin.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.under_way.len() >= self.most
    }

    /// The deliveries under way, each with its owner.
    pub fn under_way(&self) -> impl Iterator<Item = (&K, &Owner)> {
        self.under_way.iter()
    }

    fn count(&self, of: impl Fn(&Owner) -> bool) -> usize {
        self.under_way.values().filter(|owner| of(owner)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(tenant: &str, receiver: Option<&str>) -> Owner {
        Owner { tenant: tenant.to_owned(), receiver: receiver.map(str::to_owned) }
    }

    /// How many deliveries of this owner begin until one is refused.
    fn begin_all(turns: &mut Turns<usize>, owner: &Owner) -> usize {
        let before = turns.len();
        while turns.try_begin(turns.len(), owner) {}
        turns.len() - before
    }

    #[test]
    fn a_tenant_leaves_room_for_every_other_one() {
        let mut turns = Turns::new(16, 16);
        for (tenant, expected) in [("a", 8), ("b", 4), ("c", 2), ("d", 1), ("e", 1), ("f", 0)] {
            assert_eq!(begin_all(&mut turns, &owner(tenant, None)), expected, "{tenant}");
        }
        assert!(turns.is_full());
    }

    #[test]
    fn a_receiver_has_a_bound_of_its_own_for_each_tenant_and_one_without_a_name_has_none() {
        let mut turns = Turns::new(16, 2);
        assert_eq!(begin_all(&mut turns, &owner("a", Some("slow:443"))), 2);
        // The deliveries of tenant a may hang for any time.
        assert_eq!(begin_all(&mut turns, &owner("b", Some("slow:443"))), 2);
        assert_eq!(begin_all(&mut turns, &owner("b", Some("fast:443"))), 2);
        assert_eq!(begin_all(&mut turns, &owner("c", None)), 5, "half of what is left");
        turns.end(&0);
        assert!(!turns.try_begin(0, &owner("b", Some("slow:443"))), "it is of the room of a");
        assert!(turns.try_begin(0, &owner("a", Some("slow:443"))));
    }

    #[test]
    fn one_that_is_under_way_does_not_begin_again() {
        let mut turns = Turns::new(16, 2);
        assert!(turns.try_begin(7, &owner("a", None)));
        assert!(!turns.try_begin(7, &owner("a", None)));
        turns.end(&7);
        assert!(turns.is_empty() && turns.try_begin(7, &owner("a", None)));
    }
}
