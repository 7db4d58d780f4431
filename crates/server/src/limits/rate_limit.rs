//! How many runs a token has started lately, and which are being started.

use envoi_contract::time::Timestamp;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Condvar, Mutex, PoisonError},
};

const WINDOW_MS: i64 = 60_000;

/// See the module.
pub(crate) struct Starts {
    most: usize,
    lately: Mutex<BTreeMap<String, VecDeque<Timestamp>>>,
    /// Keys of runs that are being started.
    busy: Mutex<BTreeSet<String>>,
    freed: Condvar,
}

/// Nobody else starts a run with its key until it is dropped.
pub(crate) struct Turn<'s> {
    starts: &'s Starts,
    key: String,
}

impl Starts {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, lately: Mutex::default(), busy: Mutex::default(), freed: Condvar::new() }
    }

    /// Waits until nobody else starts a run with this key, and keeps it so. With another key nobody is waited for.
    pub(crate) fn turn(&self, key: &str) -> Turn<'_> {
        let busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.freed.wait_while(busy, |busy| busy.contains(key));
        free.unwrap_or_else(PoisonError::into_inner).insert(key.to_owned());
        Turn { starts: self, key: key.to_owned() }
    }

    /// One more by this token. `Err` with the seconds until there may be one, if it has started as many as it may in a
    /// minute.
    pub(crate) fn count(&self, token: &str, now: Timestamp) -> Result<(), u32> {
        let mut lately = self.lately.lock().unwrap_or_else(PoisonError::into_inner);
        let age = |at: &Timestamp| now.as_millis().saturating_sub(at.as_millis());
        lately.retain(|_, starts| {
            // One that is yet to come was counted before the clock was set back.
            starts.retain(|at| (0..WINDOW_MS).contains(&age(at)));
            !starts.is_empty()
        });
        let starts = lately.entry(token.to_owned()).or_default();
        if starts.len() >= self.most {
            let wait_ms = starts.front().map_or(WINDOW_MS, |at| WINDOW_MS.saturating_sub(age(at)));
            return Err(u32::try_from(wait_ms / 1_000).unwrap_or(60).saturating_add(1));
        }
        starts.push_back(now);
        Ok(())
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.starts.busy.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
        self.starts.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn one_key_is_waited_for_and_no_other() {
        let starts = Starts::new(1);
        let held: Vec<Turn<'_>> = (0..1_000).map(|key| starts.turn(&format!("k{key}"))).collect();
        drop(held);
        let inside = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let _turn = starts.turn("k7");
                        assert!(!inside.swap(true, Ordering::SeqCst), "two with one key");
                        std::thread::yield_now();
                        inside.store(false, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(starts.busy.lock().unwrap().is_empty());
    }

    #[test]
    fn a_token_starts_so_many_runs_a_minute_and_is_told_when_it_may_again() {
        let starts = Starts::new(2);
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1_000);
        assert_eq!(starts.count("a", at(0)), Ok(()));
        assert_eq!(starts.count("a", at(30)), Ok(()));
        assert_eq!(starts.count("a", at(40)), Err(21));
        assert_eq!(starts.count("b", at(40)), Ok(()));
        assert_eq!(starts.count("a", at(60)), Ok(()), "the first one is a minute ago");
        assert_eq!(starts.count("a", at(61)), Err(30));
        assert_eq!(starts.count("a", at(61 - 3_600)), Ok(()), "the clock was set back by an hour");
    }
}
