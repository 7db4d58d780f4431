//! The answer of a person, as a message to the agent.

use crate::{files::log, input::order::Order, protocol::message::Message};
use envoi_a2a::extension::USER_ENVELOPE;
use envoi_contract::{json::Value, user_envelope};
use std::{io, path::Path};

/// Largest answer file that is read. An envelope is smaller.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The text of an answer without words.
const WORDLESS: &str = "[Answered by operator]";

/// Sets text and data of the message from the answer in the order.
pub(crate) fn fill(
    order: &Order,
    path: &Path,
    takes_envelope: bool,
    message: &mut Message,
) -> io::Result<()> {
    let content = envoi_durable::read_regular(path, MAX_BYTES)?;
    let answer = Value::parse(&content).map_err(|error| io::Error::other(error.to_string()))?;
    let text = answer.get("text").and_then(Value::as_str).unwrap_or("");
    let attachments = answer.get("attachments").and_then(Value::as_array).unwrap_or(&[]);
    message.data = answer.get("data").filter(|data| !data.is_null()).cloned();
    message.text = Some(text.to_owned()).filter(|text| text != WORDLESS || message.data.is_none());
    if attachments.is_empty() {
        return Ok(());
    }
    if !takes_envelope {
        let files = attachments.len();
        log::print(&format!("the agent at {} takes no files with an answer; {files} left out", order.url));
        return Ok(());
    }
    let wrapped =
        user_envelope::wrap(text, attachments).map_err(|refusal| io::Error::other(refusal.reason))?;
    log::print(&format!("the answer goes as {USER_ENVELOPE}"));
    message.text = Some(wrapped.payload);
    message.envelope = wrapped.enveloped;
    Ok(())
}
