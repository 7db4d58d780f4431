//! How many events of a kind each client may cause within a minute: the starts of runs by a token.

use envoi_contract::time::Timestamp;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, PoisonError},
};

const WINDOW_MS: i64 = 60_000;

/// A sliding window of a minute for each client.
pub(crate) struct RateLimit {
    most: usize,
    recent: Mutex<BTreeMap<String, VecDeque<Timestamp>>>,
}

impl RateLimit {
    /// At most `most` events within a minute, for each client.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, recent: Mutex::default() }
    }

    /// Counts one more event of this client. If the client has reached the limit, `Err` has the seconds until the next
    /// event is allowed.
    pub(crate) fn count(&self, client: &str, now: Timestamp) -> Result<(), u32> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let age = |at: &Timestamp| now.as_millis().saturating_sub(at.as_millis());
        // Remove clients without a recent event, so that they use no memory.
        recent.retain(|_, events| {
            // An event in the future was counted before the clock was set back, so it is dropped.
            events.retain(|at| (0..WINDOW_MS).contains(&age(at)));
            !events.is_empty()
        });
        let events = recent.entry(client.to_owned()).or_default();
        if events.len() >= self.most {
            let wait_ms = events.front().map_or(WINDOW_MS, |at| WINDOW_MS.saturating_sub(age(at)));
            return Err(u32::try_from(wait_ms / 1_000).unwrap_or(60).saturating_add(1));
        }
        events.push_back(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_starts_so_many_runs_a_minute_and_learns_when_it_may_start_the_next() {
        let limit = RateLimit::new(2);
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1_000);
        assert_eq!(limit.count("a", at(0)), Ok(()));
        assert_eq!(limit.count("a", at(30)), Ok(()));
        assert_eq!(limit.count("a", at(40)), Err(21));
        assert_eq!(limit.count("b", at(40)), Ok(()));
        assert_eq!(limit.count("a", at(60)), Ok(()), "the first one is a minute ago");
        assert_eq!(limit.count("a", at(61)), Err(30));
        assert_eq!(limit.count("a", at(61 - 3_600)), Ok(()), "the clock was set back by an hour");
    }
}
