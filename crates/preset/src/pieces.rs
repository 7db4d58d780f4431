//! Events that contain a piece of a text. A program that writes while its model does may cut a text anywhere, even
//! within a secret.

use crate::member::text;
use envoi_contract::json::Value;

/// The location of a piece in such an event: its `type`, and the path of members.
const PLACES: [(&str, &[&str]); 4] = [
    // The Gemini CLI.
    ("message", &["content"]),
    // Claude Code with `--include-partial-messages`.
    ("stream_event", &["event", "delta", "text"]),
    ("stream_event", &["event", "delta", "thinking"]),
    ("stream_event", &["event", "delta", "partial_json"]),
];

/// The piece in an event, and its path.
fn piece_in(event: &Value) -> Option<(&'static [&'static str], &str)> {
    let kind = text(event, &["type"])?;
    let is_piece = kind != "message" || event.get("delta").and_then(Value::as_bool) == Some(true);
    let mut places = PLACES.iter().filter(|(of, _)| *of == kind && is_piece);
    places.find_map(|(_, place)| Some((*place, text(event, place)?)))
}

/// The piece in an event.
pub(crate) fn piece(event: &Value) -> Option<&str> {
    piece_in(event).map(|(_, piece)| piece)
}

/// Returns a copy of the event in which `whole` replaces the piece.
#[must_use]
pub fn with_whole_text(event: &str, whole: &str) -> String {
    let Ok(mut event) = Value::parse_str(event) else { return whole.to_owned() };
    let place = piece_in(&event).map(|(place, _)| place).unwrap_or_default();
    let mut at = Some(&mut event);
    for name in place {
        at = match at {
            Some(Value::Object(members)) => members.get_mut(name),
            _ => None,
        };
    }
    if let Some(found) = at {
        *found = Value::from(whole);
    }
    event.compact()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_found_and_replaced_where_programs_write_it() {
        for (event, expected, whole) in [
            (
                r#"{"type":"message","role":"assistant","content":"Hel","delta":true}"#,
                Some("Hel"),
                r#"{"type":"message","role":"assistant","content":"Hello.","delta":true}"#,
            ),
            (
                r#"{"type":"stream_event","event":{"delta":{"type":"text_delta","text":"Hel"}},"n":1}"#,
                Some("Hel"),
                r#"{"type":"stream_event","event":{"delta":{"type":"text_delta","text":"Hello."}},"n":1}"#,
            ),
            (
                r#"{"type":"stream_event","event":{"delta":{"partial_json":"{\"a"}}}"#,
                Some("{\"a"),
                r#"{"type":"stream_event","event":{"delta":{"partial_json":"Hello."}}}"#,
            ),
            (r#"{"type":"message","role":"user","content":"Hel"}"#, None, ""),
            (r#"{"type":"stream_event","event":{"type":"message_stop"}}"#, None, ""),
        ] {
            assert_eq!(piece(&Value::parse_str(event).unwrap()), expected, "{event}");
            if expected.is_some() {
                assert_eq!(with_whole_text(event, "Hello."), whole);
            }
        }
    }
}
