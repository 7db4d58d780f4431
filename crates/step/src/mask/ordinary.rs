//! Values that do not look like secrets: masking them changes unrelated documents.

use super::{MIN_SECRET_BYTES, Secrets};
use envoi_contract::json::Value;

/// Words of JSON, names of members that every report and hand-off may have, and their usual values.
const WORDS: &[&str] = &[
    "true",
    "false",
    "null",
    "data",
    "error",
    "code",
    "message",
    "metrics",
    "generatedAt",
    "skillName",
    "status",
    "summary",
    "name",
    "type",
    "value",
    "text",
    "path",
    "succeeded",
    "failed",
    "VERIFIED",
    "UNVERIFIED",
];

impl Secrets {
    /// Whether this value of a secret is a word or a sign of JSON, a word of a report, or a number. False for
    /// a value that is too short to be masked, because it changes nothing.
    #[must_use]
    pub fn is_common(value: &str) -> bool {
        let signs = |c: char| c.is_whitespace() || "{}[]\":,".contains(c);
        let is_number = || matches!(Value::parse_str(value), Ok(Value::Number(_)));
        value.len() >= MIN_SECRET_BYTES && (WORDS.contains(&value) || value.chars().all(signs) || is_number())
    }
}

/// Whether masking has changed more of a document than the content of its strings.
pub(super) fn is_reshaped(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::String(_), Value::String(_)) => false,
        (Value::Array(before), Value::Array(after)) => {
            before.len() != after.len()
                || before.iter().zip(after).any(|(before, after)| is_reshaped(before, after))
        }
        (Value::Object(before), Value::Object(after)) => {
            let mut pairs = before.iter().zip(after);
            let differs =
                pairs.any(|((name, before), (masked, after))| name != masked || is_reshaped(before, after));
            before.len() != after.len() || differs
        }
        (before, after) => before != after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_signs_of_json_and_numbers_are_common_and_random_values_are_not() {
        for value in [
            "true",
            "null",
            "data",
            "generatedAt",
            "UNVERIFIED",
            "12345",
            "-1.5e3",
            "\": \"",
            "{\"\":",
            " }]}",
        ] {
            assert!(Secrets::is_common(value), "{value:?}");
        }
        for value in ["", "1", "{", "ok", "True", "datas", "12345a", "hunter22", "{\"a\":1}", "0x1234"] {
            assert!(!Secrets::is_common(value), "{value:?}");
        }
    }

    #[test]
    fn a_document_is_another_one_when_more_than_its_strings_has_changed() {
        for (secret, document, reshaped) in [
            ("true", r#"{"ok": true}"#, true),
            ("null", r#"{"a": [null]}"#, true),
            ("data", r#"{"data": 1}"#, true),
            ("data", r#"{"a": [{"some data": 1}]}"#, true),
            ("12345", r#"{"a": 12345}"#, true),
            ("\":[{", r#"{"a":[{}]}"#, true),
            ("\": \"", r#"{"a": "b"}"#, false),
            ("true", r#"{"ok": false, "a": "true"}"#, false),
            ("data", r#"{"ok": true, "a": ["data", "b"]}"#, false),
            ("12345", r#"{"a": "12345"}"#, false),
            ("data", "data, and no JSON", false),
            ("none of it", r#"{"data": true}"#, false),
        ] {
            let secrets = Secrets::new(&[secret.to_owned()]);
            let masked = secrets.mask_document(document.as_bytes().to_vec());
            assert_eq!(masked.reshaped, reshaped, "{secret} in {document}");
        }
    }
}
