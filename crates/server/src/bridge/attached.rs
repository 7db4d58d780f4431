//! What a model is given of the files that come with a message: their content, or a line that says why not.
//!
//! Pure but for [`read`], which asks the store. Names and types that a line holds are strangers' texts: they are cut down to one
//! line each.

use crate::{app::App, attachments, problem::Problem};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use envoi_contract::user_envelope::AttachmentRef;
use serde_json::{Value, json};

/// Most bytes of a file, as the providers take them.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// Most bytes of a file that is given as text: it stands in the model's context.
const MAX_TEXT_BYTES: u64 = 1024 * 1024;

/// Most bytes of all files of a message together.
const MAX_ALL_BYTES: u64 = 64 * 1024 * 1024;

/// Longest name or type in a line.
const MAX_WORD: usize = 200;

/// What a model is given.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Given {
    /// Parts of the message, after its text.
    pub(crate) parts: Vec<Value>,
    /// For the system prompt: what is not readable.
    pub(crate) manifest: Option<String>,
}

/// Reads the files that `references` lead to within a tenant; of none, if `tenant` is not known. Blocks.
pub(crate) fn read(app: &App, tenant: Result<&str, &str>, references: &[AttachmentRef]) -> Given {
    let (mut parts, mut lines, mut all) = (Vec::new(), Vec::new(), 0_u64);
    for reference in references {
        let read = match tenant {
            Ok(tenant) => content(app, tenant, reference, MAX_ALL_BYTES.saturating_sub(all)),
            Err(reason) => Err((None, reason.to_owned())),
        };
        match read {
            Ok((size, part)) => {
                all = all.saturating_add(size);
                parts.push(part);
            }
            Err((known, reason)) => lines.push(line(reference, known, &reason)),
        }
    }
    let manifest =
        (!lines.is_empty()).then(|| format!("Attachments of the user's message:\n{}", lines.join("\n")));
    Given { parts, manifest }
}

/// What is known of a file all the same: its type and its size.
type Known = Option<(String, u64)>;

fn content(
    app: &App,
    tenant: &str,
    reference: &AttachmentRef,
    left: u64,
) -> Result<(u64, Value), (Known, String)> {
    let resolved =
        attachments::resolve(app, tenant, reference).map_err(|unreadable| (None, unreadable.reason))?;
    let known = Some((resolved.mime.clone(), resolved.size));
    let kind = Kind::of(&resolved.mime);
    let kind = kind.ok_or_else(|| (known.clone(), "models are not given files of this type".to_owned()))?;
    let most = if kind == Kind::Text { MAX_TEXT_BYTES } else { MAX_BYTES };
    if resolved.size > most.min(left) {
        let whose = if most <= left { "a file like this" } else { "what is left for this message" };
        return Err((
            known,
            format!("it has {} bytes, and {whose} may have {}", resolved.size, most.min(left)),
        ));
    }
    let failed = |problem: &Problem| {
        app.note(problem);
        (known.clone(), "its bytes cannot be read".to_owned())
    };
    let mut bytes = Vec::new();
    app.read(|reader| reader.write_blob(&resolved.digest, &mut bytes).map_err(Problem::from))
        .map_err(|problem| failed(&problem))?;
    let name = reference.title.clone().or(resolved.name).unwrap_or_else(|| reference.artifact_id.clone());
    let part = kind.part(&plain(&name), &essence(&resolved.mime), bytes);
    part.map(|part| (resolved.size, part)).ok_or_else(|| (known, "it is not UTF-8".to_owned()))
}

/// How a type is given.
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
    plain(mime.split(';').next().unwrap_or_default().trim()).to_ascii_lowercase()
}

/// As contract 5 names what is not readable.
fn line(reference: &AttachmentRef, known: Known, reason: &str) -> String {
    let AttachmentRef { artifact_id, mime, title, filename, size, .. } = reference;
    let name = title.as_ref().or(filename.as_ref()).unwrap_or(artifact_id);
    let (mime, size) = known.map_or_else(|| (mime.clone(), *size), |(mime, size)| (mime, Some(size)));
    let bytes = size.map(|size| format!(", {size} bytes")).unwrap_or_default();
    format!("- {} ({}{bytes}): NOT readable — {reason}", plain(name), plain(&mime))
}

/// A stranger's word as part of a line.
fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(MAX_WORD).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_contract::user_envelope::OriginKind;

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
