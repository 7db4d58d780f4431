//! A message to a waiting task: which question it answers, how, and with which files.

use super::{
    answer, envelope,
    pending_push_config::PendingPushConfig,
    record::{FollowFrom, RowIds, Sent, already_done, digest, forget_refused, new_row, was_done},
};
use crate::{
    a2a::{
        client::{Client, internal_fault, read},
        task::{fold::Question, loader},
    },
    auth::scope::Scope,
    commands::submit::{caller_of, submit},
    state::{app::App, attachments},
};
use envoi_a2a::{
    extension::QUESTION,
    fault::{Fault, Kind},
    model::{Content, Message},
};
use envoi_contract::{code::Code, digest::Digest, json::Value, user_envelope::AttachmentRef};
use envoi_engine::protocol::{AnswerRequest, Request};
use envoi_journal::Upload;
use envoi_kernel::{
    Run, Status,
    ids::{InterruptId, RunId},
    input::Answer,
};

/// The channel of these answers in the journal.
const CHANNEL: &str = "a2a";

/// Answers a question of a task.
pub(crate) fn answer(
    app: &App,
    client: &Client,
    message: &Message,
    pending: PendingPushConfig<'_>,
    run: &RunId,
) -> Result<Sent, Fault> {
    client.require(&[Scope::Answer])?;
    let (context, next_seq) =
        read(app, |reader| Ok((loader::context_of(reader, run)?, reader.next_seq(run)?)))?;
    let request = request_id(client, &context, run, message);
    let _lock = app.key_locks.lock(&request);
    let row = new_row(app, client, message, RowIds { run, context: &context, task: run.as_str(), request });
    if was_done(app, &row)? {
        return already_done(&row, pending);
    }
    let loaded = loader::load_to_change(app, run)?;
    let question = open_question(&loaded, message)?;
    let files = attached_files(app, client, message)?;
    let references: Vec<AttachmentRef> = files.iter().map(|file| file.reference.clone()).collect();
    let envelope = envelope::open(message, &client.extensions, &references)?;
    let has_words = message.parts.iter().any(|part| matches!(part.content, Content::Text(_)));
    let wanted = answer::read(&question, message, has_words.then_some(envelope.text.as_str()))?;
    let mut attachments = envelope.attachments;
    // If a reference cannot be resolved, the message is refused before its files are stored.
    let is_attached = |reference: &AttachmentRef| references.iter().any(|own| own.digest == reference.digest);
    resolve(app, client, &mut attachments, |reference| !is_attached(reference))?;
    keep_uploads(app, client, &files)?;
    resolve(app, client, &mut attachments, is_attached)?;
    let answer = Answer {
        text: wanted.text,
        data: wanted.data,
        attachments,
        raise: wanted.raise,
        seen: seen(message)?,
        channel: CHANNEL.to_owned(),
        request: Some(row.request.clone()),
        ..Answer::new(question.raised.interrupt.clone(), wanted.choice, client.principal())
    };
    let caller = caller_of(app, &loaded);
    app.store.keep_message(&row).map_err(|error| internal_fault(app, error))?;
    let push = pending.store(run, next_seq)?;
    let order = AnswerRequest { run: run.clone(), answer, follow: true, caller };
    match submit(app, Request::Answer(Box::new(order))) {
        Ok(_) => {
            push.announce();
            Ok(Sent { run: run.clone(), from: FollowFrom::Request(row.request) })
        }
        Err(_) if was_done(app, &row)? => {
            push.announce();
            Ok(Sent { run: run.clone(), from: FollowFrom::Now })
        }
        Err(problem) => Err(forget_refused(app, &row, push, problem)),
    }
}

/// The id of the answer for the engine: the same each time the same message is sent.
fn request_id(client: &Client, context: &str, run: &RunId, message: &Message) -> String {
    let of = [&client.bearer.id, context, run.as_str(), &message.id, &digest(client, message).to_string()]
        .join("\n");
    format!("msg_{}", Digest::of(of.as_bytes()).hex())
}

