//! When a notification that failed is sent again, and when its receiver is given up.
//!
//! Pure. A receiver is given up after a day of waiting since its last success; time without a server does not count.
//! Waits differ between configurations, so that many that failed together do not come back together. They follow from
//! the name of the configuration, not from chance, so that the total wait follows from the number of tries.

use envoi_contract::digest::Digest;
use envoi_notify::Outcome;
use std::time::Duration;

/// The longest first wait; it doubles with each further try. No wait is shorter than half of it.
const FIRST: Duration = Duration::from_secs(2);

/// No wait is longer, whatever a receiver wishes.
pub(super) const LONGEST: Duration = Duration::from_secs(5 * 60);

/// All waits for one thing together.
const ALL: Duration = Duration::from_secs(24 * 60 * 60);

/// What follows after a try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It has arrived.
    Nothing,
    /// Try again, not before this has passed.
    Wait(Duration, String),
    /// Never again.
    GiveUp(String),
}

/// The decision after try number `tries`, from 1, for the configuration `whom`.
pub(crate) fn decide(whom: &str, tries: u32, outcome: Outcome) -> Decision {
    match outcome {
        Outcome::Delivered => Decision::Nothing,
        Outcome::Refused { error } => Decision::GiveUp(error),
        Outcome::Failed { error, .. } if waited(whom, tries) >= ALL => {
            Decision::GiveUp(format!("{error}; it was tried {tries} times"))
        }
        Outcome::Failed { error, wait: asked } => {
            Decision::Wait(wait(whom, tries).max(asked.unwrap_or_default()).min(LONGEST), error)
        }
    }
}

/// The sum of the waits before this try.
fn waited(whom: &str, tries: u32) -> Duration {
    (1..tries).map(|earlier| wait(whom, earlier)).sum()
}

/// The wait after this try: between half and all of the longest one.
fn wait(whom: &str, tries: u32) -> Duration {
    let doublings = tries.saturating_sub(1).min(16);
    let most = FIRST.saturating_mul(1 << doublings).min(LONGEST);
    let spread = Digest::of(format!("{whom} {tries}").as_bytes()).as_bytes().first().copied().unwrap_or(0);
    let half = most / 2;
    half + half * u32::from(spread) / u32::from(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

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
                .map(|whom| match decide(&format!("run_{whom}"), tries, failed(None)) {
                    Decision::Wait(wait, _) => wait.as_millis(),
                    other => panic!("{other:?}"),
                })
                .collect();
            assert!(waits.iter().all(|wait| (least..=most).contains(wait)), "{tries}: {waits:?}");
            let (early, late) = (waits.iter().min().unwrap(), waits.iter().max().unwrap());
            assert!(late - early > (most - least) / 2, "{tries}: they are spread");
        }
    }

    #[test]
    fn it_is_given_up_after_a_day_of_waiting() {
        let mut waited = Duration::ZERO;
        for tries in 1.. {
            match decide("run_1", tries, failed(None)) {
                Decision::Wait(wait, _) => waited += wait,
                Decision::GiveUp(error) => {
                    assert_eq!(error, format!("e; it was tried {tries} times"));
                    break;
                }
                Decision::Nothing => panic!(),
            }
            assert!(waited < ALL + LONGEST);
        }
        assert!(waited >= ALL, "{waited:?}");
    }

    #[test]
    fn a_receiver_may_ask_for_more_within_bounds_and_say_that_it_is_gone() {
        assert_eq!(decide("r", 1, failed(Some(30))), Decision::Wait(Duration::from_secs(30), "e".to_owned()));
        assert_eq!(decide("r", 1, failed(Some(86_400))), Decision::Wait(LONGEST, "e".to_owned()));
        assert!(matches!(decide("r", 9, failed(Some(1))), Decision::Wait(wait, _) if wait >= LONGEST / 2));
        let gone = Outcome::Refused { error: "gone".to_owned() };
        assert_eq!(decide("r", 1, gone), Decision::GiveUp("gone".to_owned()));
        assert_eq!(decide("r", 99, Outcome::Delivered), Decision::Nothing);
    }
}
