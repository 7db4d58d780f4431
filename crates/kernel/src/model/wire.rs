//! What is sent to a run on another machine: an input, the slot that it comes with, and when it was sent.
//!
//! The form is JSON on one line, with a version. It is made as events are ([`envoi_contract::stored::kept`]), so that a value of the
//! contracts comes out as it went in. A reader takes what a writer of its version writes and nothing else: a member that it does not
//! know, at whatever depth, would be lost in silence, so the whole message is refused.
//!
//! A message is small. What can be large is content of the store, which the message names by its digest, and its reader fetches:
//! a text, a report or data of more than [`INLINE_BYTES`] that the store has, and all records of the history of a fork.

use crate::model::{
    event::Record,
    files::Blob,
    input::{AttemptResult, Input, Slot},
};
use envoi_contract::{digest::Digest, stored, time::Timestamp};
use serde::{Deserialize, Serialize};

/// The version of the form. It grows with each change of a member, also a new one: a reader refuses a member that it does not know.
const VERSION: u32 = 1;

/// The largest message. A reader refuses more before it looks at it.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Larger texts, reports and data travel by their digest, if the store has them.
pub const INLINE_BYTES: usize = 64 * 1024;

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// What happens to the run.
    pub input: Input,
    /// The slot for what follows from it.
    pub slot: Option<Slot>,
    /// When it was sent, by the clock of its sender: the `now` of the decision.
    pub at: Timestamp,
}

/// A message as it travels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// JSON on one line.
    pub text: String,
    /// The content that the text names and that nothing else has put into the store. It has to be there before the text is sent.
    pub content: Option<Vec<u8>>,
}

/// Why a message cannot be sent, or is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Its text is too large.
    #[error("the message has {bytes} bytes; at most {MAX_BYTES} are taken")]
    TooLarge {
        /// How many it has.
        bytes: usize,
    },
    /// It holds what no reader would take.
    #[error("the message cannot be written: {reason}")]
    Unwritable {
        /// The error of the writer.
        reason: String,
    },
    /// It is no message.
    #[error("the message cannot be read: {reason}")]
    Unreadable {
        /// The error of the reader, with its place.
        reason: String,
    },
    /// It is of a version that came later.
    #[error(
        "the message is of version {version}; version {VERSION} is read: upgrade its reader before its sender"
    )]
    Version {
        /// Which.
        version: u32,
    },
    /// It is not what this version writes.
    #[error("byte {at} of the message is not what version {VERSION} writes there: {found}")]
    Foreign {
        /// Where, from 0.
        at: usize,
        /// What stands there, shortened.
        found: String,
    },
    /// The store does not have what it names, or not yet.
    #[error(
        "the content `{digest}` that the message names is not in the store: send the message again when it is"
    )]
    Missing {
        /// Which content.
        digest: Digest,
    },
    /// What is in the store is not what the message means.
    #[error("the content `{digest}` that the message names is not {expected}")]
    Content {
        /// Which content.
        digest: Digest,
        /// What it should be.
        expected: &'static str,
    },
}

/// The message as it stands in its text.
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

/// The contents that stand for what the input leaves out.
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

/// Only the version is read of a text that may be of another one.
#[derive(Deserialize)]
struct OfVersion {
    version: u32,
}

impl Message {
    /// The message as it travels.
    ///
    /// # Errors
    /// [`Unfit::TooLarge`] and [`Unfit::Unwritable`]: no reader would take it.
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

    /// The message of a text. `content` gives what the store has under a digest.
    ///
    /// # Errors
    /// [`Unfit`] says what of the text, or of the store, is not as it must be. [`Unfit::Missing`] may pass.
    pub fn read(text: &str, mut content: impl FnMut(&Digest) -> Option<Vec<u8>>) -> Result<Self, Unfit> {
        if text.len() > MAX_BYTES {
            return Err(Unfit::TooLarge { bytes: text.len() });
        }
        let unreadable = |error: serde_json::Error| Unfit::Unreadable { reason: error.to_string() };
        let read: Text = match serde_json::from_str(text) {
            Ok(read) => read,
            // A later version says so, not which of its members is not known here.
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

/// Where a text differs from what this version writes for the same message.
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

/// What is large and in the store is left out of the result.
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

/// The digest of these bytes, if they are large and are exactly that content of the store. A text may differ from its content: it is
/// what the bytes could be read as.
fn is_kept(bytes: &[u8], blob: Option<&Blob>) -> Option<Digest> {
    let blob = blob.filter(|_| bytes.len() > INLINE_BYTES)?;
    (Digest::of(bytes) == blob.digest).then_some(blob.digest)
}

/// Records as content of the store: a line for each.
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