/// The question that a message answers: the named one, else the only one.
fn open_question(run: &Run, message: &Message) -> Result<Question, Fault> {
    if let Status::Ended(ended) = run.status() {
        let detail = format!("the task is over ({}), and takes no more messages", ended.status.word());
        return Err(Fault::new(Kind::UnsupportedOperation).detail(detail).code(Code::RunOver));
    }
    let open: Vec<_> = run.interrupts().collect();
    let named = match message.metadata.get(QUESTION) {
        None => None,
        Some(named) => {
            let id = named.as_str().or_else(|| named.get("id").and_then(Value::as_str));
            let field = format!("message.metadata[\"{QUESTION}\"]");
            let id = id.and_then(|id| InterruptId::new(id).ok());
            Some(id.ok_or_else(|| Fault::violation(field, "Must be the id of a question."))?)
        }
    };
    let found = match (&named, open.as_slice()) {
        (Some(id), all) => all.iter().find(|raised| raised.interrupt == *id),
        (None, [one]) => Some(one),
        (None, _) => None,
    };
    match (found, named, open.as_slice()) {
        (Some(raised), _, _) => Ok(Question::of(run, raised)),
        (None, None, []) => {
            let detail = "the task is at work, and asks nothing now";
            Err(Fault::new(Kind::UnsupportedOperation).detail(detail))
        }
        (None, Some(id), _) => {
            let detail = format!("question `{id}` is not open");
            Err(Fault::new(Kind::InvalidParams).detail(detail).code(Code::QuestionClosed))
        }
        (None, None, several) => {
            let ids: Vec<String> = several
                .iter()
                .map(|raised| format!("`{}` ({})", raised.interrupt, raised.visit.step))
                .collect();
            let detail = format!(
                "which question? Say it as `{QUESTION}` in the message's metadata: {}",
                ids.join(", ")
            );
            Err(Fault::new(Kind::InvalidParams).detail(detail))
        }
    }
}

/// The digest of what was shown with the question, if the message returns the question's metadata.
fn seen(message: &Message) -> Result<Option<Digest>, Fault> {
    let subject =
        message.metadata.get(QUESTION).and_then(|named| named.get("subject")).and_then(Value::as_str);
    let field = || format!("message.metadata[\"{QUESTION}\"].subject");
    let read = |text: &str| Digest::parse(text).ok_or_else(|| Fault::violation(field(), "Must be a digest."));
    subject.map(read).transpose()
}

/// A file in a message.
struct AttachedFile<'m> {
    upload: Upload,
    bytes: &'m [u8],
    reference: AttachmentRef,
}

/// The files in a message. URLs are not fetched.
fn attached_files<'m>(
    app: &App,
    client: &Client,
    message: &'m Message,
) -> Result<Vec<AttachedFile<'m>>, Fault> {
    let mut files = Vec::new();
    for (at, part) in message.parts.iter().enumerate() {
        let bytes = match &part.content {
            Content::Text(_) | Content::Data(_) => continue,
            Content::Raw(bytes) => bytes.as_slice(),
            Content::Url(_) => {
                let detail = format!(
                    "part {at} is an address, and addresses are not fetched; send its bytes as `raw`"
                );
                return Err(Fault::new(Kind::ContentTypeNotSupported).detail(detail));
            }
        };
        let named = part.filename.as_deref().map(attachments::type_of);
        let upload = Upload {
            digest: Digest::of(bytes),
            size_bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            mime: part.media_type.clone().or(named).unwrap_or_else(|| attachments::UNKNOWN.to_owned()),
            uploaded_at: app.now(),
            uploaded_by: client.bearer.name.clone(),
        };
        let reference = AttachmentRef { filename: part.filename.clone(), ..attachments::reference(&upload) };
        files.push(AttachedFile { upload, bytes, reference });
    }
    Ok(files)
}

/// Stores the files of a message as content of the tenant.
fn keep_uploads(app: &App, client: &Client, files: &[AttachedFile<'_>]) -> Result<(), Fault> {
    let _held = app.desk.hold_contents();
    for AttachedFile { upload, bytes, .. } in files {
        app.store.blobs().put(bytes).map_err(|error| internal_fault(app, error))?;
        app.store.keep_upload(&client.bearer.tenant, upload).map_err(|error| internal_fault(app, error))?;
    }
    Ok(())
}

/// Sets the size and the type of the references selected by `meant` to those in the store, whatever the
/// client states.
fn resolve(
    app: &App,
    client: &Client,
    references: &mut [AttachmentRef],
    meant: impl Fn(&AttachmentRef) -> bool,
) -> Result<(), Fault> {
    for (place, reference) in references.iter_mut().enumerate().filter(|(_, reference)| meant(reference)) {
        let resolved = attachments::resolve(app, &client.bearer.tenant, reference).map_err(|unreadable| {
            let place = place.saturating_add(1);
            let id = &reference.artifact_id;
            let detail = format!("attachment {place} (`{id}`) cannot be read: {}", unreadable.reason);
            Fault::new(Kind::InvalidParams).detail(detail).code(Code::AttachmentUnreadable)
        })?;
        (reference.size, reference.mime) = (Some(resolved.size), resolved.mime);
    }
    Ok(())
}
