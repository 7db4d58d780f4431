//! Writes the parameters of requests, for a client. The order of their members is fixed; `tenant` is last.

use super::{
    enums,
    write::{message, push_config},
};
use crate::{
    object_writer::ObjectWriter,
    request::{Configuration, ListQuery, Params, Request, SendRequest},
};
use envoi_contract::json::{Object, Value};

/// The `params` of JSON-RPC.
pub(crate) fn params(request: &Request) -> Object {
    by_method(&request.params).word("tenant", request.tenant.as_deref()).members()
}

fn by_method(params: &Params) -> ObjectWriter {
    match params {
        Params::Send(send) | Params::Stream(send) => send_members(send),
        Params::Get(query) => {
            ObjectWriter::new().put("id", query.id.as_str()).count("historyLength", query.history_length)
        }
        Params::List(query) => list_members(query),
        Params::Cancel { id, metadata } => {
            ObjectWriter::new().put("id", id.as_str()).object("metadata", metadata)
        }
        Params::Subscribe { id } => ObjectWriter::new().put("id", id.as_str()),
        Params::PushSet(config) => match push_config(config) {
            Value::Object(members) => ObjectWriter::of(members),
            _ => ObjectWriter::new(),
        },
        Params::PushGet { task_id, id } => {
            ObjectWriter::new().put("taskId", task_id.as_str()).word("id", id.as_deref())
        }
        Params::PushList { task_id, page_size, page_token } => ObjectWriter::new()
            .put("taskId", task_id.as_str())
            .count("pageSize", *page_size)
            .word("pageToken", page_token.as_deref()),
        Params::PushDelete { task_id, id } => {
            ObjectWriter::new().put("taskId", task_id.as_str()).put("id", id.as_str())
        }
        Params::ExtendedCard => ObjectWriter::new(),
    }
}

fn send_members(send: &SendRequest) -> ObjectWriter {
    ObjectWriter::new()
        .put("message", message(&send.message))
        .maybe("configuration", configuration(&send.configuration))
        .object("metadata", &send.metadata)
}

/// The configuration; `None` if it equals the default.
fn configuration(configuration: &Configuration) -> Option<Value> {
    let writing = ObjectWriter::new()
        .words("acceptedOutputModes", &configuration.accepted_output_modes)
        .maybe("taskPushNotificationConfig", configuration.push_config.as_ref().map(push_config))
        .count("historyLength", configuration.history_length)
        .flag("returnImmediately", configuration.return_immediately == Some(true));
    if writing.is_empty() { None } else { Some(writing.value()) }
}

fn list_members(query: &ListQuery) -> ObjectWriter {
    ObjectWriter::new()
        .word("contextId", query.context_id.as_deref())
        .word("status", query.state.map(enums::state))
        .time("statusTimestampAfter", query.status_after)
        .count("historyLength", query.history_length)
        .word("pageToken", query.page_token.as_deref())
        .put("pageSize", u64::from(query.page_size))
        .flag("includeArtifacts", query.include_artifacts)
}
