//! How many streams a token has open; and how many of anything else that is counted like that.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// See the module. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Streams {
    most: usize,
    open: Arc<Mutex<BTreeMap<String, usize>>>,
}

/// The right to one open stream; it ends when this is dropped.
pub(crate) struct Permit {
    streams: Streams,
    token: String,
}

impl Streams {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, open: Arc::default() }
    }

    /// One more for this token; `None` if it has as many as it may.
    pub(crate) fn open(&self, token: &str) -> Option<Permit> {
        self.open_below(token, self.most)
    }

    /// One more for this token; `None` if it has `most`.
    pub(crate) fn open_below(&self, token: &str, most: usize) -> Option<Permit> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(token.to_owned()).or_default();
        if *count >= most {
            return None;
        }
        *count = count.saturating_add(1);
        Some(Permit { streams: self.clone(), token: token.to_owned() })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut open = self.streams.open.lock().unwrap_or_else(PoisonError::into_inner);
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
        let streams = Streams::new(2);
        let first = streams.open("a").unwrap();
        let second = streams.open("a").unwrap();
        assert!(streams.open("a").is_none());
        assert!(streams.open("b").is_some(), "another token has its own");
        drop(first);
        let third = streams.open("a").unwrap();
        assert!(streams.open("a").is_none());
        drop((second, third));
        assert!(streams.open.lock().unwrap().is_empty(), "nothing is kept of those that are closed");
    }
}
