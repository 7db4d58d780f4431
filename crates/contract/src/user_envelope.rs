//! A person's answer with files, through a channel that carries only text (contract 5).
//!
//! Owns the parser of such an envelope, the text of an answer, and the function that wraps an answer. After the
//! opt-in it never falls back to plain text. It does not resolve attachments, because the text does not contain their
//! owner.
//!
//! ```
//! use envoi_contract::user_envelope::parse;
//!
//! let raw = r#"{"text": "Approved with edits."}"#;
//! assert_eq!(parse(raw, true, &[]).map(|answer| answer.text).as_deref(), Ok("Approved with edits."));
//! assert_eq!(parse(raw, false, &[]).map(|answer| answer.text).as_deref(), Ok(raw));
//! assert!(parse("Approved.", true, &[]).is_err());
//! ```

mod answer;
mod attachment;

#[cfg(test)]
mod tests;

use crate::code::Code;
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

pub use answer::{BlankAnswer, answer_text};
pub use attachment::{AttachmentRef, OriginKind};

use crate::decode::Fields;
use crate::error::Diagnostic;
use crate::json::{Object, Value};

/// Code of a refused user envelope.
pub const INVALID_USER_ENVELOPE: Code = Code::InvalidUserEnvelope;

/// The A2A extension that signals the opt-in.
pub const EXTENSION_URI: &str = "urn:envoi:a2a:user-envelope:v1";

/// The largest number of attachments of an answer, from all sources together.
pub const MAX_ATTACHMENTS: usize = 20;

/// An answer: its text and its files. Source: seed 4, CONTRACTS 5; schema `user-envelope`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserEnvelope {
    /// The text for the model.
    pub text: String,
    /// References to files; at most 20. Empty means absent.
    pub attachments: Vec<AttachmentRef>,
}

impl UserEnvelope {
    /// The answer as JSON: `text`, then `attachments` if there are any.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut members = Object::from([("text", Value::from(self.text.as_str()))]);
        if !self.attachments.is_empty() {
            let attachments: Vec<Value> = self.attachments.iter().map(AttachmentRef::to_value).collect();
            members.insert("attachments", Value::from(attachments));
        }
        Value::Object(members)
    }
}

/// The reason why an envelope is refused. Nothing of it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason for callers: one of three fixed beginnings, then the details.
    pub reason: String,
    /// The location in the text, if there is one.
    pub diagnostic: Option<Box<Diagnostic>>,
}

impl Refusal {
    /// `INVALID_USER_ENVELOPE`.
    #[must_use]
    pub const fn code(&self) -> Code {
        INVALID_USER_ENVELOPE
    }

    fn because(beginning: &str, diagnostic: Diagnostic) -> Refusal {
        let Diagnostic { pointer, line, column, expected, found, .. } = &diagnostic;
        let mut reason = format!("{beginning}: expected {expected}, found {found}");
        if !pointer.is_empty() {
            reason.push_str(&format!(" at `{pointer}`"));
        }
        if let (Some(line), Some(column)) = (line, column) {
            reason.push_str(&format!(" (line {line}, column {column})"));
        }
        Refusal { reason, diagnostic: Some(Box::new(diagnostic)) }
    }

    fn too_many(in_envelope: usize, in_body: usize) -> Refusal {
        let total = in_envelope + in_body;
        let reason = format!(
            "merged attachments exceed the 20-ref total (envelope {in_envelope} + body {in_body} = {total})"
        );
        Refusal { reason, diagnostic: None }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{INVALID_USER_ENVELOPE}: {}", self.reason)
    }
}

impl core::error::Error for Refusal {}

/// Parses an answer.
///
/// If `enabled` is false, the text is `raw`, byte for byte. If it is true, `raw` must be
/// `{"text": …, "attachments"?: […]}` and nothing else. The attachments are the envelope's, then those of
/// `top_level`.
///
/// # Errors
/// [`Refusal`] if the opted-in text is not JSON or not the envelope, or if there are more than 20 attachments in
/// either source or in total.
pub fn parse(raw: &str, enabled: bool, top_level: &[AttachmentRef]) -> Result<UserEnvelope, Refusal> {
    let mut answer =
        if enabled { opted_in(raw)? } else { UserEnvelope { text: raw.to_owned(), attachments: Vec::new() } };
    let in_envelope = answer.attachments.len();
    if in_envelope + top_level.len() > MAX_ATTACHMENTS {
        return Err(Refusal::too_many(in_envelope, top_level.len()));
    }
    answer.attachments.extend_from_slice(top_level);
    Ok(answer)
}

