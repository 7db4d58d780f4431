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

/// The reason why a document is not JSON, as the end of a sentence.
///
/// The message quotes a part of the document. It is therefore made from the masked document: a secret that is cut in
/// half would not be masked.
pub(crate) fn no_json(document: &[u8], mask: &dyn Mask) -> String {
    match Value::parse_str(&mask.text(&String::from_utf8_lossy(document))) {
        Err(error) => format!(": {error}"),
        // The document is not UTF-8, or the error is inside a secret.
        Ok(_) => String::new(),
    }
}

/// The mask for attempts whose secrets can no longer be read: it replaces every text completely.
pub struct Everything;

/// The text that replaces everything.
const LEFT_OUT: &str = "(left out: a secret cannot be had, so what the agent says cannot be masked)";

impl Mask for Everything {
    fn text(&self, _: &str) -> String {
        LEFT_OUT.to_owned()
    }

    fn value(&self, _: &Value) -> Value {
        Value::from(LEFT_OUT)
    }
}
