//! How much of something each client may use at the same time: open streams, bodies, starts or calls.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// A count for each client. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ConcurrencyLimit {
    most: usize,
    open: Arc<Mutex<BTreeMap<String, usize>>>,
}

/// Permission for one more, until it is dropped.
pub(crate) struct Permit {
    limit: ConcurrencyLimit,
    token: String,
}

impl ConcurrencyLimit {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, open: Arc::default() }
    }

    /// Another permit for this client; `None` if it has reached the limit.
    pub(crate) fn acquire(&self, token: &str) -> Option<Permit> {
        self.acquire_below(token, self.most)
    }

    /// Another permit for this client; `None` if it has `most` already.
    pub(crate) fn acquire_below(&self, token: &str, most: usize) -> Option<Permit> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(token.to_owned()).or_default();
        if *count >= most {
            return None;
        }
        *count = count.saturating_add(1);
        Some(Permit { limit: self.clone(), token: token.to_owned() })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut open = self.limit.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.token) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                open.remove(&self.token);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_no_more_streams_than_it_may_and_gets_back_what_it_closes() {
        let limit = ConcurrencyLimit::new(2);
        let first = limit.acquire("a").unwrap();
        let second = limit.acquire("a").unwrap();
        assert!(limit.acquire("a").is_none());
        assert!(limit.acquire("b").is_some(), "another token has its own");
        drop(first);
        let third = limit.acquire("a").unwrap();
        assert!(limit.acquire("a").is_none());
        drop((second, third));
        assert!(limit.open.lock().unwrap().is_empty(), "nothing is kept of those that are closed");
    }
}
