//! The files of a message as parts for a model: their content, or a line with the reason why it is missing.
//!
//! A file's type and size are checked before it is read: only files that a model can get are read, and no
//! more than [`MAX_ALL_BYTES`] for one message, even if their content cannot be used. Names and types come
//! from clients, so they are shortened to parts of one line.

use crate::state::{
    app::App,
    attachments::{self, FoundContent, Unreadable},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use envoi_contract::user_envelope::AttachmentRef;
use envoi_journal::{ReadError, Reader};
use serde_json::{Value, json};

/// Maximum size of a file, in bytes, as providers accept it.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// Maximum size, in bytes, of a file that is sent as text, because it uses the model's context.
const MAX_TEXT_BYTES: u64 = 1024 * 1024;

/// Maximum size, in bytes, of all files of a message that are read and sent.
const MAX_ALL_BYTES: u64 = 64 * 1024 * 1024;

/// Maximum length of a name or type in a line, in characters.
const MAX_WORD: usize = 200;

/// The files in the form for a model.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct FileParts {
    /// Parts of the message, after its text.
    pub(crate) parts: Vec<Value>,
    /// For the system prompt: the files that cannot be read.
    pub(crate) manifest: Option<String>,
}

/// Reads the files that `references` lead to within a tenant. Reads none if `tenant` is an error. Blocks.
pub(crate) fn read(app: &App, tenant: Result<&str, &str>, references: &[AttachmentRef]) -> FileParts {
    given(references, MAX_ALL_BYTES, |reference, left| {
        let tenant = tenant.map_err(|reason| NotGiven::from(Unreadable::because(reason)))?;
        app.read(|reader| content(reader, tenant, reference, left))
            .inspect_err(|not| attachments::note(app, reference, &not.why))
    })
}

/// The approximate size, in bytes, of the parts that [`read`] makes from these. Reads no file. Blocks.
pub(crate) fn weight(app: &App, tenant: Result<&str, &str>, references: &[AttachmentRef]) -> u64 {
    let Ok(tenant) = tenant else { return 0 };
    let mut left = MAX_ALL_BYTES;
    let found = references.iter().map(|reference| {
        app.read(|reader| Ok::<_, NotGiven>(accepted(reader, tenant, reference, &mut left)?.weight()))
    });
    found.map(|weight| weight.unwrap_or(0)).fold(0, u64::saturating_add)
}

/// Why a file is not sent, and what is known about it.
#[derive(Debug)]
struct NotGiven {
    known: Known,
    why: Unreadable,
}

/// Its type and its size.
type Known = Option<(String, u64)>;

impl From<Unreadable> for NotGiven {
    fn from(why: Unreadable) -> Self {
        Self { known: None, why }
    }
}

impl From<ReadError> for NotGiven {
    fn from(error: ReadError) -> Self {
        Unreadable::from(error).into()
    }
}

impl FoundContent {
    fn not_given(&self, why: Unreadable) -> NotGiven {
        NotGiven { known: Some((self.mime.clone(), self.size)), why }
    }
}

/// The parts and lines that `read` makes from these. Each reading reduces `left`.
fn given(
    references: &[AttachmentRef],
    mut left: u64,
    read: impl Fn(&AttachmentRef, &mut u64) -> Result<Value, NotGiven>,
) -> FileParts {
    let mut parts = Vec::new();
    let mut lines = Vec::new();
    for reference in references {
        match read(reference, &mut left) {
            Ok(part) => parts.push(part),
            Err(NotGiven { known, why }) => lines.push(line(reference, known, &why.reason)),
        }
    }
    let manifest =
        (!lines.is_empty()).then(|| format!("Attachments of the user's message:\n{}", lines.join("\n")));
    FileParts { parts, manifest }
}

/// A file that is sent if its content can be read.
struct Accepted {
    found: FoundContent,
    kind: Kind,
}

impl Accepted {
    /// Approximate size of its part, in bytes. Base64 makes four bytes of three.
    fn weight(&self) -> u64 {
        match self.kind {
            Kind::Text => self.found.size,
            Kind::Image | Kind::Pdf => self.found.size.div_ceil(3).saturating_mul(4),
        }
    }
}

