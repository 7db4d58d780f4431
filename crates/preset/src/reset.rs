//! Finds the end of a rate limit that is stated only in a sentence or in a file of the program.
//!
//! Times of day are in UTC, because the program runs with that time zone. A time of day, or a date without a year,
//! means the next such time. If a text is not understood, there is no time, and the account is tried again after a
//! while.

use crate::member::{at, count, text};
use envoi_contract::{json::Value, time::Timestamp};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Texts before a time.
const BEFORE: [&str; 6] =
    ["resets at ", "resets ", "reset at ", "try again at ", "try again in ", "retry after "];

/// The time in a message of a program, relative to `now`.
#[must_use]
pub fn of_message(message: &str, now: Timestamp) -> Option<Timestamp> {
    // Some programs write a narrow no-break space before `PM`.
    let message = message.to_lowercase().replace(['\u{202f}', '\u{a0}'], " ");
    let (before, rest) = BEFORE.iter().find_map(|before| Some((*before, message.split_once(before)?.1)))?;
    let words: Vec<&str> = rest.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    match before {
        "try again in " => span(&words, now),
        "retry after " => seconds(&words, now),
        _ => moment(&words, now),
    }
}

/// Parses `7200s`, with or without a bracket.
fn seconds(words: &[&str], now: Timestamp) -> Option<Timestamp> {
    let (number, _) = words.first()?.split_once('s')?;
    Some(now.saturating_add_ms(number.parse::<u64>().ok()?.saturating_mul(1_000)))
}

/// Parses `3 days 2 hours 5 minutes`.
fn span(words: &[&str], now: Timestamp) -> Option<Timestamp> {
    let pairs = words.chunks(2).map_while(|pair| {
        let [number, unit] = pair else { return None };
        let unit_ms = match unit.trim_end_matches('.').trim_end_matches('s') {
            "day" => DAY_MS,
            "hour" => HOUR_MS,
            "minute" | "min" => MINUTE_MS,
            "second" => 1_000,
            _ => return None,
        };
        Some(number.parse::<u64>().ok()?.saturating_mul(unit_ms))
    });
    let all: Vec<u64> = pairs.collect();
    let sum = all.iter().fold(0, |sum: u64, part| sum.saturating_add(*part));
    (!all.is_empty()).then(|| now.saturating_add_ms(sum))
}

/// Parses `5:45pm`, `5:45 PM`, `Nov 26 at 9am` or `Nov 26th 2026 9:00 AM`.
fn moment(words: &[&str], now: Timestamp) -> Option<Timestamp> {
    let month = words.first().and_then(|word| {
        let place = MONTHS.iter().position(|month| word.starts_with(month))?;
        u64::try_from(place).ok()?.checked_add(1)
    });
    let Some(month) = month else {
        let of_day = time_of_day(words)?;
        let today = midnight(now).saturating_add_ms(of_day);
        return Some(if today > now { today } else { today.saturating_add_ms(DAY_MS) });
    };
    let mut rest = words.get(1..)?;
    let day: u64 = number(rest.first()?)?;
    rest = rest.get(1..)?;
    let year = rest.first().filter(|word| word.len() == 4).and_then(|word| word.parse::<u64>().ok());
    rest = rest.get(usize::from(year.is_some())..)?;
    let rest = rest.strip_prefix(&["at"]).unwrap_or(rest);
    let of_day = time_of_day(rest)?;
    let this_year: u64 = now.to_string().get(..4)?.parse().ok()?;
    let of_year = |year: u64| {
        let date = Timestamp::parse(&format!("{year:04}-{month:02}-{day:02}T00:00:00.000Z"))?;
        Some(date.saturating_add_ms(of_day))
    };
    match year {
        Some(year) => of_year(year),
        None => of_year(this_year).filter(|at| *at > now).or_else(|| of_year(this_year.checked_add(1)?)),
    }
}

/// Parses a time of day, in milliseconds after midnight.
fn time_of_day(words: &[&str]) -> Option<u64> {
    let first = words.first()?.trim_end_matches('.');
    let second = words.get(1).map(|word| word.trim_end_matches('.')).unwrap_or_default();
    let (clock, half) = match (first.strip_suffix("am"), first.strip_suffix("pm")) {
        (Some(clock), _) => (clock, Some(false)),
        (_, Some(clock)) => (clock, Some(true)),
        _ if second == "am" => (first, Some(false)),
        _ if second == "pm" => (first, Some(true)),
        _ => (first, None),
    };
    let (hour, minute) = clock.split_once(':').unwrap_or((clock, "0"));
    let (hour, minute): (u64, u64) = (hour.parse().ok()?, minute.parse().ok()?);
    let is_clock = half.is_some() || clock.contains(':');
    let hour = match half {
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(false) => hour.checked_rem(12)?,
        Some(true) => hour.checked_rem(12)?.checked_add(12)?,
        None => hour,
    };
    let ms = hour.checked_mul(HOUR_MS)?.checked_add(minute.checked_mul(MINUTE_MS)?)?;
    (is_clock && hour < 24 && minute < 60).then_some(ms)
}

