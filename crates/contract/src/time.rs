//! Moments: reads RFC 3339, and writes UTC with milliseconds and `Z`.
//!
//! Owns reading and writing of times. It never reads a clock.
//!
//! ```
//! use envoi_contract::time::Timestamp;
//!
//! let started = Timestamp::parse("2026-01-02T04:04:05+01:00").ok_or("no time")?;
//! assert_eq!(started.saturating_add_ms(1500).to_string(), "2026-01-02T03:04:06.500Z");
//! # Ok::<(), &str>(())
//! ```

use alloc::string::String;
use core::fmt;

/// 0000-01-01T00:00:00.000Z, the first moment that RFC 3339 can write.
const FIRST_MS: i64 = -62_167_219_200_000;

/// 9999-12-31T23:59:59.999Z, the last moment that RFC 3339 can write.
const LAST_MS: i64 = 253_402_300_799_999;

/// A moment, in milliseconds since 1970-01-01T00:00:00Z, from year 0 to year 9999.
///
/// Written as `2026-01-02T03:04:06.500Z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment `millis` after 1970, limited to the range that RFC 3339 can write.
    #[must_use]
    pub fn from_millis(millis: i64) -> Timestamp {
        Timestamp(millis.clamp(FIRST_MS, LAST_MS))
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Reads an RFC 3339 time with its offset, and also `…+00:00Z`, which one source system writes. Digits after the
    /// millisecond are ignored.
    #[must_use]
    pub fn parse(text: &str) -> Option<Timestamp> {
        let (clock, rest) = Clock::read(text)?;
        let offset_ms = offset(rest)?;
        let millis = clock.millis() - offset_ms;
        (FIRST_MS..=LAST_MS).contains(&millis).then_some(Timestamp(millis))
    }

    /// The moment `millis` later, limited to the range that RFC 3339 can write.
    #[must_use]
    pub fn saturating_add_ms(self, millis: u64) -> Timestamp {
        Timestamp::from_millis(self.0.saturating_add(i64::try_from(millis).unwrap_or(i64::MAX)))
    }

    /// The UTC time in a run id of the form `run-YYYYMMDD-HHMMSS-…`.
    #[must_use]
    pub fn of_run_id(run_id: &str) -> Option<Timestamp> {
        let mut parts = run_id.strip_prefix("run-")?.splitn(3, '-');
        let day = parts.next()?;
        let time = parts.next()?;
        parts.next()?;
        if day.len() != 8 || time.len() != 6 {
            return None;
        }
        let clock = Clock {
            year: number(day, 0, 4)?,
            month: number(day, 4, 2)?,
            day: number(day, 6, 2)?,
            hour: number(time, 0, 2)?,
            minute: number(time, 2, 2)?,
            second: number(time, 4, 2)?,
            milli: 0,
        };
        clock.checked().map(|clock| Timestamp(clock.millis()))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.0.div_euclid(86_400_000);
        let in_day = self.0.rem_euclid(86_400_000);
        let (year, month, day) = date_of(days);
        let hour = in_day / 3_600_000;
        let minute = in_day / 60_000 % 60;
        let second = in_day / 1000 % 60;
        let milli = in_day % 1000;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
    }
}

/// A duration for people, in the two largest units, such as `12s`, `1m 2s`, `8h 40m`, `3d 2h`; from 100 days on only
/// in days. Fractions of a second are ignored.
///
/// ```
/// assert_eq!(envoi_contract::time::duration(5_400_000), "1h 30m");
/// ```
#[must_use]
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1_000;
    let minutes = seconds / 60;
    let hours = seconds / 3_600;
    let days = seconds / 86_400;
    let both = |large: u64, unit: &str, small: u64, of: &str| match small {
        0 => alloc::format!("{large}{unit}"),
        _ => alloc::format!("{large}{unit} {small}{of}"),
    };
    match (days, hours, minutes) {
        (0, 0, 0) => alloc::format!("{seconds}s"),
        (0, 0, _) => both(minutes, "m", seconds % 60, "s"),
        (0, ..) => both(hours, "h", minutes % 60, "m"),
        (1..100, ..) => both(days, "d", hours % 24, "h"),
        _ => alloc::format!("{days}d"),
    }
}

