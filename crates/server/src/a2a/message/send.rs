//! A message: it starts a task, or answers the question of one that waits.
//!
//! It is kept before the engine is asked for what it wants, under an id that the engine knows as the id of the request. So a
//! message that comes again, after whatever has happened in between, is found, and what it wanted is done if it was not:
//! once. One that is refused is forgotten, and the task is as it was. What it starts is [`super::start_task`]'s, what it
//! answers [`super::answer_task`]'s.

use super::{
    answer, answer_task,
    pending_push_config::{Brought, Kept},
    start_task,
};
use crate::{
    a2a::{
        client::{Asking, broken},
        protocol::{
            card,
            fault::{Fault, Kind},
            model::{Content, Message, Part, Role},
            request::{Reply, SendRequest},
            version::Version,
        },
        push_configs,
        task::loader,
    },
    auth::scope::Scope,
    http::problem::Problem,
    state::app::App,
};
use envoi_contract::{digest::Digest, json::Value};
use envoi_journal::{MessageRow, ReadError};
use envoi_kernel::ids::RunId;

/// Longest id that a client may make.
const MAX_ID_BYTES: usize = 256;

/// What has come of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sent {
    /// The run.
    pub(crate) run: RunId,
    /// Where whoever follows the message begins.
    pub(crate) from: From,
}

/// See [`Sent::from`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum From {
    /// It began the run.
    TheStart,
    /// It is the answer with this id of its request.
    Request(String),
    /// It was known: from how things stand.
    Now,
}

/// Does what a message wants. What follows from it is in the journal.
///
/// # Errors
/// It was refused, and nothing has changed.
pub(crate) fn send(app: &App, asking: &Asking, request: &SendRequest) -> Result<Sent, Fault> {
    let message = &request.message;
    check(message)?;
    let push = request.configuration.push_config.as_ref();
    if let Some(push) = push {
        asking.may(&[Scope::Run])?;
        push_configs::check(app, push)?;
    }
    let about = about(app, asking, message)?;
    let brought = Brought { app, asking, push };
    match about {
        About::Known(row) => known(&row, brought),
        About::Task(run) => {
            if let Some(push) = push {
                push_configs::check_room(app, asking, &run, push)?;
            }
            answer_task::answer(app, asking, (message, brought), &run)
        }
        About::Nothing => start_task::begin(app, asking, (message, brought)),
    }
}

/// A message that has been done before: how things stand is the answer.
pub(crate) fn known(row: &MessageRow, brought: Brought<'_>) -> Result<Sent, Fault> {
    brought.again(&row.run, &row.request)?;
    Ok(Sent { run: row.run.clone(), from: From::Now })
}

fn check(message: &Message) -> Result<(), Fault> {
    if message.role != Role::User {
        return Err(Fault::violation("message.role", "Must be the user's: a client speaks for one."));
    }
    let ids = [("messageId", Some(&message.id)), ("contextId", message.context_id.as_ref())];
    for (name, id) in ids {
        if id.is_some_and(|id| id.len() > MAX_ID_BYTES) {
            let description = format!("May have {MAX_ID_BYTES} bytes.");
            return Err(Fault::violation(format!("message.{name}"), description));
        }
    }
    for (at, part) in message.parts.iter().enumerate() {
        if !is_read(part) {
            let detail =
                format!("part {at} is said to be `{}`", part.media_type.as_deref().unwrap_or_default());
            return Err(Fault::new(Kind::ContentTypeNotSupported).detail(detail));
        }
    }
    Ok(())
}

/// Whether a part is of a type that the card names, where it says one. A file may be of any.
fn is_read(part: &Part) -> bool {
    match part.content {
        Content::Text(_) | Content::Data(_) => part.media_type.as_deref().is_none_or(card::takes),
        Content::Raw(_) | Content::Url(_) => true,
    }
}

/// What a message is about.
enum About {
    /// Something that it has done already, as it was kept.
    Known(Box<MessageRow>),
    /// A task that there is.
    Task(RunId),
    /// One that there will be.
    Nothing,
}

fn about(app: &App, asking: &Asking, message: &Message) -> Result<About, Fault> {
    if let Some(id) = &message.task_id {
        let run = loader::run_of(app, asking, id)?;
        let context = app
            .read(|reader| loader::context_of(reader, &run))
            .map_err(|error: ReadError| broken(app, error))?;
        if message.context_id.as_ref().is_some_and(|named| *named != context) {
            return Err(Fault::violation("message.contextId", "Must be the context of the task."));
        }
        return Ok(About::Task(run));
    }
    // Clients of 0.3 answer in a context, without the id of the task.
    match (&message.context_id, asking.version) {
        (Some(context), Version::V03) => about_context(app, asking, message, context),
        _ => Ok(About::Nothing),
    }
}

