//! Masking of secrets in what an agent says, before it is written down.
//!
//! Does not know how a secret is found: the program that calls [`crate::run`] brings that along.

use envoi_contract::json::Value;

/// Finds the secrets of a flow.
pub trait Mask: Send + Sync {
    /// The text, masked.
    fn text(&self, text: &str) -> String;

    /// The value, masked; it stays a value of its kind as far as it can.
    fn value(&self, value: &Value) -> Value;

    /// Whether a secret stands in the text.
    fn is_in(&self, text: &str) -> bool {
        self.text(text) != text
    }
}

/// For attempts of which a secret cannot be had any more: nothing that an agent says is written down.
pub struct Everything;

/// What stands in place of it.
const LEFT_OUT: &str = "(left out: a secret cannot be had, so what the agent says cannot be masked)";

impl Mask for Everything {
    fn text(&self, _: &str) -> String {
        LEFT_OUT.to_owned()
    }

    fn value(&self, _: &Value) -> Value {
        Value::from(LEFT_OUT)
    }
}
