//! Writes the parameters of requests, for a client. The order of their members is fixed.

use super::write::{message, push_config, push_config_members};
use crate::{
    object_writer::ObjectWriter,
    request::{Configuration, Params, SendRequest},
};
use envoi_contract::json::{Object, Value};

/// The `params` of JSON-RPC; `None` for a list of tasks, for which 0.3 has no operation.
pub(crate) fn params(params: &Params) -> Option<Object> {
    let members = match params {
        Params::Send(send) | Params::Stream(send) => send_members(send),
        Params::Get(query) => {
            ObjectWriter::new().put("id", query.id.as_str()).count("historyLength", query.history_length)
        }
        Params::List(_) => return None,
        Params::Cancel { id, metadata } => {
            ObjectWriter::new().put("id", id.as_str()).object("metadata", metadata)
        }
        Params::Subscribe { id } => ObjectWriter::new().put("id", id.as_str()),
        Params::PushSet(config) => match push_config(config) {
            Value::Object(members) => ObjectWriter::of(members),
            _ => ObjectWriter::new(),
        },
        Params::PushGet { task_id, id } => {
            ObjectWriter::new().put("id", task_id.as_str()).word("pushNotificationConfigId", id.as_deref())
        }
        Params::PushList { task_id, page_size: _, page_token: _ } => {
            ObjectWriter::new().put("id", task_id.as_str())
        }
        Params::PushDelete { task_id, id } => {
            ObjectWriter::new().put("id", task_id.as_str()).put("pushNotificationConfigId", id.as_str())
        }
        Params::ExtendedCard => ObjectWriter::new(),
    };
    Some(members.members())
}

fn send_members(send: &SendRequest) -> ObjectWriter {
    ObjectWriter::new()
        .put("message", message(&send.message))
        .maybe("configuration", configuration(&send.configuration))
        .object("metadata", &send.metadata)
}

/// The configuration; `None` if the agent decides everything.
fn configuration(configuration: &Configuration) -> Option<Value> {
    let blocking = configuration.return_immediately.map(|immediately| !immediately);
    let writing = ObjectWriter::new()
        .words("acceptedOutputModes", &configuration.accepted_output_modes)
        .maybe("pushNotificationConfig", configuration.push_config.as_ref().map(push_config_members))
        .count("historyLength", configuration.history_length)
        .maybe("blocking", blocking.map(Value::from));
    if writing.is_empty() { None } else { Some(writing.value()) }
}