fn about_context(app: &App, asking: &Asking, message: &Message, context: &str) -> Result<About, Fault> {
    let token = &asking.bearer.id;
    let flow = start_task::named(asking, message)?;
    let (known, mut waiting, begun) = app
        .read(|reader| {
            let known = reader.message_in_context(token, context, &message.id, &digest(asking, message))?;
            let waiting = reader.waiting_in_context(token, context)?;
            Ok((known, waiting, reader.has_task_in_context(token, context)?))
        })
        .map_err(|error: ReadError| broken(app, error))?;
    // Who names a flow means no other one's question.
    waiting.retain(|row| flow.as_ref().is_none_or(|flow| loader::is_of(row, flow)));
    match (known, waiting.as_slice()) {
        // It began a task, or answered one: the same again.
        (Some(row), _) if row.task.is_empty() => Ok(About::Nothing),
        (Some(row), _) if was_done(app, &row)? => Ok(About::Known(Box::new(row))),
        (Some(row), _) => Ok(About::Task(row.run)),
        (None, []) if begun && answer::is_decision(message) => {
            let detail = "that is a decision, and no task of this context waits for one";
            Err(Fault::new(Kind::InvalidParams).detail(detail).code("QUESTION_CLOSED"))
        }
        (None, []) => Ok(About::Nothing),
        (None, [one]) => Ok(About::Task(one.run.clone())),
        (None, several) => {
            let ids: Vec<String> = several.iter().map(|row| format!("`{}`", row.run)).collect();
            let detail =
                format!("several tasks of this context wait; say with `taskId` which: {}", ids.join(", "));
            Err(Fault::new(Kind::InvalidParams).detail(detail))
        }
    }
}

/// Of what a message says; not of where it is said, but for the flow that it is said to.
pub(crate) fn digest(asking: &Asking, message: &Message) -> Digest {
    digest_for(asking.flow.as_deref(), message)
}

fn digest_for(flow: Option<&str>, message: &Message) -> Digest {
    let content = Message { context_id: None, task_id: None, ..message.clone() };
    // What has a task is said to that, by whatever path.
    let said = match flow.filter(|_| message.task_id.is_none()) {
        Some(flow) => format!("{}\n{flow}", written(&content)),
        None => written(&content),
    };
    Digest::of(said.as_bytes())
}

/// A message alone, in JSON of 1.0 on one line.
pub(crate) fn message_text(message: &Message) -> String {
    match crate::a2a::protocol::write(Version::V10, &Reply::SentMessage(message.clone())) {
        Value::Object(mut members) => members.remove("message").unwrap_or_default().compact(),
        other => other.compact(),
    }
}

/// A message as it is kept: `{"message": …}` in JSON of 1.0, as [`loader`] reads it.
pub(crate) fn written(message: &Message) -> String {
    crate::a2a::protocol::write(Version::V10, &Reply::SentMessage(message.clone())).compact()
}

pub(crate) fn was_done(app: &App, row: &MessageRow) -> Result<bool, Fault> {
    let done = app.read(|reader| reader.has_request(&row.run, &row.request));
    done.map_err(|error: ReadError| broken(app, error))
}

/// A message that was refused is forgotten, with what it brought, unless it may be done all the same: when it comes again, it is.
pub(crate) fn forgotten(app: &App, row: &MessageRow, kept: Kept<'_>, problem: Problem) -> Fault {
    app.note(&problem);
    if !matches!(problem.code.as_str(), "ENGINE_STOPPING" | "STORE_FAILED") {
        kept.take_back();
        drop(app.store.forget_message(row).map_err(|error| broken(app, error)));
    }
    problem.into()
}

pub(crate) fn kept_as(
    app: &App,
    asking: &Asking,
    message: &Message,
    (run, context, task): (&RunId, &str, &str),
    request: String,
) -> MessageRow {
    MessageRow {
        run: run.clone(),
        token: asking.bearer.id.clone(),
        context: context.to_owned(),
        task: task.to_owned(),
        message_id: message.id.clone(),
        digest: digest(asking, message),
        request,
        body: written(message),
        at: app.now(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_contract::json::Object;

    #[test]
    fn the_same_words_to_another_flow_are_another_message() {
        let message = |task: Option<&str>| Message {
            id: "m".to_owned(),
            context_id: Some("c".to_owned()),
            task_id: task.map(str::to_owned),
            role: Role::User,
            parts: vec![Part::text("hello")],
            metadata: Object::new(),
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        };
        let first = message(None);
        assert_eq!(digest_for(Some("one"), &first), digest_for(Some("one"), &first));
        assert_ne!(digest_for(Some("one"), &first), digest_for(Some("two"), &first));
        assert_ne!(digest_for(Some("one"), &first), digest_for(None, &first));
        let answer = message(Some("run_1"));
        assert_eq!(digest_for(Some("one"), &answer), digest_for(None, &answer));
    }
}
