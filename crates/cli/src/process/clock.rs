//! Formats times for people in the time zone of this machine or of `TZ`. Programs get UTC.

use envoi_contract::time::Timestamp;
use jiff::tz::TimeZone;

/// `2026-11-23 04:30:00 +01:00`.
pub(crate) fn local(at: Timestamp) -> String {
    written(at, &zone(), FULL)
}

/// `2026-11-23 04:30`, for a table.
pub(crate) fn local_short(at: Timestamp) -> String {
    written(at, &zone(), "%Y-%m-%d %H:%M")
}

/// Replaces each UTC time that an engine has written into the text with local time.
pub(crate) fn localized(text: &str) -> String {
    in_zone(text, &zone())
}

fn in_zone(text: &str, zone: &TimeZone) -> String {
    let word = |word: &str| {
        let moment = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let at = Timestamp::parse(moment).filter(|at| at.to_string() == moment);
        at.map_or_else(|| word.to_owned(), |at| word.replace(moment, &written(at, zone, FULL)))
    };
    text.split_inclusive(char::is_whitespace).map(word).collect()
}

/// `2026-11-23 04:30:00 +01:00`.
const FULL: &str = "%Y-%m-%d %H:%M:%S %:z";

/// The zone is UTC if the machine does not state it.
fn zone() -> TimeZone {
    TimeZone::try_system().unwrap_or(TimeZone::UTC)
}

fn written(at: Timestamp, zone: &TimeZone, form: &str) -> String {
    // Both types cover the years 0 to 9999, so this fails only near the ends, in zones other than UTC.
    let Ok(moment) = jiff::Timestamp::from_millisecond(at.as_millis()) else { return at.to_string() };
    moment.to_zoned(zone.clone()).strftime(form).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_in_its_zone_with_the_offset_of_that_day() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        for (at, there) in [
            ("2026-01-02T03:04:06.500Z", "2026-01-02 04:04:06 +01:00"),
            ("2026-07-02T22:04:06.500Z", "2026-07-03 00:04:06 +02:00"),
            ("0000-01-01T00:00:00.000Z", "0000-01-01 01:00:00 +01:00"),
            ("9999-12-30T00:00:00.000Z", "9999-12-30 01:00:00 +01:00"),
        ] {
            assert_eq!(written(Timestamp::parse(at).unwrap(), &zone, FULL), there);
        }
    }

    #[test]
    fn moments_within_a_text_are_those_of_the_zone() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        for (text, expected) in [
            (
                "was answered at 2026-01-02T03:04:06.500Z: approve",
                "was answered at 2026-01-02 04:04:06 +01:00: approve",
            ),
            ("expired at 2026-07-02T22:04:06.500Z", "expired at 2026-07-03 00:04:06 +02:00"),
            ("at 2026-01-02 and `run-2026`,\n  2026", "at 2026-01-02 and `run-2026`,\n  2026"),
        ] {
            assert_eq!(in_zone(text, &zone), expected);
        }
    }
}
