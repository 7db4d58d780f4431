//! Durations for people in one form: the two largest units of a flow file, such as `0.4s`, `12s`, `1m 2s`,
//! `8h 40m`, `3d 2h`.
//!
//! The tables of a plan use exact durations in the same units.

use envoi_contract::time::Timestamp;

/// How long something took. Below a minute, with a tenth of a second.
pub(crate) fn took(ms: u64) -> String {
    if ms < 60_000 {
        return format!("{}.{}s", ms / 1_000, (ms % 1_000) / 100);
    }
    passing(ms)
}

/// How long something has lasted, or will last: in whole seconds.
pub(crate) use envoi_contract::time::duration as passing;

/// The time from one moment to a later one.
pub(crate) fn between(earlier: Timestamp, later: Timestamp) -> String {
    passing(since(earlier, later))
}

/// Milliseconds from one moment to a later one; 0 if it is not later.
pub(crate) fn since(earlier: Timestamp, later: Timestamp) -> u64 {
    u64::try_from(later.as_millis().saturating_sub(earlier.as_millis())).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_one_form_and_take_at_most_seven_columns() {
        for (ms, took_shown, passing_shown) in [
            (0, "0.0s", "0s"),
            (9_470, "9.4s", "9s"),
            (59_999, "59.9s", "59s"),
            (60_000, "1m", "1m"),
            (62_000, "1m 2s", "1m 2s"),
            (3_599_999, "59m 59s", "59m 59s"),
            (3_600_000, "1h", "1h"),
            (86_399_000, "23h 59m", "23h 59m"),
            (169_200_000, "1d 23h", "1d 23h"),
            (99 * 86_400_000, "99d", "99d"),
            (u64::MAX, "213503982334d", "213503982334d"),
        ] {
            assert_eq!((took(ms).as_str(), passing(ms).as_str()), (took_shown, passing_shown));
        }
    }

    #[test]
    fn a_moment_that_is_not_later_is_no_time_away() {
        let at = Timestamp::from_millis;
        assert_eq!([between(at(0), at(3_660_000)), between(at(5), at(0))], ["1h 1m", "0s"]);
    }
}
