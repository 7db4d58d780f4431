//! The two service parameters of a request (specification 3.2.6): `A2A-Version` and `A2A-Extensions`, which clients
//! of 0.3 send as `X-A2A-Extensions`.

use super::{
    fault::{Fault, Kind},
    version::Version,
};

/// The name of the header and of the query parameter.
pub const VERSION: &str = "A2A-Version";

/// The headers that name extensions.
pub const EXTENSIONS: [&str; 2] = ["A2A-Extensions", "X-A2A-Extensions"];

/// All headers of A2A that a client may send.
pub const HEADERS: [&str; 3] = [VERSION, EXTENSIONS[0], EXTENSIONS[1]];

/// The version of a request: the header's, else the query parameter's. An absent or empty one means 0.3. A patch
/// number is ignored.
///
/// # Errors
/// [`Kind::VersionNotSupported`], in the form of 1.0: a client that names a version does not use 0.3.
pub fn negotiate_version(header: Option<&str>, query: Option<&str>) -> Result<Version, Fault> {
    let stated = |text: Option<&str>| text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    let Some(wanted) = stated(header).or_else(|| stated(query)) else { return Ok(Version::V03) };
    [Version::V03, Version::V10].into_iter().find(|version| version.is(&wanted)).ok_or_else(|| {
        let shown: String = wanted.chars().take(20).collect();
        let detail = format!("`{shown}`; 1.0 and 0.3 are served");
        Fault::new(Kind::VersionNotSupported).detail(detail).note("supportedVersions", "1.0, 0.3")
    })
}

/// The extensions that a request names, without duplicates, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extensions(Vec<String>);

impl Extensions {
    /// Reads all values of [`EXTENSIONS`] headers.
    pub fn named<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut named = Vec::new();
        for uri in values.into_iter().flat_map(|value| value.split(',')).map(str::trim) {
            if !uri.is_empty() && !named.iter().any(|known| known == uri) {
                named.push(uri.to_owned());
            }
        }
        Self(named)
    }

    /// True if `uri` is among them. URIs of extensions are compared exactly.
    pub fn contain(&self, uri: &str) -> bool {
        self.0.iter().any(|named| named == uri)
    }

    /// The value of the response's `A2A-Extensions`: the extensions of `ours` that the request names. `None` if it
    /// names none.
    pub fn activated(&self, ours: &[&str]) -> Option<String> {
        let active: Vec<&str> = ours.iter().copied().filter(|uri| self.contain(uri)).collect();
        (!active.is_empty()).then(|| active.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_speaks_the_version_that_it_names_and_else_0_3() {
        let rows = [
            (None, None, Version::V03),
            (Some(""), None, Version::V03),
            (Some("  "), Some(""), Version::V03),
            (Some("0.3"), None, Version::V03),
            (Some("0.3.0"), None, Version::V03),
            (Some("1.0"), None, Version::V10),
            (Some(" 1.0 "), None, Version::V10),
            (Some("1.0.17"), None, Version::V10),
            (None, Some("1.0"), Version::V10),
            (Some(""), Some("1.0"), Version::V10),
            (Some("1.0"), Some("0.3"), Version::V10),
            (Some("0.3"), Some("9.9"), Version::V03),
        ];
        for (header, query, version) in rows {
            assert_eq!(negotiate_version(header, query), Ok(version), "{header:?} {query:?}");
        }
    }

    #[test]
    fn a_version_that_is_not_served_is_refused_in_the_words_of_1_0() {
        for wanted in
            ["0.2", "0.5", "1", "1.1", "1.00", "2.0", "99.0", "1.0.", "1.0.x", "1.0-rc", "v1.0", "1.0, 1.0"]
        {
            for (header, query) in [(Some(wanted), None), (None, Some(wanted)), (Some(wanted), Some("1.0"))] {
                let refused = negotiate_version(header, query).unwrap_err();
                assert_eq!(refused.kind, Kind::VersionNotSupported, "{wanted}");
            }
        }
        let long = "9".repeat(10_000);
        let refused = negotiate_version(Some(&long), None).unwrap_err();
        assert!(refused.rest().compact().len() < 500);
    }

    #[test]
    fn extensions_come_from_both_headers_and_count_once() {
        let named = Extensions::named(["urn:a, urn:b", "", " urn:c ,urn:a,,"]);
        assert_eq!(named, Extensions(vec!["urn:a".to_owned(), "urn:b".to_owned(), "urn:c".to_owned()]));
        assert!(named.contain("urn:b") && !named.contain("urn:B") && !named.contain("urn:"));
        assert_eq!(named.activated(&["urn:x", "urn:c", "urn:a"]).as_deref(), Some("urn:c, urn:a"));
        assert_eq!(named.activated(&["urn:x"]), None);
        assert_eq!(Extensions::named([]).activated(&["urn:a"]), None);
    }
}