/// True if `text` is RFC 3339, with or without an offset.
#[must_use]
pub fn is_time(text: &str) -> bool {
    Clock::read(text).is_some_and(|(_, rest)| rest.is_empty() || offset(rest).is_some())
}

/// The text under which a time is kept: unchanged, but `…+00:00Z` becomes `…Z`. `None` if it is not a time.
#[must_use]
pub fn passed_on(text: &str) -> Option<String> {
    if !is_time(text) {
        return None;
    }
    let doubled = text.strip_suffix("+00:00Z").or_else(|| text.strip_suffix("+00:00z"));
    Some(doubled.map_or_else(|| String::from(text), |local| alloc::format!("{local}Z")))
}

/// A date and a time of day.
struct Clock {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    milli: i64,
}

impl Clock {
    /// Reads date and time of day. Also returns the text after them, which contains the offset.
    fn read(text: &str) -> Option<(Clock, &str)> {
        let marks = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
        let bytes = text.as_bytes();
        if !marks.iter().all(|(at, mark)| bytes.get(*at) == Some(mark)) {
            return None;
        }
        if !matches!(bytes.get(10), Some(b'T' | b't' | b' ')) {
            return None;
        }
        let mut clock = Clock {
            year: number(text, 0, 4)?,
            month: number(text, 5, 2)?,
            day: number(text, 8, 2)?,
            hour: number(text, 11, 2)?,
            minute: number(text, 14, 2)?,
            second: number(text, 17, 2)?,
            milli: 0,
        };
        let mut rest = text.get(19..)?;
        if let Some(after_point) = rest.strip_prefix('.') {
            let digits = after_point.bytes().take_while(u8::is_ascii_digit).count();
            clock.milli = thousandths(after_point.get(..digits)?)?;
            rest = after_point.get(digits..)?;
        }
        clock.checked().map(|clock| (clock, rest))
    }

    /// Returns the time if it exists. A leap second counts as the second after it.
    fn checked(self) -> Option<Clock> {
        let fits = (1..=12).contains(&self.month)
            && (1..=days_in(self.year, self.month)).contains(&self.day)
            && self.hour < 24
            && self.minute < 60
            && self.second <= 60;
        fits.then_some(self)
    }

    fn millis(&self) -> i64 {
        let seconds =
            ((days_since_1970(self.year, self.month, self.day) * 24 + self.hour) * 60 + self.minute) * 60;
        (seconds + self.second) * 1000 + self.milli
    }
}

/// The number in `length` digits of `text` from `start`.
fn number(text: &str, start: usize, length: usize) -> Option<i64> {
    let digits = text.get(start..start + length)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

fn thousandths(digits: &str) -> Option<i64> {
    if digits.is_empty() {
        return None;
    }
    let first_three = digits.bytes().chain([b'0', b'0', b'0']).take(3);
    Some(first_three.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
}

/// The offset from UTC in milliseconds: `Z`, `+hh:mm`, `-hh:mm`, `+00:00Z`.
fn offset(text: &str) -> Option<i64> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'Z' | b'z' => return (text.len() == 1).then_some(0),
        b'+' => (1, text.get(1..)?),
        b'-' => (-1, text.get(1..)?),
        _ => return None,
    };
    let hours = number(rest, 0, 2)?;
    let minutes = number(rest, 3, 2)?;
    let tail = rest.get(5..)?;
    let doubled = sign == 1 && hours == 0 && minutes == 0 && matches!(tail, "Z" | "z");
    let fits =
        rest.as_bytes().get(2) == Some(&b':') && hours < 24 && minutes < 60 && (tail.is_empty() || doubled);
    fits.then_some(sign * (hours * 60 + minutes) * 60_000)
}

const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

const fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a Gregorian date. Years are counted from March, so that a leap day comes last.
const fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let from_march = (month + 9) % 12;
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let in_era = year.rem_euclid(400);
    let in_year = (153 * from_march + 2) / 5 + day - 1;
    era * 146_097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719_468
}

