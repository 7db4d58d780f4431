//! When a failed delivery is tried again, and when it is given up: for notices, and for push notifications of
//! A2A.
//!
//! Pure: the dispatchers of `engine` and `server` do the waiting, and the journal stores the number of tries.
//! Everything follows from that number and the outcome, so it is the same after a restart. Time without a
//! dispatcher does not count.

use crate::Outcome;
use envoi_contract::{digest::Digest, time::Timestamp};
use std::time::Duration;

/// The retry rules for one kind of delivery.
#[derive(Debug, Clone, Copy)]
pub struct Policy<'d> {
    /// The wait after the first try. It doubles with each further try.
    pub first: Duration,
    /// Upper bound of every wait, even if a receiver wants a longer one.
    pub longest: Duration,
    /// When to give up.
    pub give_up: GiveUp,
    /// The name of the delivery, if many deliveries may fail together and must not be repeated at the same
    /// moment: then each wait is between half and all of its usual length. The length follows from the name,
    /// not from chance.
    pub spread_by: Option<&'d str>,
}

/// When to give up a delivery that keeps failing.
#[derive(Debug, Clone, Copy)]
pub enum GiveUp {
    /// At the try with this number.
    AtTry(u32),
    /// At the first try after the sum of the waits has reached this.
    AfterWaiting(Duration),
}

/// The next step after a try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Nothing: the delivery is complete.
    Nothing,
    /// Try again, not before this wait.
    Wait {
        /// The wait.
        wait: Duration,
        /// Why the try failed.
        error: String,
    },
    /// Do not try again.
    GiveUp {
        /// Why the last try failed.
        error: String,
    },
}

/// The number of the last try of a notice.
pub const MOST_TRIES: u32 = 84;

/// The rules for notices.
///
/// The longest wait is one hour, because after a longer one a notice would seem to be lost. Twelve tries
/// reach the longest wait within 70 minutes, and the others are hourly. Together they take about three days
/// of a running engine, so a receiver that is down over a weekend misses nothing.
pub const NOTICES: Policy<'static> = Policy {
    first: Duration::from_secs(1),
    longest: Duration::from_secs(60 * 60),
    give_up: GiveUp::AtTry(MOST_TRIES),
    spread_by: None,
};

impl Policy<'_> {
    /// The next step after the try with this number, from 1, and this outcome.
    ///
    /// ```
    /// use envoi_notify::{Outcome, retry::{NOTICES, Next}};
    /// use std::time::Duration;
    ///
    /// let wait = |tries| match NOTICES.next(tries, Outcome::failed("no route to host".to_owned())) {
    ///     Next::Wait { wait, .. } => wait,
    ///     other => panic!("{other:?}"),
    /// };
    /// assert_eq!([wait(1), wait(2), wait(3)].map(|wait| wait.as_secs()), [1, 2, 4]);
    /// let refused = Outcome::Refused { error: "410 Gone".to_owned() };
    /// assert!(matches!(NOTICES.next(1, refused), Next::GiveUp { .. }));
    /// ```
    #[must_use]
    pub fn next(&self, tries: u32, outcome: Outcome) -> Next {
        match outcome {
            Outcome::Delivered => Next::Nothing,
            Outcome::Refused { error } => Next::GiveUp { error },
            Outcome::Failed { error, .. } if self.is_last(tries) => {
                Next::GiveUp { error: format!("{error}; it was tried {tries} times") }
            }
            Outcome::Failed { error, wait: wanted } => {
                let wait = self.wait(tries).max(wanted.unwrap_or_default()).min(self.longest);
                Next::Wait { wait, error }
            }
        }
    }

    fn is_last(&self, tries: u32) -> bool {
        match self.give_up {
            GiveUp::AtTry(most) => tries >= most,
            GiveUp::AfterWaiting(most) => {
                (1..tries).map(|earlier| self.wait(earlier)).sum::<Duration>() >= most
            }
        }
    }

    /// The wait after this try if it fails.
    #[must_use]
    pub fn wait(&self, tries: u32) -> Duration {
        let factor = 1_u32.checked_shl(tries.saturating_sub(1)).unwrap_or(u32::MAX);
        let most = self.first.saturating_mul(factor).min(self.longest);
        let Some(name) = self.spread_by else { return most };
        let spread =
            Digest::of(format!("{name} {tries}").as_bytes()).as_bytes().first().copied().unwrap_or(0);
        let half = most / 2;
        half + half * u32::from(spread) / u32::from(u8::MAX)
    }
}

/// How long a dispatcher waits before it reads an unreadable store again.
pub const UNREADABLE: Duration = Duration::from_secs(10);

/// The longest time between two readings of the clock. The clock may be set, or the machine suspended.
const LONGEST_LOOK: Duration = Duration::from_secs(60);

/// How long a dispatcher waits for the next due time. `None`: nothing is due later.
///
/// ```
/// use envoi_contract::time::Timestamp;
/// use envoi_notify::retry::until;
/// use std::time::Duration;
///
/// let at = Timestamp::from_millis;
/// assert_eq!(until(Some(at(1_500)), at(1_000)), Duration::from_millis(500));
/// assert_eq!(until(Some(at(1_000)), at(1_500)), Duration::ZERO, "it is due");
/// assert_eq!(until(None, at(0)), Duration::from_secs(60), "the clock is looked at all the same");
/// ```
#[must_use]
pub fn until(due: Option<Timestamp>, now: Timestamp) -> Duration {
    let wait = |due: Timestamp| u64::try_from(due.as_millis().saturating_sub(now.as_millis())).unwrap_or(0);
    due.map_or(LONGEST_LOOK, |due| Duration::from_millis(wait(due)).min(LONGEST_LOOK))
}

/// The time after this wait.
#[must_use]
pub fn after(now: Timestamp, wait: Duration) -> Timestamp {
    let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_add(wait_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(wait_s: Option<u64>) -> Outcome {
        Outcome::Failed { error: "e".to_owned(), wait: wait_s.map(Duration::from_secs) }
    }

    #[test]
    fn waits_double_from_a_second_to_an_hour_and_then_it_is_given_up() {
        let wait = |s| Next::Wait { wait: Duration::from_secs(s), error: "e".to_owned() };
        let give_up = |error: &str| Next::GiveUp { error: error.to_owned() };
        for (tries, outcome, expected) in [
            (1, Outcome::Delivered, Next::Nothing),
            (99, Outcome::Delivered, Next::Nothing),
            (1, failed(None), wait(1)),
            (2, failed(None), wait(2)),
            (3, failed(None), wait(4)),
            (12, failed(None), wait(2_048)),
            (13, failed(None), wait(3_600)),
            (40, failed(None), wait(3_600)),
            (83, failed(None), wait(3_600)),
            (84, failed(None), give_up("e; it was tried 84 times")),
            (85, failed(Some(1)), give_up("e; it was tried 85 times")),
            // A receiver may ask for a longer wait, within bounds, but not for a shorter one.
            (1, failed(Some(30)), wait(30)),
            (6, failed(Some(3)), wait(32)),
            (1, failed(Some(86_400)), wait(3_600)),
            (1, Outcome::Refused { error: "e".to_owned() }, give_up("e")),
        ] {
            assert_eq!(NOTICES.next(tries, outcome.clone()), expected, "{tries} {outcome:?}");
        }
    }
}
