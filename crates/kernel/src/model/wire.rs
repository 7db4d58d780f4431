//! Messages to a run on another machine: an input, its slot, and the time of sending.
//!
//! The form is JSON on one line, with a version. It is made as events are ([`envoi_contract::stored::kept`]),
//! so that values of the contracts are preserved exactly. A reader accepts only what a writer of its version
//! writes. An unknown member, at any depth, would be lost silently, so the whole message is refused.
//!
//! A message is small. Large parts are content of the store; the message refers to them by digest, and the
//! reader fetches them. These are a text, a report or data of more than [`INLINE_BYTES`] that the store has,
//! and all records of the history of a fork.

use crate::model::{
    event::Record,
    files::Blob,
    input::{AttemptResult, Input, Slot},
};
use envoi_contract::{digest::Digest, stored, time::Timestamp};
use serde::{Deserialize, Serialize};

/// Version of the form. It grows with each change of a member and with each new member, because a reader
/// refuses unknown members.
const VERSION: u32 = 1;

/// Maximum size of a message. A reader refuses a larger one without parsing it.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Larger texts, reports and data are sent by digest, if the store has them.
pub const INLINE_BYTES: usize = 64 * 1024;

/// A message to a run on another machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The input of the run.
    pub input: Input,
    /// The slot for the decision.
    pub slot: Option<Slot>,
    /// When it was sent, by the sender's clock: the `now` of the decision.
    pub at: Timestamp,
}

/// A message in its written form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// JSON on one line.
    pub text: String,
    /// Content that the text refers to and that is not in the store yet. It must be stored before the text is
    /// sent.
    pub content: Option<Vec<u8>>,
}

/// Why a message cannot be sent or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Its text is too large.
    #[error("the message has {bytes} bytes; at most {MAX_BYTES} are taken")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It contains something that every reader would refuse.
    #[error("the message cannot be written: {reason}")]
    Unwritable {
        /// The error of the writer.
        reason: String,
    },
    /// It is not a valid message.
    #[error("the message cannot be read: {reason}")]
    Unreadable {
        /// The error of the reader, with its position.
        reason: String,
    },
    /// It has a later version.
    #[error(
        "the message is of version {version}; version {VERSION} is read: upgrade its reader before its sender"
    )]
    Version {
        /// The version.
        version: u32,
    },
    /// It differs from what this version writes.
    #[error("byte {at} of the message is not what version {VERSION} writes there: {found}")]
    Foreign {
        /// Offset of the first difference, from 0.
        at: usize,
        /// The text at that offset, shortened.
        found: String,
    },
    /// The store does not have content that it refers to, or not yet.
    #[error(
        "the content `{digest}` that the message names is not in the store: send the message again when it is"
    )]
    Missing {
        /// Digest of the content.
        digest: Digest,
    },
    /// The content in the store does not have the expected form.
    #[error("the content `{digest}` that the message names is not {expected}")]
    Content {
        /// Digest of the content.
        digest: Digest,
        /// The expected form.
        expected: &'static str,
    },
}

/// The JSON form of a message.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    version: u32,
    at: Timestamp,
    #[serde(default)]
    slot: Option<Slot>,
    input: Input,
    #[serde(default, skip_serializing_if = "ByDigest::is_empty")]
    by_digest: ByDigest,
}

/// Digests of the contents that the input omits.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ByDigest {
    #[serde(default)]
    text: Option<Digest>,
    #[serde(default)]
    report: Option<Digest>,
    #[serde(default)]
    data: Option<Digest>,
    #[serde(default)]
    lived: Option<Digest>,
}

impl ByDigest {
    fn is_empty(&self) -> bool {
        self.text.is_none() && self.report.is_none() && self.data.is_none() && self.lived.is_none()
    }
}

/// Used to read only the version of a text that may have another one.
#[derive(Deserialize)]
struct OfVersion {
    version: u32,
}

impl Message {
    /// Writes the message.
    ///
    /// # Errors
    /// [`Unfit::TooLarge`] and [`Unfit::Unwritable`]: every reader would refuse it.
    pub fn written(mut self) -> Result<Written, Unfit> {
        let mut by_digest = ByDigest::default();
        let mut content = None;
        match &mut self.input {
            Input::Settled(result) => leave_out(result, &mut by_digest),
            Input::Fork(fork) => {
                let lived = records_text(&core::mem::take(&mut fork.lived))?;
                by_digest.lived = Some(Digest::of(&lived));
                content = Some(lived);
            }
            _ => {}
        }
        let text = Text { version: VERSION, at: self.at, slot: self.slot, input: self.input, by_digest };
        text.written().map(|text| Written { text, content })
    }

