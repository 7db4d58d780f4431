//! A reference to a file: the artifact, its revision, and the digest of its bytes.

use alloc::string::String;

use super::{INVALID_USER_ENVELOPE, refuse_unknown};
use crate::decode::Fields;
use crate::error::Diagnostic;
use crate::json::{Object, Value};
use crate::vocabulary::vocabulary;

vocabulary! {
    /// The origin of a file.
    OriginKind {
        /// Uploaded by a person.
        Upload = "upload",
        /// Attached to a mail.
        EmailAttachment = "email_attachment",
        /// Made by an agent.
        AgentGenerated = "agent_generated",
        /// Stored elsewhere.
        ExternalLink = "external_link",
        /// Generated at each access.
        LiveGenerator = "live_generator",
    }
}

/// A reference to a file. It proves nothing: the resolver takes size and type from the store and compares the
/// digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachmentRef {
    /// The id of the artifact. Not empty.
    pub artifact_id: String,
    /// The id of its revision. Not empty.
    pub representation_revision_id: String,
    /// The digest of the bytes. Not empty.
    pub digest: String,
    /// The media type. Not empty.
    pub mime: String,
    /// The origin.
    pub origin_kind: OriginKind,
    /// A title for people; may be empty.
    pub title: Option<String>,
    /// A file name; may be empty.
    pub filename: Option<String>,
    /// The size in bytes, at most 2^53 - 1.
    pub size: Option<u64>,
}

impl AttachmentRef {
    /// Reads a reference. Null is not the same as absent, and unknown members are refused.
    ///
    /// # Errors
    /// `INVALID_USER_ENVELOPE` with the member.
    pub fn decode(value: &Value) -> Result<AttachmentRef, Diagnostic> {
        let mut fields = Fields::of(value, INVALID_USER_ENVELOPE)?;
        let reference = AttachmentRef {
            artifact_id: named(&mut fields, "artifactId")?,
            representation_revision_id: named(&mut fields, "representationRevisionId")?,
            digest: named(&mut fields, "digest")?,
            mime: named(&mut fields, "mime")?,
            origin_kind: origin(&mut fields)?,
            title: optional(&mut fields, "title")?,
            filename: optional(&mut fields, "filename")?,
            size: size(&mut fields)?,
        };
        refuse_unknown(fields)?;
        Ok(reference)
    }

    /// The reference as JSON, without absent members.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut members = Object::from([
            ("artifactId", Value::from(self.artifact_id.as_str())),
            ("representationRevisionId", Value::from(self.representation_revision_id.as_str())),
            ("digest", Value::from(self.digest.as_str())),
            ("mime", Value::from(self.mime.as_str())),
            ("originKind", Value::from(self.origin_kind.word())),
        ]);
        let title = self.title.as_deref().map(Value::from);
        let filename = self.filename.as_deref().map(Value::from);
        for (name, value) in [("title", title), ("filename", filename), ("size", self.size.map(Value::from))]
        {
            if let Some(value) = value {
                members.insert(name, value);
            }
        }
        Value::Object(members)
    }
}

/// A required string that is not empty.
fn named(fields: &mut Fields, name: &str) -> Result<String, Diagnostic> {
    let text = fields.required_string(name)?;
    if text.is_empty() {
        return Err(fields.wrong(name, "a string that is not empty", &Value::from("")));
    }
    Ok(text)
}

fn origin(fields: &mut Fields) -> Result<OriginKind, Diagnostic> {
    let word = fields.required_string("originKind")?;
    OriginKind::parse(&word).ok_or_else(|| {
        let expected = "upload, email_attachment, agent_generated, external_link or live_generator";
        fields.wrong("originKind", expected, &Value::from(word))
    })
}

/// A string; `None` if absent. Null is refused.
fn optional(fields: &mut Fields, name: &str) -> Result<Option<String>, Diagnostic> {
    match fields.take(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(fields.wrong(name, "a string", &other)),
    }
}

fn size(fields: &mut Fields) -> Result<Option<u64>, Diagnostic> {
    let Some(value) = fields.take("size") else { return Ok(None) };
    let size = value.as_u53();
    size.map(Some).ok_or_else(|| fields.wrong("size", "an integer from 0 to 9007199254740991", &value))
}
