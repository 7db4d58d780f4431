//! Contract 5: a person's answer with files.

use super::member::{Body, Message, Others, may, must};
use super::shape::{count, filled_text, list, part, text, with, words};
use crate::json::Object;
use crate::user_envelope::{MAX_ATTACHMENTS, OriginKind};

/// An answer with files through a text-only channel.
pub(super) const ANSWER: Message = Message {
    title: "User envelope",
    description: "A person's answer with files, through a channel that carries only text. Nothing else may stand in it. With those of \
           the message around it, there are at most 20 attachments.",
    body: Body::Object(
        &[
            must("text", text, "What the model sees."),
            may("attachments", attachments, "References to files; null is not absent."),
        ],
        Others::Refused,
    ),
    rules: &[],
};

fn attachments() -> Object {
    with(list(part("reference")), "maxItems", u64::try_from(MAX_ATTACHMENTS).unwrap_or(u64::MAX))
}

const REFERENCE: Message = Message {
    title: "Reference to a file",
    description: "Which artifact, which revision of it, and what its bytes must hash to. It proves nothing: size and type come from the \
           store.",
    body: Body::Object(
        &[
            must("artifactId", filled_text, "The artifact."),
            must("representationRevisionId", filled_text, "Its revision."),
            must("digest", filled_text, "What the bytes must hash to."),
            must("mime", filled_text, "Its media type."),
            must("originKind", origin, "Where it came from."),
            may("title", text, "A title for people."),
            may("filename", text, "A file name."),
            may("size", count, "Its size in bytes."),
        ],
        Others::Refused,
    ),
    rules: &[],
};

/// A reference as a part of an answer.
pub(super) fn reference() -> Object {
    REFERENCE.to_object()
}

fn origin() -> Object {
    words(OriginKind::ALL.iter().map(|kind| kind.word()))
}
