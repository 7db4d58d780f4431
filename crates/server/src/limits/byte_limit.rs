//! Limits the bytes of bodies in memory: in total, for each group, and for each client of a group.
//!
//! No client can use up the total alone. A group may keep at most as many bytes as it leaves free for the
//! others, and a client at most [`CLIENT_SHARE`] times as many as it leaves free for its group. If other
//! groups need bytes later, a group may hold more than this share: it then gets no more bytes until some of
//! its requests end.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// A client may keep at most this many times the bytes that are free for its group. So a single client gets
/// three quarters of the group's share.
const CLIENT_SHARE: u64 = 3;

/// A count of bytes for each client. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ByteLimit {
    all: u64,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    in_all: u64,
    of_groups: BTreeMap<String, Group>,
}

#[derive(Default)]
struct Group {
    in_all: u64,
    of_clients: BTreeMap<String, u64>,
}

/// The bytes that one request keeps, until this is dropped.
pub(crate) struct KeptBytes {
    limit: ByteLimit,
    group: String,
    client: String,
    bytes: u64,
}

impl ByteLimit {
    /// At most `all` bytes in total.
    pub(crate) fn new(all: u64) -> Self {
        Self { all, kept: Arc::default() }
    }

    /// The most bytes that a client may keep while no other client keeps any. More bytes never fit.
    pub(crate) fn most_alone(&self) -> u64 {
        // The largest value that [`KeptBytes::add`] accepts: `bytes <= CLIENT_SHARE * ((all - 2 * bytes) /
        // 2)`.
        let fits = |bytes: u64| {
            let left = self.all.checked_sub(bytes.saturating_mul(2)).map(|left| left / 2);
            left.is_some_and(|left| bytes <= left.saturating_mul(CLIENT_SHARE))
        };
        let about = self.all / 2 / (CLIENT_SHARE + 1) * CLIENT_SHARE;
        (about..=about.saturating_add(CLIENT_SHARE)).rev().find(|bytes| fits(*bytes)).unwrap_or(about)
    }

    /// Begins a request of this client of this group, with no bytes yet.
    pub(crate) fn begin(&self, group: &str, client: &str) -> KeptBytes {
        KeptBytes { limit: self.clone(), group: group.to_owned(), client: client.to_owned(), bytes: 0 }
    }
}

impl KeptBytes {
    /// Adds bytes. False: they do not fit now, and are not counted.
    #[must_use]
    pub(crate) fn add(&mut self, bytes: u64) -> bool {
        if bytes == 0 {
            return true;
        }
        let mut kept = self.limit.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(left) = self.limit.all.checked_sub(kept.in_all).and_then(|left| left.checked_sub(bytes))
        else {
            return false;
        };
        let group = kept.of_groups.get(&self.group);
        let of_group = group.map_or(0, |group| group.in_all).saturating_add(bytes);
        let of_client = group.and_then(|group| group.of_clients.get(&self.client).copied());
        let of_client = of_client.unwrap_or(0).saturating_add(bytes);
        // Each byte that the group takes reduces what is free for it twice: the total has one byte less, and
        // the group may keep one byte less.
        let Some(left_to_group) = left.checked_sub(of_group).map(|left| left / 2) else { return false };
        if of_client > left_to_group.saturating_mul(CLIENT_SHARE) {
            return false;
        }
        kept.in_all = kept.in_all.saturating_add(bytes);
        let group = kept.of_groups.entry(self.group.clone()).or_default();
        group.in_all = of_group;
        group.of_clients.insert(self.client.clone(), of_client);
        self.bytes = self.bytes.saturating_add(bytes);
        true
    }

    /// Sets the bytes that the request keeps. False: it would be more than before, and does not fit; then
    /// nothing changes.
    #[must_use]
    pub(crate) fn set(&mut self, bytes: u64) -> bool {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.add(more),
            None => {
                self.give_back(self.bytes.saturating_sub(bytes));
                true
            }
        }
    }

    fn give_back(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
        let mut kept = self.limit.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.in_all = kept.in_all.saturating_sub(bytes);
        let Some(group) = kept.of_groups.get_mut(&self.group) else { return };
        group.in_all = group.in_all.saturating_sub(bytes);
        if let Some(own) = group.of_clients.get_mut(&self.client) {
            *own = own.saturating_sub(bytes);
            if *own == 0 {
                group.of_clients.remove(&self.client);
            }
        }
        if group.of_clients.is_empty() {
            kept.of_groups.remove(&self.group);
        }
    }
}

impl Drop for KeptBytes {
    fn drop(&mut self) {
        self.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most bytes that a request of this client can get.
    fn most(limit: &ByteLimit, group: &str, client: &str) -> u64 {
        let mut kept = limit.begin(group, client);
        let fits = |kept: &mut KeptBytes| kept.add(1);
        core::iter::repeat_with(|| fits(&mut kept)).take_while(|fits| *fits).count().try_into().unwrap()
    }

    #[test]
    fn a_client_that_takes_all_that_is_left_leaves_a_share_to_the_next_one() {
        let limit = ByteLimit::new(256);
        let mut kept = Vec::new();
        let mut take = |group: &str, client: &str| {
            let bytes = most(&limit, group, client);
            let mut taken = limit.begin(group, client);
            assert!(taken.add(bytes) && !taken.add(1));
            kept.push(taken);
            bytes
        };
        assert_eq!(take("a", "one"), 96, "three quarters of a half");
        assert_eq!(take("a", "one"), 0, "whatever request it is of");
        assert_eq!(take("a", "two"), 24, "the same group has room for others");
        assert_eq!(take("b", "three"), 51, "and other groups have");
        assert_eq!(take("a", "four"), 0, "this group keeps more than its share by now");
        assert_eq!((take("c", "five"), take("d", "six")), (31, 20));
        kept.remove(0);
        assert!(most(&limit, "a", "four") > 0);
        kept.clear();
        assert_eq!(most(&limit, "a", "one"), 96);
        let rest = limit.kept.lock().unwrap();
        assert_eq!((rest.in_all, rest.of_groups.len()), (0, 0), "nothing is kept of those who are gone");
    }

    /// A size that fits when no other client keeps bytes is refused only for now; any larger size is refused
    /// for good.
    #[test]
    fn it_is_known_what_never_fits() {
        for all in (0..200).chain([256, 1_000, 1_023]) {
            let limit = ByteLimit::new(all);
            assert_eq!(limit.most_alone(), most(&limit, "a", "one"), "{all}");
            let mut kept = limit.begin("a", "one");
            assert!(kept.add(limit.most_alone()), "at once, too: {all}");
        }
    }

    #[test]
    fn what_a_request_keeps_may_become_more_or_less() {
        let limit = ByteLimit::new(256);
        let mut kept = limit.begin("a", "one");
        assert!(kept.add(90) && kept.set(10));
        assert_eq!(most(&limit, "a", "one"), 86);
        assert!(kept.set(96) && !kept.set(97) && !kept.set(u64::MAX) && !kept.add(u64::MAX));
        assert_eq!(kept.bytes, 96);
    }
}
