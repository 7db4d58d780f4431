//! Masking of secrets in the agent's words, before they are written to a file.
//!
//! How a secret is found is not decided here: the program that calls [`crate::run`] passes a [`Mask`].

use envoi_contract::json::Value;

/// Finds the secrets of a flow.
pub trait Mask: Send + Sync {
    /// The text, masked.
    fn text(&self, text: &str) -> String;

    /// The value, masked. It keeps its JSON type where that is possible.
    fn value(&self, value: &Value) -> Value;

    /// Whether the text contains a secret.
    fn is_in(&self, text: &str) -> bool {
        self.text(text) != text
    }
}

/// Why a document is no JSON, as the end of a sentence. The message shows a piece of the document. It is made from the masked document,
/// because the masker does not find half a secret.
pub(crate) fn no_json(document: &[u8], mask: &dyn Mask) -> String {
    match Value::parse_str(&mask.text(&String::from_utf8_lossy(document))) {
        Err(error) => format!(": {error}"),
        // It is no UTF-8, or a secret stands where it is wrong.
        Ok(_) => String::new(),
    }
}

/// For attempts whose secrets cannot be read any more: it masks every text completely.
pub struct Everything;

/// Replaces the whole text.
const LEFT_OUT: &str = "(left out: a secret cannot be had, so what the agent says cannot be masked)";

impl Mask for Everything {
    fn text(&self, _: &str) -> String {
        LEFT_OUT.to_owned()
    }

    fn value(&self, _: &Value) -> Value {
        Value::from(LEFT_OUT)
    }
}
