//! The content of the server's agent card, and its HTTP caching: its tag, its age, and whether a client has
//! it already.
//!
//! There is one public card that clients of both versions read, and an extended one for clients with a token.
//! The public card names no flow, no tenant and no run. The extended card has the flows of the client's
//! tenant as skills. The card is not signed.

use envoi_a2a::{
    card::{AgentCard, Extension, HTTP_JSON, Interface, JSON_RPC, Skill},
    extension::{SENT_ONCE, USER_ENVELOPE},
    version::Version,
};
use envoi_contract::{digest::Digest, json::Value, time::Timestamp};
use std::time::{Duration, UNIX_EPOCH};

/// Media types that a part may state. A file without a stated type may have any type.
pub(crate) const INPUT_MODES: &[&str] = &[
    "text/plain",
    "text/markdown",
    "text/csv",
    "application/json",
    "application/pdf",
    "application/octet-stream",
    "image/*",
];

/// Media types of replies: text, data, files.
const OUTPUT_MODES: &[&str] = &["text/plain", "application/json", "application/octet-stream"];

/// How long a client may use the card without a new request: it changes only when Envoi or its configuration
/// changes.
const CACHE_CONTROL: &str = "public, max-age=300";

/// The last moment of the year 9999.
const MAX_HTTP_DATE_MS: u64 = 253_402_300_799_999;

/// The data that both cards have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Agent<'a> {
    /// The address for requests: JSON-RPC at this address, HTTP+JSON below it. It has no final slash.
    pub(crate) url: &'a str,
    /// The version of Envoi.
    pub(crate) version: &'a str,
    /// Whether the server sends push notifications.
    pub(crate) push: bool,
}

/// The public card. It has the members of both versions. For a reader that names version 1.0 it has no
/// members of 0.3.
pub(crate) fn public(about: Agent<'_>, reader: Version) -> Value {
    card(about, vec![neutral_skill()]).to_value(reader)
}

/// The extended card. If there is no flow it has the neutral skill, because a card must have one.
pub(crate) fn extended(about: Agent<'_>, reader: Version, skills: Vec<Skill>) -> Value {
    if skills.is_empty() { public(about, reader) } else { card(about, skills).to_value(reader) }
}

/// The only skill of the public card.
fn neutral_skill() -> Skill {
    Skill {
        id: "run".to_owned(),
        name: "Run a pipeline".to_owned(),
        description:
            "Starts one of the pipelines that the caller may start, asks when a person has to decide, \
                      and hands over its files. The extended card names them."
                .to_owned(),
        tags: vec!["pipeline".to_owned(), "approval".to_owned()],
        input_modes: Vec::new(),
    }
}

fn card(about: Agent<'_>, skills: Vec<Skill>) -> AgentCard {
    let interface = |binding: &str, version: Version| Interface {
        url: about.url.to_owned(),
        binding: binding.to_owned(),
        version,
        tenant: None,
    };
    let extension =
        |uri: &str, description: &str| Extension { uri: uri.to_owned(), description: description.to_owned() };
    AgentCard {
        name: "Envoi".to_owned(),
        description: "Runs durable pipelines of agents, scripts and people.".to_owned(),
        version: about.version.to_owned(),
        interfaces: vec![
            interface(JSON_RPC, Version::V10),
            interface(HTTP_JSON, Version::V10),
            interface(JSON_RPC, Version::V03),
        ],
        push: about.push,
        extensions: vec![
            extension(USER_ENVELOPE, "A message whose text is {text, attachments}: an answer with files."),
            extension(
                SENT_ONCE,
                "A message that comes again, of the same token, with the same id, context, task and content, is done once.",
            ),
        ],
        input_modes: INPUT_MODES.iter().map(|mode| (*mode).to_owned()).collect(),
        output_modes: OUTPUT_MODES.iter().map(|mode| (*mode).to_owned()).collect(),
        skills,
    }
}

/// Whether a part may state this media type. Its parameters and the case of its letters do not matter.
pub(crate) fn takes(media_type: &str) -> bool {
    let essence =
        media_type.split_once(';').map_or(media_type, |(first, _)| first).trim().to_ascii_lowercase();
    INPUT_MODES.iter().any(|mode| match mode.strip_suffix('*') {
        Some(range) => essence.strip_prefix(range).is_some_and(|rest| !rest.is_empty()),
        None => essence == *mode,
    })
}

/// A card as an HTTP response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServedCard {
    /// The card as JSON.
    pub(crate) body: String,
    /// The header `ETag`: SHA-256 of the body.
    pub(crate) etag: String,
    /// The header `Last-Modified`.
    pub(crate) last_modified: String,
    /// The header `Cache-Control` of the public card; the extended one must not be cached.
    pub(crate) cache_control: &'static str,
}

