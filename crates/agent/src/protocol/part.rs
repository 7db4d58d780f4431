//! A piece of content in a message, a status or an artifact, in either version of the protocol.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use envoi_contract::json::Value;

/// A piece of content, with its file name where it has one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    Text(String, Option<String>),
    Data(Value, Option<String>),
    Bytes(Vec<u8>, Option<String>),
    /// Content at another address.
    Link(String, Option<String>),
}

impl Part {
    /// `None` if it is none of these; a part that is not understood does not matter for the others.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let file = value.get("file").unwrap_or(value);
        let name = string(file, "filename").or_else(|| string(file, "name")).filter(|name| !name.is_empty());
        if let Some(text) = string(value, "text") {
            return Some(Self::Text(text, name));
        }
        if let Some(data) = value.get("data") {
            // 0.3 allows only objects there. The SDKs wrap any other value in an object and mark that in the metadata.
            let is_wrapped =
                value.get("metadata").and_then(|metadata| metadata.get("data_part_compat")?.as_bool());
            let data = data.get("value").filter(|_| is_wrapped == Some(true)).unwrap_or(data);
            return Some(Self::Data(data.clone(), name));
        }
        if let Some(bytes) = string(file, "raw").or_else(|| string(file, "bytes")) {
            return Some(Self::Bytes(STANDARD.decode(bytes).ok()?, name));
        }
        let link = string(file, "url").or_else(|| string(file, "uri"))?;
        Some(Self::Link(link, name))
    }

    /// The object of a data part.
    pub(crate) fn object(&self) -> Option<&Value> {
        match self {
            Self::Data(value @ Value::Object(_), _) => Some(value),
            Self::Data(..) | Self::Text(..) | Self::Bytes(..) | Self::Link(..) => None,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text, _) => Some(text),
            Self::Data(..) | Self::Bytes(..) | Self::Link(..) => None,
        }
    }
}

/// The parts of a message or an artifact.
pub(crate) fn parts(of: &Value) -> Vec<Part> {
    list(of, "parts").iter().filter_map(Part::read).collect()
}

/// The text parts, one after the other.
pub(crate) fn text(parts: &[Part]) -> String {
    parts.iter().filter_map(Part::text).collect::<Vec<_>>().join("\n")
}

/// The text of a member.
pub(super) fn string(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// The items of a member that is a list; none if it is no list.
pub(super) fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_0_3_has_wrapped_is_unwrapped() {
        for (metadata, data) in [
            (r#","metadata":{"data_part_compat":true}"#, "[1]"),
            (r#","metadata":{"data_part_compat":false}"#, r#"{"value":[1]}"#),
            ("", r#"{"value":[1]}"#),
        ] {
            let text = format!(r#"{{"kind":"data","data":{{"value":[1]}}{metadata}}}"#);
            let expected = Part::Data(Value::parse_str(data).unwrap(), None);
            assert_eq!(Part::read(&Value::parse_str(&text).unwrap()), Some(expected), "{text}");
        }
    }
}