/// Whether a file is sent, according to its type and its size. If so, its size is taken from `left`.
fn accepted(
    reader: &Reader,
    tenant: &str,
    reference: &AttachmentRef,
    left: &mut u64,
) -> Result<Accepted, NotGiven> {
    let found = attachments::find(reader, tenant, reference)?;
    let not = |reason: &str| found.not_given(Unreadable::because(reason));
    let kind = Kind::of(&found.mime).ok_or_else(|| not("models are not given files of this type"))?;
    let most = if kind == Kind::Text { MAX_TEXT_BYTES } else { MAX_BYTES };
    if found.size > most.min(*left) {
        let whose = if most <= *left { "a file like this" } else { "what is left for this message" };
        return Err(not(&format!("it has {} bytes, and {whose} may have {}", found.size, most.min(*left))));
    }
    *left = left.saturating_sub(found.size);
    Ok(Accepted { found, kind })
}

fn content(
    reader: &Reader,
    tenant: &str,
    reference: &AttachmentRef,
    left: &mut u64,
) -> Result<Value, NotGiven> {
    let Accepted { found, kind } = accepted(reader, tenant, reference, left)?;
    let mut bytes = Vec::new();
    attachments::write(reader, &found, &mut bytes).map_err(|why| found.not_given(why))?;
    let name = reference.title.as_ref().or(found.name.as_ref()).unwrap_or(&reference.artifact_id);
    let part = kind.part(&plain(name), &essence(&found.mime), bytes);
    part.ok_or_else(|| found.not_given(Unreadable::because("it is not UTF-8")))
}

/// The form in which a type is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Image,
    Pdf,
}

impl Kind {
    fn of(mime: &str) -> Option<Self> {
        let essence = essence(mime);
        match essence.as_str() {
            "application/pdf" => Some(Self::Pdf),
            "application/json" => Some(Self::Text),
            _ if essence.starts_with("text/") => Some(Self::Text),
            _ if essence.starts_with("image/") => Some(Self::Image),
            _ => None,
        }
    }

    fn part(self, name: &str, mime: &str, bytes: Vec<u8>) -> Option<Value> {
        let data = |bytes: &[u8]| format!("data:{mime};base64,{}", BASE64_STANDARD.encode(bytes));
        Some(match self {
            Self::Text => {
                let text = String::from_utf8(bytes).ok()?;
                json!({"type": "text", "text": format!("Attachment `{name}` ({mime}):\n\n{text}")})
            }
            Self::Image => json!({"type": "image_url", "image_url": {"url": data(&bytes)}}),
            Self::Pdf => json!({"type": "file", "file": {"filename": name, "file_data": data(&bytes)}}),
        })
    }
}

/// A media type without its parameters.
fn essence(mime: &str) -> String {
    plain(mime.split_once(';').map_or(mime, |(first, _)| first).trim()).to_ascii_lowercase()
}

/// The line about an unreadable file, in the form of contract 5.
fn line(reference: &AttachmentRef, known: Known, reason: &str) -> String {
    let AttachmentRef { artifact_id, mime, title, filename, size, .. } = reference;
    let name = title.as_ref().or(filename.as_ref()).unwrap_or(artifact_id);
    let (mime, size) = known.map_or_else(|| (mime.clone(), *size), |(mime, size)| (mime, Some(size)));
    let bytes = size.map_or_else(String::new, |size| format!(", {size} bytes"));
    format!("- {} ({}{bytes}): NOT readable — {reason}", plain(name), plain(&mime))
}

