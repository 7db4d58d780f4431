//! What a person answered, as the agent is told it.

use crate::{USER_ENVELOPE, call::Message, leave, order::Order};
use envoi_contract::{json::Value, user_envelope};
use std::{fs, io, path::Path};

/// What stands for the words of an answer that has none.
const WORDLESS: &str = "[Answered by operator]";

/// Fills in text and data of the message that passes on the answer of the order.
pub(crate) fn fill(
    order: &Order,
    path: &Path,
    takes_envelope: bool,
    message: &mut Message,
) -> io::Result<()> {
    let text = fs::read_to_string(path)?;
    let answer = Value::parse_str(&text).map_err(|error| io::Error::other(error.to_string()))?;
    let words = answer.get("text").and_then(Value::as_str).unwrap_or_default();
    let attachments = answer.get("attachments").and_then(Value::as_array).unwrap_or_default();
    message.data = answer.get("data").filter(|data| !data.is_null()).cloned();
    message.text = Some(words.to_owned()).filter(|words| words != WORDLESS || message.data.is_none());
    if attachments.is_empty() {
        return Ok(());
    }
    if !takes_envelope {
        let files = attachments.len();
        leave::say(&format!("the agent at {} takes no files with an answer; {files} left out", order.url));
        return Ok(());
    }
    let wrapped =
        user_envelope::wrap(words, attachments).map_err(|refusal| io::Error::other(refusal.reason))?;
    leave::say(&format!("the answer goes as {USER_ENVELOPE}"));
    (message.text, message.envelope) = (Some(wrapped.payload), wrapped.enveloped);
    Ok(())
}
