//! An answer as the next steps find it: one document (`ENVOI_ANSWER`), and a folder with the files that came with it.
//!
//! Owns the form of the document. Its `text` and `attachments` are contract 5's; the members after them name the question,
//! the choice, the person, and the path of each file. A file that the store does not have is named as unreadable, and
//! stops nothing.

use super::run_files::RunFiles;
use crate::model::{error::FileError, rows::InboxRow};
use envoi_contract::{
    digest::Digest,
    json::{Object, Value},
    time::Timestamp,
    user_envelope::AttachmentRef,
};
use envoi_kernel::event::{Choice, InterruptAnswered};
use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

/// Writes again what is missing or differs.
pub(super) fn restore(
    files: &RunFiles<'_>,
    question: &InboxRow,
    at: Timestamp,
    answered: &InterruptAnswered,
    written: &mut Vec<PathBuf>,
) -> Result<(), FileError> {
    let folder = files.layout.answer(files.run, &answered.interrupt);
    let mut attached = Vec::new();
    for (name, attachment) in answered.files() {
        let path = folder.join("files").join(name);
        let unreadable = attach(files, attachment, &path, written)?;
        attached.push(AnswerFile { path, attachment, unreadable });
    }
    let bytes = document(question, at, answered, &attached).pretty();
    let path = folder.join("answer.json");
    if files.digest_of(&path) != Some(Digest::of(bytes.as_bytes())) {
        files.replace(&path, |file| Ok(file.write_all(bytes.as_bytes())?))?;
        written.push(path);
    }
    Ok(())
}

/// A file that came with an answer, as the document names it.
struct AnswerFile<'a> {
    path: PathBuf,
    attachment: &'a AttachmentRef,
    /// Why the step cannot read it, if so.
    unreadable: Option<String>,
}

/// Puts a file in its place. Returns why it cannot be read, if the store does not have it.
fn attach(
    files: &RunFiles<'_>,
    attachment: &AttachmentRef,
    path: &Path,
    written: &mut Vec<PathBuf>,
) -> Result<Option<String>, FileError> {
    let Some(digest) = Digest::parse(&attachment.digest) else {
        return Ok(Some(format!("`{}` is not `sha256:` and 64 digits", attachment.digest)));
    };
    if files.digest_of(path) == Some(digest) {
        return Ok(None);
    }
    match files.replace(path, |file| Ok(files.reader.write_blob(&digest, file)?)) {
        Ok(()) => written.push(path.to_owned()),
        Err(FileError::Blob(error)) => return Ok(Some(error.to_string())),
        Err(error) => return Err(error),
    }
    Ok(None)
}

fn document(
    question: &InboxRow,
    at: Timestamp,
    answered: &InterruptAnswered,
    attached: &[AnswerFile<'_>],
) -> Value {
    let mut members = Object::default();
    members.insert("text", Value::from(answered.text.as_str()));
    if !answered.attachments.is_empty() {
        let refs: Vec<Value> = answered.attachments.iter().map(AttachmentRef::to_value).collect();
        members.insert("attachments", Value::from(refs));
    }
    members.insert("interrupt", Value::from(answered.interrupt.as_str()));
    members.insert("step", Value::from(question.visit.step.as_str()));
    members.insert("visit", Value::from(u64::from(question.visit.visit)));
    members.insert("kind", Value::from(question.kind.word()));
    members.insert("question", Value::from(question.question.as_str()));
    members.insert("choice", Value::from(answered.choice.word()));
    if let Some(approved) = approved(answered.choice) {
        members.insert("approved", Value::from(approved));
    }
    members.insert("data", answered.data.clone());
    members.insert("by", Value::from(answered.by.actor.as_str()));
    members.insert("channel", Value::from(answered.channel.as_str()));
    members.insert("answered_at", Value::from(at.to_string()));
    members.insert("files", Value::from(attached.iter().map(describe).collect::<Vec<_>>()));
    Value::Object(members)
}

fn approved(choice: Choice) -> Option<bool> {
    match choice {
        Choice::Approve | Choice::Proceed => Some(true),
        Choice::Deny | Choice::Stop => Some(false),
        Choice::Rerun
        | Choice::Fail
        | Choice::Again
        | Choice::Ours
        | Choice::Theirs
        | Choice::Edit
        | Choice::Respond
        | Choice::Raise => None,
    }
}

fn describe(file: &AnswerFile<'_>) -> Value {
    let mut members = Object::default();
    members.insert("artifactId", Value::from(file.attachment.artifact_id.as_str()));
    match &file.unreadable {
        None => {
            let name = file.path.file_name().unwrap_or_default().to_string_lossy();
            members.insert("filename", Value::from(name.as_ref()));
            members.insert("path", Value::from(file.path.to_string_lossy().as_ref()));
        }
        Some(reason) => {
            members.insert("unreadable", Value::from(reason.as_str()));
        }
    }
    Value::Object(members)
}

#[cfg(test)]
mod tests;
