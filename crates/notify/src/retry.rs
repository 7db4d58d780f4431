//! When a notice is tried again, and when it is given up. The engine does the waiting.

use crate::Outcome;
use std::time::Duration;

/// The wait after the first try; doubled for each further one.
const SHORTEST: Duration = Duration::from_secs(1);

/// The longest wait, also if a receiver wants a longer one: after more than an hour a notice would seem to be lost.
pub const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Twelve tries reach the longest wait within 70 minutes, the others come hourly: about three days of an engine that is
/// up, so that a receiver which is down over a weekend misses nothing. Time without an engine does not count.
pub const MOST_TRIES: u32 = 84;

/// What comes after a try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Nothing: it is delivered.
    Nothing,
    /// Try again, not before this has passed.
    Wait {
        /// How long.
        wait: Duration,
        /// Why it was not delivered.
        error: String,
    },
    /// Do not try again.
    GiveUp {
        /// Why.
        error: String,
    },
}

/// What follows from the outcome of the try with this number, from 1.
#[must_use]
pub fn next(tries: u32, outcome: Outcome) -> Next {
    match outcome {
        Outcome::Delivered => Next::Nothing,
        Outcome::Refused { error } => Next::GiveUp { error },
        Outcome::Failed { error, .. } if tries >= MOST_TRIES => Next::GiveUp { error },
        Outcome::Failed { error, wait } => {
            Next::Wait { wait: backoff(tries).max(wait.unwrap_or_default()).min(LONGEST), error }
        }
    }
}

fn backoff(tries: u32) -> Duration {
    let doublings = tries.saturating_sub(1).min(u64::BITS - 1);
    SHORTEST.saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX)).min(LONGEST)
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
        let give_up = Next::GiveUp { error: "e".to_owned() };
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
            (84, failed(None), give_up.clone()),
            (85, failed(Some(1)), give_up.clone()),
            // A receiver may ask for more, within bounds, and not for less.
            (1, failed(Some(30)), wait(30)),
            (6, failed(Some(3)), wait(32)),
            (1, failed(Some(86_400)), wait(3_600)),
            (1, Outcome::Refused { error: "e".to_owned() }, give_up),
        ] {
            assert_eq!(next(tries, outcome.clone()), expected, "{tries} {outcome:?}");
        }
    }
}