fn opted_in(raw: &str) -> Result<UserEnvelope, Refusal> {
    let value = Value::parse_str(raw).map_err(|error| {
        let beginning = "user_envelope=true but body.user is not valid JSON";
        Refusal::because(beginning, Diagnostic::of_json(INVALID_USER_ENVELOPE, error))
    })?;
    decode(&value).map_err(|refusal| {
        let beginning = "user_envelope=true but body.user does not match {text, attachments?}";
        Refusal::because(beginning, refusal.located(raw.as_bytes()))
    })
}

fn decode(value: &Value) -> Result<UserEnvelope, Diagnostic> {
    let mut fields = Fields::of(value, INVALID_USER_ENVELOPE)?;
    let text = fields.required_string("text")?;
    let attachments = match fields.take("attachments") {
        None => Vec::new(),
        Some(Value::Array(refs)) if refs.len() <= MAX_ATTACHMENTS => refs
            .iter()
            .enumerate()
            .map(|(index, value)| nth_reference(index, value))
            .collect::<Result<_, _>>()?,
        Some(Value::Array(refs)) => {
            let found = format!("{} of them", refs.len());
            return Err(Diagnostic::new(
                INVALID_USER_ENVELOPE,
                "/attachments",
                "at most 20 references",
                &found,
            ));
        }
        Some(other) => return Err(fields.wrong("attachments", "a list of references", &other)),
    };
    refuse_unknown(fields)?;
    Ok(UserEnvelope { text, attachments })
}

fn nth_reference(index: usize, value: &Value) -> Result<AttachmentRef, Diagnostic> {
    AttachmentRef::decode(value).map_err(|refusal| refusal.inside(&format!("/attachments/{index}")))
}

/// Refuses unknown members, unlike the other envelopes.
fn refuse_unknown(fields: Fields) -> Result<(), Diagnostic> {
    match fields.rest().iter().next() {
        None => Ok(()),
        Some((name, _)) => {
            let pointer = format!("/{}", crate::json::escape_segment(name));
            let found = crate::quoted::shorten(name, 60);
            Err(Diagnostic::new(INVALID_USER_ENVELOPE, &pointer, "no further member", &found))
        }
    }
}

/// The result of [`wrap`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrapped {
    /// The content for the channel: the text alone, or the envelope as JSON.
    pub payload: String,
    /// True if it is an envelope; the opt-in must then be sent with it.
    pub enveloped: bool,
    /// The number of candidates that were dropped because they were not valid references.
    pub dropped: usize,
}

/// Wraps an answer for a text-only channel. Without a valid attachment it stays the text, byte for byte.
///
/// ```
/// use envoi_contract::json::Value;
/// use envoi_contract::user_envelope::wrap;
///
/// let file = Value::parse_str(
///     r#"{"artifactId": "art_1", "representationRevisionId": "rep_1", "digest": "sha256:0", "mime": "text/plain",
///         "originKind": "upload"}"#,
/// )?;
/// let wrapped = wrap("Approved.", &[file, Value::from("no reference")])?;
/// assert!(wrapped.enveloped && wrapped.payload.starts_with(r#"{"text":"Approved.","attachments":[{"#));
/// assert_eq!(wrapped.dropped, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Refusal`] if more than 20 attachments are valid, because the receiver would refuse them.
pub fn wrap(text: &str, candidates: &[Value]) -> Result<Wrapped, Refusal> {
    let attachments: Vec<AttachmentRef> =
        candidates.iter().filter_map(|candidate| AttachmentRef::decode(candidate).ok()).collect();
    let valid = attachments.len();
    let dropped = candidates.len() - valid;
    if valid > MAX_ATTACHMENTS {
        return Err(Refusal::too_many(valid, 0));
    }
    let enveloped = valid > 0;
    let text = text.to_owned();
    let payload = if enveloped { UserEnvelope { text, attachments }.to_value().compact() } else { text };
    Ok(Wrapped { payload, enveloped, dropped })
}