/// A client's text, shortened and without control characters, as part of one line.
fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(MAX_WORD).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_contract::{digest::Digest, user_envelope::OriginKind};
    use envoi_journal::{Layout, Store, Upload};
    use std::fs;

    fn reference(title: Option<&str>, filename: Option<&str>, size: Option<u64>) -> AttachmentRef {
        AttachmentRef {
            artifact_id: "art_1".to_owned(),
            representation_revision_id: "rep_1".to_owned(),
            digest: "sha256:0".to_owned(),
            mime: "application/pdf".to_owned(),
            origin_kind: OriginKind::Upload,
            title: title.map(str::to_owned),
            filename: filename.map(str::to_owned),
            size,
        }
    }

    /// Why each of these files is not sent, and what remains of `left`. Each file has a type and bytes. On
    /// disk its bytes are replaced by others of the same length, so a file that is read is damaged.
    fn reasons(left: u64, files: &[(&str, &[u8])]) -> Vec<String> {
        let place = tempfile::tempdir().unwrap();
        let store = Store::open(Layout::new(place.path().join(".envoi"))).unwrap();
        let brought = files.iter().map(|(mime, bytes)| {
            let upload = Upload {
                digest: store.blobs().put(bytes).unwrap(),
                size_bytes: 0,
                mime: (*mime).to_owned(),
                uploaded_at: envoi_engine::now(),
                uploaded_by: "ann".to_owned(),
            };
            store.keep_upload("north", &upload).unwrap();
            let blob = store.layout().blob(&Digest::of(bytes));
            fs::remove_file(&blob).unwrap();
            fs::write(blob, vec![b'x'; bytes.len()]).unwrap();
            attachments::reference(&upload)
        });
        let references: Vec<_> = brought.collect();
        let reader = store.reader().unwrap();
        let given = given(&references, left, |reference, left| content(&reader, "north", reference, left));
        assert!(given.parts.is_empty());
        let lines = given.manifest.unwrap();
        lines.lines().skip(1).map(|line| line.split_once("readable — ").unwrap().1.to_owned()).collect()
    }

    #[test]
    fn all_that_is_read_for_a_message_is_bounded_whether_or_not_it_can_be_given() {
        let damaged = "its bytes are not those of its digest";
        let files: [(&str, &[u8]); 4] = [
            ("image/png", &[1; 30]),
            ("image/png", &[2; 30]),
            ("image/png", &[3; 30]),
            ("text/plain", &[4; 10]),
        ];
        let past = "it has 30 bytes, and what is left for this message may have 10";
        assert_eq!(reasons(70, &files), [damaged, damaged, past, damaged]);
        let past = "it has 10 bytes, and what is left for this message may have 9";
        assert_eq!(reasons(99, &files), [damaged, damaged, damaged, past]);
    }

    #[test]
    fn what_a_file_makes_of_a_request_is_known_before_it_is_read() {
        for (kind, mime, size) in [(Kind::Text, "text/plain", 300_u64), (Kind::Image, "image/png", 301)] {
            let digest = Digest::of(b"content");
            let found = FoundContent { digest, size, mime: mime.to_owned(), name: None };
            let bytes = vec![b'a'; size.try_into().unwrap()];
            let part = kind.part("n", mime, bytes).unwrap().to_string().len() as u64;
            let weight = Accepted { found, kind }.weight();
            assert!(weight >= size && weight <= part && weight + 100 > part, "{mime}: {weight} of {part}");
        }
    }

    #[test]
    fn what_no_model_is_given_is_not_read() {
        let text = vec![b'a'; usize::try_from(MAX_TEXT_BYTES).unwrap() + 1];
        let files: [(&str, &[u8]); 3] =
            [("application/zip", b"one"), ("text/plain", &text), ("text/plain", b"two")];
        let expected = [
            "models are not given files of this type",
            "it has 1048577 bytes, and a file like this may have 1048576",
            "its bytes are not those of its digest",
        ];
        assert_eq!(reasons(MAX_ALL_BYTES, &files), expected);
    }

    #[test]
    fn what_is_not_readable_is_a_line_of_its_own_and_never_two() {
        for (reference, known, expected) in [
            (reference(None, None, None), None, "- art_1 (application/pdf): NOT readable — gone"),
            (
                reference(None, Some("a.pdf"), Some(7)),
                None,
                "- a.pdf (application/pdf, 7 bytes): NOT readable — gone",
            ),
            (
                reference(Some("Minutes\n- b (x): fine"), Some("a.pdf"), Some(7)),
                Some(("text/plain".to_owned(), 9)),
                "- Minutes - b (x): fine (text/plain, 9 bytes): NOT readable — gone",
            ),
        ] {
            assert_eq!(line(&reference, known, "gone"), expected);
        }
        assert_eq!(plain(&"x".repeat(500)).len(), MAX_WORD);
    }

    #[test]
    fn a_file_is_given_as_its_type_says() {
        for (mime, kind) in [
            ("text/plain; charset=utf-8", Some(Kind::Text)),
            ("TEXT/Markdown", Some(Kind::Text)),
            ("text/csv", Some(Kind::Text)),
            ("application/json", Some(Kind::Text)),
            ("image/png", Some(Kind::Image)),
            ("application/pdf", Some(Kind::Pdf)),
            ("application/zip", None),
            ("audio/mpeg", None),
            ("", None),
        ] {
            assert_eq!(Kind::of(mime), kind, "{mime}");
        }
        let part = |kind: Kind, mime| kind.part("n", mime, vec![1, 2, 3]);
        assert_eq!(
            part(Kind::Image, "image/png"),
            Some(json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID"}}))
        );
        assert_eq!(
            part(Kind::Pdf, "application/pdf"),
            Some(
                json!({"type": "file", "file": {"filename": "n", "file_data": "data:application/pdf;base64,AQID"}})
            )
        );
        assert_eq!(
            Kind::Text.part("n", "text/plain", b"words".to_vec()),
            Some(json!({"type": "text", "text": "Attachment `n` (text/plain):\n\nwords"}))
        );
        assert_eq!(Kind::Text.part("n", "text/plain", vec![0xff]), None);
    }
}
