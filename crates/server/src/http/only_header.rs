//! Headers that may be sent only once: if there are several of one name, it is unclear which one is meant,
//! and none counts.

use axum::http::{HeaderMap, HeaderValue, header::AsHeaderName};

/// The value of the header, if there is exactly one with this name.
pub(crate) fn only(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_headers_none_counts() {
        let mut headers = HeaderMap::new();
        assert_eq!(only(&headers, "host"), None);
        headers.append("host", HeaderValue::from_static("one"));
        assert_eq!(only(&headers, "host").unwrap(), "one");
        headers.append("host", HeaderValue::from_static("one"));
        assert_eq!(only(&headers, "host"), None);
    }
}