    /// Reads a message from its text. `content` returns the content of the store with a digest.
    ///
    /// # Errors
    /// [`Unfit`] describes the fault in the text or the store. After [`Unfit::Missing`], a later try may
    /// succeed.
    pub fn read(text: &str, mut content: impl FnMut(&Digest) -> Option<Vec<u8>>) -> Result<Self, Unfit> {
        if text.len() > MAX_BYTES {
            return Err(Unfit::TooLarge { bytes: text.len() });
        }
        let unreadable = |error: serde_json::Error| Unfit::Unreadable { reason: error.to_string() };
        let read: Text = match serde_json::from_str(text) {
            Ok(read) => read,
            // A later version is reported as such, not as an unknown member.
            Err(error) => match serde_json::from_str::<OfVersion>(text) {
                Ok(of) if of.version != VERSION => return Err(Unfit::Version { version: of.version }),
                _ => return Err(unreadable(error)),
            },
        };
        if read.version != VERSION {
            return Err(Unfit::Version { version: read.version });
        }
        check_same(text, &read.written()?)?;
        let Text { at, slot, mut input, by_digest, .. } = read;
        let mut fetch = |digest: Digest| {
            let bytes = content(&digest).ok_or(Unfit::Missing { digest })?;
            let is_it = Digest::of(&bytes) == digest;
            if is_it { Ok(bytes) } else { Err(Unfit::Content { digest, expected: "of its digest" }) }
        };
        match (&mut input, by_digest) {
            (Input::Settled(result), ByDigest { text, report, data, lived: None }) => {
                if let Some(digest) = text {
                    let text = String::from_utf8(fetch(digest)?);
                    result.text = text.map_err(|_| Unfit::Content { digest, expected: "a text" })?;
                }
                if let Some(digest) = report {
                    result.report = Some(fetch(digest)?);
                }
                if let Some(digest) = data {
                    result.data = Some(fetch(digest)?);
                }
            }
            (Input::Fork(fork), ByDigest { text: None, report: None, data: None, lived: Some(digest) }) => {
                fork.lived = records(&fetch(digest)?)
                    .ok_or(Unfit::Content { digest, expected: "the records of a run, a line for each" })?;
            }
            (Input::Fork(_), _) => return Err(misplaced("a fork names its history, and nothing else")),
            (_, by_digest) if !by_digest.is_empty() => {
                return Err(misplaced("this input has nothing that travels by its digest"));
            }
            _ => {}
        }
        Ok(Self { input, slot, at })
    }
}

impl Text {
    fn written(&self) -> Result<String, Unfit> {
        let mut text = String::new();
        stored::kept(self, &mut text).map_err(|error| Unfit::Unwritable { reason: error.to_string() })?;
        if text.len() > MAX_BYTES { Err(Unfit::TooLarge { bytes: text.len() }) } else { Ok(text) }
    }
}

fn misplaced(reason: &str) -> Unfit {
    Unfit::Unreadable { reason: format!("`by_digest`: {reason}") }
}

/// Reports the first difference between a text and the text of this version for the same message.
fn check_same(text: &str, ours: &str) -> Result<(), Unfit> {
    if text == ours {
        return Ok(());
    }
    let differs = text.bytes().zip(ours.bytes()).position(|(theirs, ours)| theirs != ours);
    let at = differs.unwrap_or(text.len().min(ours.len()));
    let rest = text.get(at..).unwrap_or("the middle of a character");
    let found = if rest.is_empty() { "the end".to_owned() } else { rest.chars().take(40).collect() };
    Err(Unfit::Foreign { at, found })
}

/// Omits large parts that are in the store from the result.
fn leave_out(result: &mut AttemptResult, by_digest: &mut ByDigest) {
    if let Some(digest) = is_kept(result.text.as_bytes(), result.text_blob.as_ref()) {
        by_digest.text = Some(digest);
        result.text.clear();
    }
    for (bytes, blob, named) in [
        (&mut result.report, &result.report_blob, &mut by_digest.report),
        (&mut result.data, &result.data_blob, &mut by_digest.data),
    ] {
        *named = bytes.as_deref().and_then(|bytes| is_kept(bytes, blob.as_ref()));
        if named.is_some() {
            *bytes = None;
        }
    }
}

/// The digest of these bytes, if they are large and equal to the stored content. A text can differ from its
/// content if bytes were replaced when it was decoded.
fn is_kept(bytes: &[u8], blob: Option<&Blob>) -> Option<Digest> {
    let blob = blob.filter(|_| bytes.len() > INLINE_BYTES)?;
    (Digest::of(bytes) == blob.digest).then_some(blob.digest)
}

/// Records as content of the store: one line per record.
fn records_text(records: &[Record]) -> Result<Vec<u8>, Unfit> {
    let mut text = String::new();
    for record in records {
        stored::kept(record, &mut text).map_err(|error| Unfit::Unwritable { reason: error.to_string() })?;
        text.push('\n');
    }
    Ok(text.into_bytes())
}

fn records(content: &[u8]) -> Option<Vec<Record>> {
    let text = core::str::from_utf8(content).ok()?;
    text.lines().map(|line| serde_json::from_str(line).ok()).collect()
}
