//! Masks parsed JSON: its strings, the names of its members, and its numbers.
//!
//! The parsed document is masked, not its bytes: a number becomes a string, two names that become equal get
//! different numbers, and the result is still a valid document.

use super::{Secrets, ordinary::is_reshaped, pattern::Pattern};
use envoi_contract::json::{Object, Value};

/// A masked document.
pub(crate) struct Document {
    pub(crate) bytes: Vec<u8>,
    /// Masking has changed more than the content of strings: a name, a number, a literal or a sign of JSON.
    pub(crate) reshaped: bool,
}

impl Secrets {
    /// The masked value. The order of members stays.
    #[must_use]
    pub fn mask_value(&self, value: &Value) -> Value {
        if self.is_empty() {
            return value.clone();
        }
        match value {
            Value::Null | Value::Bool(_) => value.clone(),
            Value::Number(number) if self.stand_in(number.as_str().as_bytes()) => {
                Value::String(self.mask_str(number.as_str()))
            }
            Value::Number(_) => value.clone(),
            Value::String(text) => Value::String(self.mask_str(text)),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.mask_value(item)).collect()),
            Value::Object(members) => {
                let mut masked = Object::default();
                for (name, value) in members {
                    let name = free(self.mask_str(name), members, &masked, name);
                    masked.insert(name, self.mask_value(value));
                }
                Value::Object(masked)
            }
        }
    }

    /// Masks a JSON document, or the bytes if it is not JSON. Returns the same bytes if it contains no
    /// secret.
    pub(crate) fn mask_document(&self, document: Vec<u8>) -> Document {
        let (bytes, hits) = self.mask_bytes(&document);
        // An escape may be part of another encoding (`\u0025` of `%2F`), which is found only in the parsed
        // value.
        if hits == 0 && !document.contains(&b'\\') {
            return Document { bytes: document, reshaped: false };
        }
        let Ok(original) = Value::parse(&document) else { return Document { bytes, reshaped: false } };
        let value = self.mask_value(&original);
        if hits == 0 && value == original {
            return Document { bytes: document, reshaped: false };
        }
        // Keep the writer's layout if masking the bytes has the same result.
        let bytes = match Value::parse(&bytes) {
            Ok(masked) if masked == value => bytes,
            _ => self.pieces_of_json().mask_bytes(value.compact().as_bytes()).0,
        };
        let reshaped = Value::parse(&bytes).map_or(true, |masked| is_reshaped(&original, &masked));
        Document { bytes, reshaped }
    }

    /// The secrets that may span several values because they are pieces of JSON. Masking them breaks the
    /// document. The other secrets are no longer in it, and its escapes (`\\`) could be mistaken for the end
    /// of one.
    fn pieces_of_json(&self) -> Self {
        let texts = self.patterns.iter().map(Pattern::text);
        let is_piece = |text: &&str| {
            text.contains(['"', ',', ':', '[', ']', '{', '}']) || ["true", "false", "null"].contains(text)
        };
        Self::new(&texts.filter(is_piece).map(str::to_owned).collect::<Vec<_>>())
    }
}

/// The masked name of a member, with a number if another member has the same name.
fn free(name: String, all: &Object, masked: &Object, original: &str) -> String {
    let is_free = |name: &str| name == original || !(all.contains_key(name) || masked.contains_key(name));
    if is_free(&name) {
        return name;
    }
    let mut numbered = (2_u64..).map(|number| format!("{name} {number}"));
    numbered.find(|name| is_free(name)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::Secrets;

    #[test]
    fn a_masked_document_is_still_one() {
        let secrets = ["hunter2/é", "12345678", "back\\", "true"].map(str::to_owned);
        let secrets = Secrets::new(&secrets);
        let rows = [
            (r#"{"ok": true, "a": 1}"#, r#"{"ok":***,"a":1}"#),
            (r#"{"ok": false, "a": "x hunter2\/\u00E9 y"}"#, r#"{"ok": false, "a": "x *** y"}"#),
            (r#"{"n": 12345678, "m": -12345678.5}"#, r#"{"n":"***","m":"-***.5"}"#),
            (r#"{"hunter2/é": 1, "hunter2\/é": 2}"#, r#"{"***": 1, "***": 2}"#),
            (r#"{"hunter2/é": 1, "12345678": 2, "***": 3}"#, r#"{"*** 2":1,"*** 3":2,"***":3}"#),
            (r#"{"a": "x hunter2\u00252F\u00E9 y"}"#, r#"{"a":"x *** y"}"#),
            (r#"{"a": "x hunter\u002e y"}"#, r#"{"a": "x hunter\u002e y"}"#),
            (r#"{"a": "back\"slash"}"#, r#"{"a":"back\"slash"}"#),
            (r#"{"a": "back\\"}"#, r#"{"a": "***"}"#),
            (r#"not JSON: hunter2/é"#, r#"not JSON: ***"#),
        ];
        for (document, expected) in rows {
            let masked = secrets.mask_document(document.as_bytes().to_vec()).bytes;
            assert_eq!(String::from_utf8(masked).unwrap(), expected, "{document}");
        }
    }
}
