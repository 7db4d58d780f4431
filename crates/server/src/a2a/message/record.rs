//! Stored messages: found when they are sent again, removed when they are refused.

use super::pending_push_config::{PendingPushConfig, StoredPushConfig};
use crate::{
    a2a::client::{Client, internal_fault, read},
    http::problem::Problem,
    state::app::App,
};
use envoi_a2a::{fault::Fault, model::Message, request::Reply, version::Version, write};
use envoi_contract::{code::Code, digest::Digest, json::Value};
use envoi_journal::MessageRow;
use envoi_kernel::ids::RunId;

/// The result of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sent {
    /// The run.
    pub(crate) run: RunId,
    /// The position at which a stream that follows the message begins.
    pub(crate) from: FollowFrom,
}

/// See [`Sent::from`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FollowFrom {
    /// At the beginning: the message started the run.
    TheStart,
    /// At the answer with this request id.
    Request(String),
    /// At the present: the message was sent before. The stream begins with the current task.
    Now,
}

/// The result of a message that was accepted before: the current task.
pub(crate) fn already_done(row: &MessageRow, pending: PendingPushConfig<'_>) -> Result<Sent, Fault> {
    pending.store_again(&row.run, &row.request)?;
    Ok(Sent { run: row.run.clone(), from: FollowFrom::Now })
}

/// A digest of the content of a message and of the flow that it names, without its task and context.
pub(crate) fn digest(client: &Client, message: &Message) -> Digest {
    digest_for(client.flow.as_deref(), message)
}

fn digest_for(flow: Option<&str>, message: &Message) -> Digest {
    let content = Message { context_id: None, task_id: None, ..message.clone() };
    // A message to a task is the same whichever path it is sent to.
    let digested = match flow.filter(|_| message.task_id.is_none()) {
        Some(flow) => format!("{}\n{flow}", stored_form(&content)),
        None => stored_form(&content),
    };
    Digest::of(digested.as_bytes())
}

/// The message itself, in JSON of 1.0 on one line.
pub(crate) fn message_text(message: &Message) -> String {
    match write(Version::V10, &Reply::SentMessage(message.clone())) {
        Value::Object(mut members) => members.remove("message").unwrap_or_default().compact(),
        other => other.compact(),
    }
}

/// The stored form of a message: `{"message": …}` in JSON of 1.0, as [`crate::a2a::task::loader`] reads it.
pub(crate) fn stored_form(message: &Message) -> String {
    write(Version::V10, &Reply::SentMessage(message.clone())).compact()
}

pub(crate) fn was_done(app: &App, row: &MessageRow) -> Result<bool, Fault> {
    read(app, |reader| reader.has_request(&row.run, &row.request))
}

/// Removes a refused message, with its push configuration. It stays if the engine may still carry it out:
/// then it is found when the same message is sent again.
pub(crate) fn forget_refused(
    app: &App,
    row: &MessageRow,
    push: StoredPushConfig<'_>,
    problem: Problem,
) -> Fault {
    app.note(&problem);
    if !matches!(problem.code, Code::EngineStopping | Code::StoreFailed) {
        push.revoke();
        if let Err(error) = app.store.forget_message(row) {
            // Only logged, because the client gets the refusal itself.
            internal_fault(app, error);
        }
    }
    problem.into()
}

/// The ids to which a message belongs.
pub(crate) struct RowIds<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) context: &'a str,
    /// The task to which it is sent; empty for a message that starts one.
    pub(crate) task: &'a str,
    /// The id of its request to the engine.
    pub(crate) request: String,
}

/// The row of a new message.
pub(crate) fn new_row(app: &App, client: &Client, message: &Message, ids: RowIds<'_>) -> MessageRow {
    MessageRow {
        run: ids.run.clone(),
        token: client.bearer.id.clone(),
        context: ids.context.to_owned(),
        task: ids.task.to_owned(),
        message_id: message.id.clone(),
        digest: digest(client, message),
        request: ids.request,
        body: stored_form(message),
        at: app.now(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_a2a::model::{Part, Role};
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