impl ServedCard {
    /// `since` is the time of the last change of the card: the start of the server.
    pub(crate) fn new(card: &Value, since: Timestamp) -> Self {
        let body = card.compact();
        let etag = format!("\"{}\"", Digest::of(body.as_bytes()).hex());
        Self { etag, last_modified: http_date(since), cache_control: CACHE_CONTROL, body }
    }

    /// Whether a client that sends these conditions has exactly this card. With a tag, the date is ignored
    /// (RFC 9110 §13.2.2). The date is compared as text, because clients repeat it unchanged.
    pub(crate) fn is_known(&self, if_none_match: Option<&str>, if_modified_since: Option<&str>) -> bool {
        match if_none_match {
            Some(tags) => tags
                .split(',')
                .map(str::trim)
                .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == self.etag),
            None => if_modified_since.is_some_and(|date| date.trim() == self.last_modified),
        }
    }
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
fn http_date(at: Timestamp) -> String {
    // The format has years from 1970 to 9999; a clock that shows another one is wrong.
    let ms = u64::try_from(at.as_millis()).unwrap_or(0).min(MAX_HTTP_DATE_MS);
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_millis(ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABOUT: Agent<'_> = Agent { url: "http://127.0.0.1:7007/a2a", version: "0.1.0", push: true };

    fn at<'a>(card: &'a Value, path: &[&str]) -> &'a Value {
        path.iter().fold(card, |value, name| match name.parse::<usize>() {
            Ok(index) => &value.as_array().unwrap()[index],
            Err(_) => value.get(name).unwrap_or_else(|| panic!("{path:?}")),
        })
    }

    #[test]
    fn one_card_serves_both_versions() {
        let card = public(ABOUT, Version::V03);
        let url = r#""url":"http://127.0.0.1:7007/a2a""#;
        let rows: &[(&[&str], String)] = &[
            (
                &["supportedInterfaces"],
                format!(
                    concat!(
                        r#"[{{{url},"protocolBinding":"JSONRPC","protocolVersion":"1.0"}},"#,
                        r#"{{{url},"protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}},"#,
                        r#"{{{url},"protocolBinding":"JSONRPC","protocolVersion":"0.3"}}]"#
                    ),
                    url = url
                ),
            ),
            (&["url"], r#""http://127.0.0.1:7007/a2a""#.to_owned()),
            (&["preferredTransport"], r#""JSONRPC""#.to_owned()),
            (&["protocolVersion"], r#""0.3""#.to_owned()),
            (&["version"], r#""0.1.0""#.to_owned()),
            (&["capabilities", "streaming"], "true".to_owned()),
            (&["capabilities", "pushNotifications"], "true".to_owned()),
            (&["capabilities", "extendedAgentCard"], "true".to_owned()),
            (&["supportsAuthenticatedExtendedCard"], "true".to_owned()),
            (&["capabilities", "extensions", "0", "uri"], r#""urn:envoi:a2a:user-envelope:v1""#.to_owned()),
            (&["capabilities", "extensions", "0", "required"], "false".to_owned()),
            (&["capabilities", "extensions", "1", "uri"], r#""urn:envoi:a2a:sent-once:v1""#.to_owned()),
            (&["capabilities", "extensions", "1", "required"], "false".to_owned()),
            (
                &["securitySchemes", "bearer"],
                r#"{"httpAuthSecurityScheme":{"scheme":"Bearer"},"type":"http","scheme":"Bearer"}"#
                    .to_owned(),
            ),
            (&["securityRequirements"], r#"[{"schemes":{"bearer":{"list":[]}}}]"#.to_owned()),
            (&["security"], r#"[{"bearer":[]}]"#.to_owned()),
            (&["defaultOutputModes", "0"], r#""text/plain""#.to_owned()),
            (&["defaultInputModes", "3"], r#""application/json""#.to_owned()),
            (&["skills", "0", "id"], r#""run""#.to_owned()),
        ];
        for (path, expected) in rows {
            assert_eq!(at(&card, path).compact(), *expected, "{path:?}");
        }
        assert_eq!(at(&card, &["skills"]).as_array().map(<[_]>::len), Some(1));
        let silent = public(Agent { push: false, ..ABOUT }, Version::V03);
        assert_eq!(at(&silent, &["capabilities", "pushNotifications"]), &Value::Bool(false));
    }

    #[test]
    fn a_reader_of_1_0_finds_only_what_1_0_knows() {
        let names = |card: &Value| card.as_object().unwrap().keys().map(str::to_owned).collect::<Vec<_>>();
        let older =
            ["url", "preferredTransport", "protocolVersion", "supportsAuthenticatedExtendedCard", "security"];
        let new = public(ABOUT, Version::V10);
        let both = public(ABOUT, Version::V03);
        let mut left = names(&both);
        left.retain(|name| !older.contains(&name.as_str()));
        assert_eq!(names(&new), left);
        assert_eq!(names(&both).len(), left.len() + older.len());
        for name in left.iter().filter(|name| *name != "securitySchemes") {
            assert_eq!(at(&new, &[name]), at(&both, &[name]), "{name}");
        }
        let scheme = r#"{"httpAuthSecurityScheme":{"scheme":"Bearer"}}"#;
        assert_eq!(at(&new, &["securitySchemes", "bearer"]).compact(), scheme);
    }

    #[test]
    fn members_that_a_card_must_have_are_there_and_not_empty() {
        let card = public(ABOUT, Version::V03);
        for name in [
            "name",
            "description",
            "version",
            "supportedInterfaces",
            "capabilities",
            "defaultInputModes",
            "defaultOutputModes",
            "skills",
            "url",
        ] {
            assert!(
                !matches!(at(&card, &[name]).compact().as_str(), "\"\"" | "[]" | "{}" | "null"),
                "{name}"
            );
        }
        for name in ["id", "name", "description", "tags"] {
            assert!(!matches!(at(&card, &["skills", "0", name]).compact().as_str(), "\"\"" | "[]"), "{name}");
        }
    }

    fn flow(id: &str, input_modes: &[&str]) -> Skill {
        Skill {
            id: id.to_owned(),
            name: "Repair until the tests pass".to_owned(),
            description: "Repairs.".to_owned(),
            tags: vec!["flow".to_owned()],
            input_modes: input_modes.iter().map(|mode| (*mode).to_owned()).collect(),
        }
    }

    #[test]
    fn only_the_extended_card_names_flows() {
        let skills = [flow("fix-until-green", &["application/json"]), flow("b", &[])];
        let card = extended(ABOUT, Version::V03, skills.to_vec());
        assert_eq!(
            at(&card, &["skills"]).compact(),
            concat!(
                r#"[{"id":"fix-until-green","name":"Repair until the tests pass","description":"Repairs.","#,
                r#""tags":["flow"],"inputModes":["application/json"]},"#,
                r#"{"id":"b","name":"Repair until the tests pass","description":"Repairs.","tags":["flow"]}]"#
            )
        );
        let names = |card: &Value| card.as_object().unwrap().keys().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(names(&card), names(&public(ABOUT, Version::V03)));
        assert!(!public(ABOUT, Version::V03).compact().contains("fix-until-green"));
        assert_eq!(extended(ABOUT, Version::V03, Vec::new()), public(ABOUT, Version::V03));
    }

    #[test]
    fn a_media_type_is_taken_if_the_card_says_so() {
        for taken in
            ["text/plain", "Text/Plain; charset=utf-8", " application/json ", "image/png", "application/pdf"]
        {
            assert!(takes(taken), "{taken}");
        }
        for other in
            ["", "text", "text/*", "image/", "video/mp4", "application/x-unsupported", "text/plainer"]
        {
            assert!(!takes(other), "{other}");
        }
    }

    #[test]
    fn cards_are_distinguished_by_their_bytes() {
        let since = Timestamp::parse("1994-11-06T08:49:37.999Z").unwrap();
        let served = ServedCard::new(&public(ABOUT, Version::V03), since);
        assert_eq!(served, ServedCard::new(&public(ABOUT, Version::V03), since));
        assert_eq!(served.last_modified, "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(served.etag, format!("\"{}\"", Digest::of(served.body.as_bytes()).hex()));
        assert_eq!(served.cache_control, "public, max-age=300");
        let other = ServedCard::new(&public(Agent { push: false, ..ABOUT }, Version::V03), since);
        assert_ne!(served.etag, other.etag);

        let tag = served.etag.as_str();
        let date = served.last_modified.as_str();
        let weak = format!("W/{tag}");
        let several = format!("\"x\", {tag}");
        let rows = [
            (None, None, false),
            (Some(tag), None, true),
            (Some(weak.as_str()), None, true),
            (Some(several.as_str()), None, true),
            (Some("*"), None, true),
            (Some("\"x\""), None, false),
            (Some(other.etag.as_str()), Some(date), false),
            (None, Some(date), true),
            (None, Some("Sun, 06 Nov 1994 08:49:38 GMT"), false),
            (None, Some("yesterday"), false),
        ];
        for (if_none_match, if_modified_since, known) in rows {
            assert_eq!(served.is_known(if_none_match, if_modified_since), known, "{if_none_match:?}");
        }
    }

    #[test]
    fn dates_of_http_have_their_day_of_the_week() {
        let rows = [
            ("1970-01-01T00:00:00Z", "Thu, 01 Jan 1970 00:00:00 GMT"),
            ("1969-12-31T23:59:59Z", "Thu, 01 Jan 1970 00:00:00 GMT"),
            ("9999-12-31T23:59:59Z", "Fri, 31 Dec 9999 23:59:59 GMT"),
            ("2000-02-29T12:00:00Z", "Tue, 29 Feb 2000 12:00:00 GMT"),
            ("2026-11-22T08:00:00Z", "Sun, 22 Nov 2026 08:00:00 GMT"),
        ];
        for (at, expected) in rows {
            assert_eq!(http_date(Timestamp::parse(at).unwrap()), expected);
        }
    }
}
