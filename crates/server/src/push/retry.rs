//! When a failed push notification is sent again, and when its receiver is given up: the rules of
//! [`envoi_notify::retry`], with numbers for receivers that clients follow live.
//!
//! A receiver is given up after a day of waiting since its last success.

use envoi_notify::retry::{GiveUp, Policy};
use std::time::Duration;

/// The longest wait, even if a receiver wants a longer one.
pub(super) const LONGEST: Duration = Duration::from_secs(5 * 60);

/// The sum of all waits for one notification.
const ALL: Duration = Duration::from_secs(24 * 60 * 60);

/// The rules for the configuration `name`. Waits differ between configurations.
pub(super) fn policy(name: &str) -> Policy<'_> {
    Policy {
        first: Duration::from_secs(2),
        longest: LONGEST,
        give_up: GiveUp::AfterWaiting(ALL),
        spread_by: Some(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_notify::{Outcome, retry::Next};

    fn failed(wait_s: Option<u64>) -> Outcome {
        Outcome::Failed { error: "e".to_owned(), wait: wait_s.map(Duration::from_secs) }
    }

    #[test]
    fn waits_grow_from_a_second_to_five_minutes_and_differ_by_whom_they_are_for() {
        for (tries, least, most) in [
            (1, 1_000, 2_000),
            (2, 2_000, 4_000),
            (8, 128_000, 256_000),
            (9, 150_000, 300_000),
            (300, 150_000, 300_000),
        ] {
            let waits: Vec<u128> = (0..100)
                .map(|whom| match policy(&format!("run_{whom}")).next(tries, failed(None)) {
                    Next::Wait { wait, .. } => wait.as_millis(),
                    other => panic!("{other:?}"),
                })
                .collect();
            assert!(waits.iter().all(|wait| (least..=most).contains(wait)), "{tries}: {waits:?}");
            let early = waits.iter().min().unwrap();
            let late = waits.iter().max().unwrap();
            assert!(late - early > (most - least) / 2, "{tries}: they are spread");
        }
    }

    #[test]
    fn it_is_given_up_after_a_day_of_waiting() {
        let mut waited = Duration::ZERO;
        for tries in 1.. {
            match policy("run_1").next(tries, failed(None)) {
                Next::Wait { wait, .. } => waited += wait,
                Next::GiveUp { error } => {
                    assert_eq!(error, format!("e; it was tried {tries} times"));
                    break;
                }
                Next::Nothing => panic!(),
            }
            assert!(waited < ALL + LONGEST);
        }
        assert!(waited >= ALL, "{waited:?}");
    }

    #[test]
    fn a_receiver_may_ask_for_more_within_bounds_and_say_that_it_is_gone() {
        let next = |tries: u32, outcome: Outcome| policy("r").next(tries, outcome);
        let wait = |wait: Duration| Next::Wait { wait, error: "e".to_owned() };
        assert_eq!(next(1, failed(Some(30))), wait(Duration::from_secs(30)));
        assert_eq!(next(1, failed(Some(86_400))), wait(LONGEST));
        assert!(matches!(next(9, failed(Some(1))), Next::Wait { wait, .. } if wait >= LONGEST / 2));
        let gone = Outcome::Refused { error: "gone".to_owned() };
        assert_eq!(next(1, gone), Next::GiveUp { error: "gone".to_owned() });
        assert_eq!(next(99, Outcome::Delivered), Next::Nothing);
    }
}
