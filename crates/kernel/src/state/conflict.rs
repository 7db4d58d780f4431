//! The decision of a person about conflicting items, read from the answer.
//!
//! Owns the form of the answer `edit`: its data has `files`, which maps the path of each conflicting file to
//! its resolution: the digest of a file that came with the answer, or `null` to delete the file. The evidence
//! of the question lists the conflicts.

use crate::model::{
    event::{Choice, InterruptAnswered},
    on_conflict::{EditedFile, MergeDecision},
};
use envoi_contract::{
    digest::Digest,
    json::{Object, Value},
    user_envelope::AttachmentRef,
};
use std::collections::BTreeMap;

/// The decision in this answer. `None`: the items are executed again or left out, or the run stops.
pub(crate) fn decision(evidence: &Value, answered: &InterruptAnswered) -> Option<MergeDecision> {
    match answered.choice {
        Choice::Ours => Some(MergeDecision::Ours),
        Choice::Theirs => Some(MergeDecision::Theirs),
        Choice::Edit => {
            edited(evidence, &answered.data, &answered.attachments).ok().map(MergeDecision::Edited)
        }
        _ => None,
    }
}

/// Whether the evidence names all conflicting files, so that a person can resolve each of them.
pub(crate) fn may_be_edited(evidence: &Value) -> bool {
    evidence.get("edit").and_then(Value::as_str).is_some()
}

/// Why an answer does not resolve every conflicting file.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum NotEdited {
    #[error("`{path}` in `files` is not in conflict")]
    NotInConflict { path: String },
    #[error("`files` says by path what becomes of each file in conflict, and `{path}` is missing")]
    Missing { path: String },
    #[error("`{path}` in `files` is neither null nor the digest of an attachment of this answer")]
    NotAttached { path: String },
}

/// Returns the resolution of each conflicting file.
///
/// # Errors
/// [`NotEdited`]: a part of the answer is missing or wrong.
pub(crate) fn edited(
    evidence: &Value,
    data: &Value,
    attachments: &[AttachmentRef],
) -> Result<Vec<EditedFile>, NotEdited> {
    let in_conflict = in_conflict(evidence);
    let no_files = Object::default();
    let files = data.get("files").and_then(Value::as_object).unwrap_or(&no_files);
    let other = files.iter().find(|(path, _)| !in_conflict.contains_key(*path));
    if let Some((path, _)) = other {
        return Err(NotEdited::NotInConflict { path: path.to_owned() });
    }
    let of = |(path, instead_of): (&str, Option<Digest>)| {
        let content = match files.get(path) {
            None => return Err(NotEdited::Missing { path: path.to_owned() }),
            Some(Value::Null) => None,
            Some(digest) => {
                let attached = attached(digest, attachments);
                Some(attached.ok_or_else(|| NotEdited::NotAttached { path: path.to_owned() })?)
            }
        };
        Ok(EditedFile { path: path.to_owned(), content, instead_of })
    };
    in_conflict.into_iter().map(of).collect()
}

fn attached(digest: &Value, attachments: &[AttachmentRef]) -> Option<Digest> {
    let text = digest.as_str()?;
    attachments.iter().any(|file| file.digest == text).then(|| Digest::parse(text))?
}

/// The conflicting files, with their content in the run's tree when the question was raised.
fn in_conflict(evidence: &Value) -> BTreeMap<&str, Option<Digest>> {
    let items = evidence.get("conflicts").and_then(Value::as_array).unwrap_or(&[]);
    let files = items.iter().filter_map(|item| item.get("files").and_then(Value::as_array)).flatten();
    let of = |file| {
        let ours = Value::get(file, "ours").and_then(Value::as_str).and_then(Digest::parse);
        Some((Value::get(file, "path")?.as_str()?, ours))
    };
    files.filter_map(of).collect()
}