/// Parses `26` in `26th`.
fn number(word: &str) -> Option<u64> {
    word.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()
}

fn midnight(now: Timestamp) -> Timestamp {
    let day_ms = i64::try_from(DAY_MS).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_sub(now.as_millis().rem_euclid(day_ms)))
}

/// The end of the limit in a rollout file of `codex`, in Unix seconds. Only the newest limits in the file count,
/// and only those that are used up.
#[must_use]
pub fn of_rollout(text_of_file: &str) -> Option<u64> {
    let limits = text_of_file.lines().rev().find_map(|line| {
        // Most lines are long and do not contain limits.
        let event = line.contains("rate_limits").then(|| Value::parse_str(line).ok()).flatten()?;
        let limits = at(&event, &["payload", "rate_limits"])?;
        (text(&event, &["payload", "type"]) == Some("token_count") && !limits.is_null())
            .then(|| limits.clone())
    })?;
    let windows = ["primary", "secondary"].map(|name| at(&limits, &[name]).cloned().unwrap_or_default());
    let used_up = |window: &&Value| {
        let percent = at(window, &["used_percent"]).and_then(Value::as_number);
        percent
            .and_then(|percent| percent.as_str().parse::<f64>().ok())
            .is_some_and(|percent| percent >= 100.0)
    };
    windows.iter().filter(used_up).filter_map(|window| count(window, &["resets_at"])).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_words_is_the_next_one_and_other_words_are_none() {
        let now = Timestamp::parse("2026-11-23T06:30:00.000Z").unwrap();
        for (message, expected) in [
            ("You've hit your 5-hour limit · resets 5:45pm (UTC)", Some("2026-11-23T17:45:00.000Z")),
            ("You've hit your session limit · resets 5am (UTC)", Some("2026-11-24T05:00:00.000Z")),
            ("resets 12am (UTC)", Some("2026-11-24T00:00:00.000Z")),
            ("resets 12:05pm", Some("2026-11-23T12:05:00.000Z")),
            ("weekly limit · resets Nov 26, 9am (UTC)", Some("2026-11-26T09:00:00.000Z")),
            ("resets Nov 26 at 9:30pm (UTC)", Some("2026-11-26T21:30:00.000Z")),
            ("resets Jan 2, 9am", Some("2027-01-02T09:00:00.000Z")),
            (
                "usage limit. Upgrade to Pro (x), or try again at 5:52\u{202f}PM.",
                Some("2026-11-23T17:52:00.000Z"),
            ),
            ("or try again at Nov 29th, 2026 8:01 AM.", Some("2026-11-29T08:01:00.000Z")),
            ("try again in 3 days 2 hours 5 minutes.", Some("2026-11-26T08:35:00.000Z")),
            ("try again in 90 seconds", Some("2026-11-23T06:31:30.000Z")),
            ("Resource has been exhausted. Suggested retry after 7200s.]", Some("2026-11-23T08:30:00.000Z")),
            ("retry after a while", None),
            ("retry after 90", None),
            ("try again in a while", None),
            ("try again at dinner", None),
            ("resets soon", None),
            ("resets 13:00pm", None),
            ("resets 7", None),
            ("resets Nov 31, 9am", None),
            ("You've hit your limit", None),
        ] {
            let found = of_message(message, now).map(|at| at.to_string());
            assert_eq!(found.as_deref(), expected, "{message}");
        }
    }

    #[test]
    fn a_rollout_names_the_window_that_is_used_up() {
        let line = |primary: &str, secondary: &str| {
            format!(
                r#"{{"type":"event_msg","payload":{{"type":"token_count","rate_limits":{{"primary":{{"used_percent":{primary},"resets_at":100}},"secondary":{{"used_percent":{secondary},"resets_at":900}}}}}}}}"#
            )
        };
        let other = r#"{"type":"event_msg","payload":{"type":"task_complete"}}"#;
        for (text, expected) in [
            (line("100.0", "40.0"), Some(100)),
            (line("100.0", "100"), Some(900)),
            (line("12", "40.0"), None),
            (format!("{}\n{}\n{other}\nnot json rate_limits", line("100", "0"), line("7", "0")), None),
            (other.to_owned(), None),
        ] {
            assert_eq!(of_rollout(&text), expected, "{text}");
        }
    }
}
