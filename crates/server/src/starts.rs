//! How many runs a token has started lately, and whose turn it is to start one.

use envoi_contract::time::Timestamp;
use std::{
    collections::{BTreeMap, VecDeque},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Keys share so many turns: few enough to be kept, enough that strangers seldom wait for each other.
const TURNS: u64 = 64;

const WINDOW_MS: i64 = 60_000;

/// See the module.
pub(crate) struct Starts {
    most: usize,
    lately: Mutex<BTreeMap<String, VecDeque<Timestamp>>>,
    turns: BTreeMap<u64, Mutex<()>>,
}

impl Starts {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            lately: Mutex::default(),
            turns: (0..TURNS).map(|turn| (turn, Mutex::default())).collect(),
        }
    }

    /// Waits until nobody else starts a run with this key, and keeps it so.
    pub(crate) fn turn(&self, key: &str) -> Option<MutexGuard<'_, ()>> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let turn = self.turns.get(&(hasher.finish() % TURNS))?;
        Some(turn.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// One more by this token. `Err` with the seconds until there may be one, if it has started as many as it may in a
    /// minute.
    pub(crate) fn count(&self, token: &str, now: Timestamp) -> Result<(), u32> {
        let mut lately = self.lately.lock().unwrap_or_else(PoisonError::into_inner);
        let age = |at: &Timestamp| now.as_millis().saturating_sub(at.as_millis());
        lately.retain(|_, starts| {
            starts.retain(|at| age(at) < WINDOW_MS);
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

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
