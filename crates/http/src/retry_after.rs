//! How long a server wants a client to wait (`Retry-After`, RFC 9110 §10.2.3).

use std::time::Duration;
use ureq::http::HeaderMap;

/// The wait that an answer asks for, if it is in whole seconds. `None` for a date: then the caller's usual
/// wait applies.
///
/// The server chooses the value, and it has no bound: a caller that adds it to a time must bound it first.
#[must_use]
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get("retry-after")?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ureq::http::HeaderValue;

    #[test]
    fn whole_seconds_are_a_wait_and_nothing_else_is() {
        for (value, expected) in [
            ("0", Some(0)),
            (" 7 ", Some(7)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
            ("Wed, 21 Oct 2026 07:28:00 GMT", None),
        ] {
            let headers =
                HeaderMap::from_iter([("retry-after".parse().unwrap(), HeaderValue::from_static(value))]);
            assert_eq!(retry_after(&headers), expected.map(Duration::from_secs), "{value}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}
