//! Writes results and the items of streams.

use super::enums;
use crate::{
    base64_bytes,
    model::{
        Artifact, ArtifactUpdate, Content, Message, Part, PushConfig, StatusUpdate, StreamItem, Task,
        TaskStatus,
    },
    object_writer::ObjectWriter,
    request::Reply,
};
use envoi_contract::json::{Object, Value};

/// The `result` of a response. A list of tasks is a plain list, because 0.3 has no such operation.
pub(crate) fn reply(reply: &Reply) -> Value {
    match reply {
        Reply::SentTask(one) | Reply::Task(one) => task(one),
        Reply::SentMessage(one) => message(one),
        Reply::Tasks(page) => Value::Array(page.tasks.iter().map(task).collect()),
        Reply::Push(config) => push_config(config),
        Reply::Pushes { configs, next_page_token: _ } => {
            Value::Array(configs.iter().map(push_config).collect())
        }
        Reply::Nothing => Value::Null,
        Reply::Card(card) => card.clone(),
    }
}

/// The `result` of one response of a stream.
pub(crate) fn stream_item(item: &StreamItem) -> Value {
    match item {
        StreamItem::Task(one) => task(one),
        StreamItem::Message(one) => message(one),
        StreamItem::Status(update) => status_update(update),
        StreamItem::Artifact(update) => artifact_update(update),
    }
}

fn task(task: &Task) -> Value {
    let Task { id, context_id, status: at, artifacts, history, metadata } = task;
    ObjectWriter::new()
        .put("kind", "task")
        .put("id", id.as_str())
        .put("contextId", context_id.as_str())
        .put("status", status(at))
        .list("artifacts", artifacts.iter().map(artifact).collect())
        .list("history", history.iter().map(message).collect())
        .object("metadata", metadata)
        .value()
}

fn status(status: &TaskStatus) -> Value {
    let TaskStatus { state, message: spoken, timestamp } = status;
    ObjectWriter::new()
        .put("state", state.word())
        .maybe("message", spoken.as_ref().map(message))
        .time("timestamp", *timestamp)
        .value()
}

pub(super) fn message(message: &Message) -> Value {
    let Message { id, context_id, task_id, role, parts, metadata, extensions, reference_task_ids } = message;
    ObjectWriter::new()
        .put("kind", "message")
        .put("messageId", id.as_str())
        .word("contextId", context_id.as_deref())
        .word("taskId", task_id.as_deref())
        .put("role", enums::role(*role))
        .put("parts", parts.iter().map(part).collect::<Vec<_>>())
        .object("metadata", metadata)
        .words("extensions", extensions)
        .words("referenceTaskIds", reference_task_ids)
        .value()
}

fn part(part: &Part) -> Value {
    let writing = ObjectWriter::new();
    let writing = match &part.content {
        Content::Text(text) => writing.put("kind", "text").put("text", text.as_str()),
        Content::Raw(bytes) => {
            writing.put("kind", "file").put("file", file(part, "bytes", base64_bytes::write(bytes)))
        }
        Content::Url(url) => writing.put("kind", "file").put("file", file(part, "uri", url.clone())),
        Content::Data(data) => return data_part(data, &part.metadata),
    };
    writing.object("metadata", &part.metadata).value()
}

fn file(part: &Part, name: &str, content: String) -> Value {
    ObjectWriter::new()
        .word("name", part.filename.as_deref())
        .word("mimeType", part.media_type.as_deref())
        .put(name, content)
        .value()
}

/// Data that is not an object is wrapped in one, and marked as wrapped in the metadata.
fn data_part(data: &Value, metadata: &Object) -> Value {
    let mut metadata = metadata.clone();
    let data = match data {
        Value::Object(_) => data.clone(),
        other => {
            metadata.insert(enums::WRAPPED, true.into());
            ObjectWriter::new().put(enums::WRAPPED_IN, other.clone()).value()
        }
    };
    ObjectWriter::new().put("kind", "data").put("data", data).object("metadata", &metadata).value()
}

fn artifact(artifact: &Artifact) -> Value {
    let Artifact { id, name, description, parts, metadata, extensions } = artifact;
    ObjectWriter::new()
        .put("artifactId", id.as_str())
        .word("name", name.as_deref())
        .word("description", description.as_deref())
        .put("parts", parts.iter().map(part).collect::<Vec<_>>())
        .object("metadata", metadata)
        .words("extensions", extensions)
        .value()
}

fn status_update(update: &StatusUpdate) -> Value {
    let StatusUpdate { task_id, context_id, status: at, metadata, last } = update;
    ObjectWriter::new()
        .put("kind", "status-update")
        .put("taskId", task_id.as_str())
        .put("contextId", context_id.as_str())
        .put("status", status(at))
        .put("final", *last)
        .object("metadata", metadata)
        .value()
}

fn artifact_update(update: &ArtifactUpdate) -> Value {
    let ArtifactUpdate { task_id, context_id, artifact: made, append, last_chunk, metadata } = update;
    ObjectWriter::new()
        .put("kind", "artifact-update")
        .put("taskId", task_id.as_str())
        .put("contextId", context_id.as_str())
        .put("artifact", artifact(made))
        .put("append", *append)
        .put("lastChunk", *last_chunk)
        .object("metadata", metadata)
        .value()
}

pub(super) fn push_config(config: &PushConfig) -> Value {
    ObjectWriter::new()
        .word("taskId", config.task_id.as_deref())
        .put("pushNotificationConfig", push_config_members(config))
        .value()
}

/// The configuration without its task, as it is sent with a message.
pub(super) fn push_config_members(config: &PushConfig) -> Value {
    let PushConfig { id, task_id: _, url, token, authentication } = config;
    let authentication = authentication.as_ref().map(|known| {
        let credentials = known.credentials.as_ref().map(|secret| secret.0.as_str());
        ObjectWriter::new()
            .put("schemes", vec![known.scheme.as_str()])
            .word("credentials", credentials)
            .value()
    });
    ObjectWriter::new()
        .word("id", id.as_deref())
        .put("url", url.as_str())
        .word("token", token.as_ref().map(|secret| secret.0.as_str()))
        .maybe("authentication", authentication)
        .value()
}
