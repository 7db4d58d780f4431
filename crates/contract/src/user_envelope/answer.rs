//! The text of an answer that a person submits.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

use crate::envelope::InterruptKind;
use crate::json::Value;

/// The answer to a question is blank, so the question stays open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlankAnswer;

impl fmt::Display for BlankAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a question needs an answer that is not blank")
    }
}

impl core::error::Error for BlankAnswer {}

/// The text to send for the submitted `values`: `userResponse` unchanged, else `approvalNote` trimmed, else
/// `[Denied by operator]` for `{"approved": false}`, else `[Approved by operator]`. Blank texts and values that are
/// not strings are skipped.
///
/// # Errors
/// [`BlankAnswer`] if `kind` is a clarification and no text is submitted: an approval does not answer a question.
pub fn answer_text(values: &Value, kind: InterruptKind) -> Result<String, BlankAnswer> {
    let words = |name| values.get(name).and_then(Value::as_str).filter(|text| !text.trim_ascii().is_empty());
    if let Some(response) = words("userResponse") {
        return Ok(response.to_owned());
    }
    if let Some(note) = words("approvalNote") {
        return Ok(note.trim_ascii().to_owned());
    }
    if kind == InterruptKind::Clarification {
        return Err(BlankAnswer);
    }
    let denied = values.get("approved").and_then(Value::as_bool) == Some(false);
    Ok(if denied { "[Denied by operator]" } else { "[Approved by operator]" }.to_owned())
}
