//! Reads the parts of a message, a status or an artifact.

use envoi_a2a::model::{Content, Part};
use envoi_contract::json::Value;

/// The object of a data part.
pub(crate) fn object(part: &Part) -> Option<&Value> {
    match &part.content {
        Content::Data(value @ Value::Object(_)) => Some(value),
        Content::Data(_) | Content::Text(_) | Content::Raw(_) | Content::Url(_) => None,
    }
}

/// The text parts, joined by line breaks.
pub(crate) fn text(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match &part.content {
        Content::Text(text) => Some(text.as_str()),
        Content::Data(_) | Content::Raw(_) | Content::Url(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