/// The date `days` after 1970-01-01; the inverse of [`days_since_1970`].
const fn date_of(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let in_era = shifted.rem_euclid(146_097);
    let year_in_era = (in_era - in_era / 1460 + in_era / 36_524 - in_era / 146_096) / 365;
    let in_year = in_era - (365 * year_in_era + year_in_era / 4 - year_in_era / 100);
    let from_march = (5 * in_year + 2) / 153;
    let day = in_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_in_era + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn a_wait_is_said_in_its_two_largest_units() {
        for (ms, expected) in [
            (0, "0s"),
            (999, "0s"),
            (61_000, "1m 1s"),
            (6 * 3_600_000, "6h"),
            (5 * 3_600_000 + 61_000, "5h 1m"),
            (86_400_000 + 60_000, "1d"),
        ] {
            assert_eq!(duration(ms), expected);
        }
    }

    #[test]
    fn times_are_read_with_their_offset_and_shown_in_utc() {
        let rows = [
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
            ("2026-01-02T04:04:06.5+01:00", "2026-01-02T03:04:06.500Z"),
            ("2026-01-02t03:04:06.5009z", "2026-01-02T03:04:06.500Z"),
            ("2026-01-02 03:04:06-00:30", "2026-01-02T03:34:06.000Z"),
            ("2024-02-29T23:59:59.999999999Z", "2024-02-29T23:59:59.999Z"),
            ("2026-01-26T09:30:00.123456+00:00Z", "2026-01-26T09:30:00.123Z"),
            ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"),
            ("2000-02-29T12:00:00Z", "2000-02-29T12:00:00.000Z"),
            ("2100-03-01T00:00:00+00:01", "2100-02-28T23:59:00.000Z"),
            ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"),
            ("1969-12-31T23:59:59.001Z", "1969-12-31T23:59:59.001Z"),
        ];
        for (read, shown) in rows {
            let moment = Timestamp::parse(read).unwrap_or_else(|| panic!("{read}"));
            assert_eq!(moment.to_string(), shown);
            assert_eq!(Timestamp::parse(shown), Some(moment));
        }
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        let rows = [
            "yesterday",
            "2026-01-02",
            "2026-01-02T03:04:05",
            "2026-02-29T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-02T24:00:00Z",
            "2026-01-02T03:04:05.Z",
            "2026-01-02T03:04:05+1:00",
            "2026-01-02T03:04:05+01:00Z",
            "2026-01-02T03:04:05ZZ",
            "+026-01-02T03:04:05Z",
            "9999-12-31T23:59:59-00:01",
            "2026-01-02T03:04:05 Z",
            "2026-01-0éT03:04:05Z",
        ];
        for text in rows {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_run_id_names_its_moment() {
        let seed = Timestamp::of_run_id("run-20251228-010000-abc123").map(|at| at.saturating_add_ms(45_000));
        assert_eq!(seed.map(|at| at.to_string()).as_deref(), Some("2025-12-28T01:00:45.000Z"));
        for other in [
            "r1",
            "run-20251228-010000",
            "run-20251328-010000-x",
            "run-2025122-010000-x",
            "run-20251228-0100000-x",
        ] {
            assert_eq!(Timestamp::of_run_id(other), None, "{other}");
        }
    }

    #[test]
    fn moments_past_the_calendar_stay_in_it() {
        assert_eq!(Timestamp::from_millis(i64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
        assert_eq!(Timestamp::from_millis(i64::MIN).to_string(), "0000-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::from_millis(0).saturating_add_ms(u64::MAX), Timestamp::from_millis(i64::MAX));
    }

    #[test]
    fn passed_on_times_keep_their_text() {
        let rows = [
            ("2026-01-02T03:04:05", Some("2026-01-02T03:04:05")),
            ("2026-01-02T03:04:05.123456+02:00", Some("2026-01-02T03:04:05.123456+02:00")),
            ("2026-01-02T03:04:05+00:00Z", Some("2026-01-02T03:04:05Z")),
            ("soon", None),
        ];
        for (read, kept) in rows {
            assert_eq!(passed_on(read).as_deref(), kept, "{read}");
        }
    }
}
