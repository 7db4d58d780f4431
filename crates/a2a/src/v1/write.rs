//! Writes results and the items of streams.

use super::enums;
use crate::{
    base64_bytes,
    model::{
        Artifact, ArtifactUpdate, Content, Message, Part, PushConfig, StatusUpdate, StreamItem, Task,
        TaskStatus,
    },
    object_writer::ObjectWriter,
    request::{Reply, TaskPage},
};
use envoi_contract::json::Value;

/// The `result` of a JSON-RPC response, or the body of an HTTP+JSON response.
pub(crate) fn reply(reply: &Reply) -> Value {
    match reply {
        Reply::SentTask(sent) => ObjectWriter::new().put("task", task(sent)).value(),
        Reply::SentMessage(sent) => ObjectWriter::new().put("message", message(sent)).value(),
        Reply::Task(one) => task(one),
        Reply::Tasks(page) => tasks(page),
        Reply::Push(config) => push_config(config),
        Reply::Pushes { configs, next_page_token } => ObjectWriter::new()
            .list("configs", configs.iter().map(push_config).collect())
            .word("nextPageToken", Some(next_page_token))
            .value(),
        Reply::Nothing => ObjectWriter::new().value(),
        Reply::Card(card) => card.clone(),
    }
}

/// A response of a stream. JSON-RPC has it as `result`; HTTP+JSON and webhooks have it directly.
pub(crate) fn stream_item(item: &StreamItem) -> Value {
    let (name, value) = match item {
        StreamItem::Task(one) => ("task", task(one)),
        StreamItem::Message(one) => ("message", message(one)),
        StreamItem::Status(update) => ("statusUpdate", status_update(update)),
        StreamItem::Artifact(update) => ("artifactUpdate", artifact_update(update)),
    };
    ObjectWriter::new().put(name, value).value()
}

/// A page of tasks. All four members are always present; the last page has an empty token.
fn tasks(page: &TaskPage) -> Value {
    ObjectWriter::new()
        .put("tasks", page.tasks.iter().map(task).collect::<Vec<_>>())
        .put("nextPageToken", page.next_page_token.as_str())
        .put("pageSize", u64::from(page.page_size))
        .put("totalSize", page.total_size)
        .value()
}

fn task(task: &Task) -> Value {
    let Task { id, context_id, status: at, artifacts, history, metadata } = task;
    ObjectWriter::new()
        .put("id", id.as_str())
        .word("contextId", Some(context_id))
        .put("status", status(at))
        .list("artifacts", artifacts.iter().map(artifact).collect())
        .list("history", history.iter().map(message).collect())
        .object("metadata", metadata)
        .value()
}

fn status(status: &TaskStatus) -> Value {
    let TaskStatus { state, message: spoken, timestamp } = status;
    ObjectWriter::new()
        .put("state", enums::state(*state))
        .maybe("message", spoken.as_ref().map(message))
        .time("timestamp", *timestamp)
        .value()
}

pub(super) fn message(message: &Message) -> Value {
    let Message { id, context_id, task_id, role, parts, metadata, extensions, reference_task_ids } = message;
    ObjectWriter::new()
        .put("messageId", id.as_str())
        .word("contextId", context_id.as_deref())
        .word("taskId", task_id.as_deref())
        .put("role", enums::role(*role))
        .list("parts", parts.iter().map(part).collect())
        .object("metadata", metadata)
        .words("extensions", extensions)
        .words("referenceTaskIds", reference_task_ids)
        .value()
}

fn part(part: &Part) -> Value {
    let Part { content, metadata, filename, media_type } = part;
    let writing = ObjectWriter::new();
    let writing = match content {
        Content::Text(text) => writing.put("text", text.as_str()),
        Content::Raw(bytes) => writing.put("raw", base64_bytes::write(bytes)),
        Content::Url(url) => writing.put("url", url.as_str()),
        Content::Data(data) => writing.put("data", data.clone()),
    };
    writing
        .object("metadata", metadata)
        .word("filename", filename.as_deref())
        .word("mediaType", media_type.as_deref())
        .value()
}

fn artifact(artifact: &Artifact) -> Value {
    let Artifact { id, name, description, parts, metadata, extensions } = artifact;
    ObjectWriter::new()
        .put("artifactId", id.as_str())
        .word("name", name.as_deref())
        .word("description", description.as_deref())
        .list("parts", parts.iter().map(part).collect())
        .object("metadata", metadata)
        .words("extensions", extensions)
        .value()
}

fn status_update(update: &StatusUpdate) -> Value {
    let StatusUpdate { task_id, context_id, status: at, metadata, last: _ } = update;
    ObjectWriter::new()
        .put("taskId", task_id.as_str())
        .put("contextId", context_id.as_str())
        .put("status", status(at))
        .object("metadata", metadata)
        .value()
}

fn artifact_update(update: &ArtifactUpdate) -> Value {
    let ArtifactUpdate { task_id, context_id, artifact: made, append, last_chunk, metadata } = update;
    ObjectWriter::new()
        .put("taskId", task_id.as_str())
        .put("contextId", context_id.as_str())
        .put("artifact", artifact(made))
        .flag("append", *append)
        .flag("lastChunk", *last_chunk)
        .object("metadata", metadata)
        .value()
}

pub(super) fn push_config(config: &PushConfig) -> Value {
    let PushConfig { id, task_id, url, token, authentication } = config;
    let authentication = authentication.as_ref().map(|known| {
        let credentials = known.credentials.as_ref().map(|secret| secret.0.as_str());
        ObjectWriter::new().put("scheme", known.scheme.as_str()).word("credentials", credentials).value()
    });
    ObjectWriter::new()
        .word("id", id.as_deref())
        .word("taskId", task_id.as_deref())
        .put("url", url.as_str())
        .word("token", token.as_ref().map(|secret| secret.0.as_str()))
        .maybe("authentication", authentication)
        .value()
}
