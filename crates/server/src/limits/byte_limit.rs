//! How many bytes of bodies are kept at the same time: in all, and of each client.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// A count of bytes for each client. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ByteLimit {
    all: u64,
    each: u64,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    in_all: u64,
    of_clients: BTreeMap<String, u64>,
}

/// The bytes that one request keeps, until it is dropped.
pub(crate) struct KeptBytes {
    limit: ByteLimit,
    client: String,
    bytes: u64,
}

impl ByteLimit {
    /// At most `all` bytes in all, and `each` of one client.
    pub(crate) fn new(all: u64, each: u64) -> Self {
        Self { all, each, kept: Arc::default() }
    }

    /// Nothing yet, for this client.
    pub(crate) fn begin(&self, client: &str) -> KeptBytes {
        KeptBytes { limit: self.clone(), client: client.to_owned(), bytes: 0 }
    }
}

impl KeptBytes {
    /// So many bytes more. False: they do not fit now, and do not count.
    #[must_use]
    pub(crate) fn add(&mut self, bytes: usize) -> bool {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let mut kept = self.limit.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let in_all = kept.in_all.saturating_add(bytes);
        let own = kept.of_clients.get(&self.client).copied().unwrap_or(0).saturating_add(bytes);
        if in_all > self.limit.all || own > self.limit.each {
            return false;
        }
        kept.in_all = in_all;
        kept.of_clients.insert(self.client.clone(), own);
        self.bytes = self.bytes.saturating_add(bytes);
        true
    }
}

impl Drop for KeptBytes {
    fn drop(&mut self) {
        let mut kept = self.limit.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.in_all = kept.in_all.saturating_sub(self.bytes);
        if let Some(own) = kept.of_clients.get_mut(&self.client) {
            *own = own.saturating_sub(self.bytes);
            if *own == 0 {
                kept.of_clients.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_has_a_bound_for_each_and_for_all_and_is_given_back() {
        let limit = ByteLimit::new(15, 10);
        let mut first = limit.begin("a");
        assert!(first.add(6) && first.add(4) && !first.add(1), "ten of one client");
        assert!(!limit.begin("a").add(1), "whatever request it is of");
        let mut other = limit.begin("b");
        assert!(other.add(5) && !other.add(1), "fifteen in all");
        drop(first);
        assert!(other.add(5) && !other.add(usize::MAX));
        assert!(limit.begin("a").add(5));
        drop(other);
        let kept = limit.kept.lock().unwrap();
        assert_eq!((kept.in_all, kept.of_clients.len()), (0, 0), "nothing is kept of those who are gone");
    }
}
