//! A message: it starts a task, or answers the question of a waiting task.
//!
//! A message is stored before the engine receives its request, under an id that is also the id of that
//! request. So a message that is sent again is found, whatever happened in between, and its request is
//! carried out once. A refused message is removed, and the task is unchanged. [`super::start_task`] starts a
//! task, [`super::answer_task`] answers a question.

use super::{
    answer, answer_task,
    pending_push_config::PendingPushConfig,
    record::{Sent, already_done, digest, was_done},
    start_task,
};
use crate::a2a::card;
use crate::{
    a2a::{
        client::{Client, read},
        push_configs,
        task::loader,
    },
    auth::scope::Scope,
    state::app::App,
};
use envoi_a2a::{
    fault::{Fault, Kind},
    model::{Content, Message, Part, Role},
    request::SendRequest,
    version::Version,
};
use envoi_contract::code::Code;
use envoi_journal::{MessageRow, RunRow};
use envoi_kernel::ids::RunId;

/// Maximum length of a client's id, in bytes.
const MAX_ID_BYTES: usize = 256;

/// Carries out a message. When it returns, the journal has the effects.
///
/// # Errors
/// The message was refused, and nothing has changed.
pub(crate) fn send(app: &App, client: &Client, request: &SendRequest) -> Result<Sent, Fault> {
    let message = &request.message;
    check(message)?;
    let push = request.configuration.push_config.as_ref();
    if let Some(push) = push {
        client.require(&[Scope::Run])?;
        push_configs::check(app, push)?;
    }
    let about = about(app, client, message)?;
    let pending = PendingPushConfig { app, client, push };
    match about {
        About::Known(row) => already_done(&row, pending),
        About::Task(run) => {
            if let Some(push) = push {
                push_configs::check_room(app, client, &run, push)?;
            }
            answer_task::answer(app, client, message, pending, &run)
        }
        About::Nothing => start_task::start_task(app, client, message, pending),
    }
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
                format!("part {at} has the media type `{}`", part.media_type.as_deref().unwrap_or(""));
            return Err(Fault::new(Kind::ContentTypeNotSupported).detail(detail));
        }
    }
    Ok(())
}

/// Whether a part states no media type, or one that the card names. A file may have any.
fn is_read(part: &Part) -> bool {
    match part.content {
        Content::Text(_) | Content::Data(_) => part.media_type.as_deref().is_none_or(card::takes),
        Content::Raw(_) | Content::Url(_) => true,
    }
}

/// The target of a message.
enum About {
    /// It was carried out before; this is its row.
    Known(Box<MessageRow>),
    /// An existing task.
    Task(RunId),
    /// A new task.
    Nothing,
}

fn about(app: &App, client: &Client, message: &Message) -> Result<About, Fault> {
    if let Some(id) = &message.task_id {
        let run = loader::run_of(app, client, id)?;
        let context = read(app, |reader| loader::context_of(reader, &run))?;
        if message.context_id.as_ref().is_some_and(|named| *named != context) {
            return Err(Fault::violation("message.contextId", "Must be the context of the task."));
        }
        return Ok(About::Task(run));
    }
    // Clients of 0.3 answer within a context, without the id of the task.
    match (&message.context_id, client.version) {
        (Some(context), Version::V03) => about_context(app, client, message, context),
        _ => Ok(About::Nothing),
    }
}

/// The journal's data of a context, for a message that names the context.
struct InContext {
    /// The row of this message, if it was sent before.
    kept: Option<MessageRow>,
    /// Tasks that are waiting for an answer.
    waiting: Vec<RunRow>,
    has_task: bool,
}

fn about_context(app: &App, client: &Client, message: &Message, context: &str) -> Result<About, Fault> {
    let token = &client.bearer.id;
    let flow = start_task::flow_named_by(client, message)?;
    let found = read(app, |reader| {
        // A client that names a flow does not refer to a question of another flow.
        let mut waiting = Vec::new();
        for row in reader.waiting_in_context(token, context)? {
            if flow.as_ref().map_or(Ok(true), |flow| reader.is_of_flow(&row, flow))? {
                waiting.push(row);
            }
        }
        Ok(InContext {
            kept: reader.message_in_context(token, context, &message.id, &digest(client, message))?,
            waiting,
            has_task: reader.has_task_in_context(token, context)?,
        })
    })?;
    let InContext { kept, waiting, has_task } = found;
    if let Some(row) = kept {
        // This message started a task. It starts the same task again, which changes nothing.
        if row.task.is_empty() {
            return Ok(About::Nothing);
        }
        let done = was_done(app, &row)?;
        return Ok(if done { About::Known(Box::new(row)) } else { About::Task(row.run) });
    }
    match waiting.as_slice() {
        [] if has_task && answer::is_decision(message) => {
            let detail = "that is a decision, and no task of this context waits for one";
            Err(Fault::new(Kind::InvalidParams).detail(detail).code(Code::QuestionClosed))
        }
        [] => Ok(About::Nothing),
        [one] => Ok(About::Task(one.run.clone())),
        several => {
            let ids: Vec<String> = several.iter().map(|row| format!("`{}`", row.run)).collect();
            let detail =
                format!("several tasks of this context wait; say with `taskId` which: {}", ids.join(", "));
            Err(Fault::new(Kind::InvalidParams).detail(detail))
        }
    }
}
