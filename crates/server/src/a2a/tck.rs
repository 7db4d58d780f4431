//! What the public kit of A2A's tests wants of the agent under test: that the id of a message says what is to happen.
//!
//! Only in a build with the feature `tck`, which is for `spec/tck/run.sh` alone. Almost all of it are runs of flows as any others
//! (`spec/tck/flows`): here is only which flow an id means, and the few things that the kit wants and no run ever says.

use super::{
    model::{Content, Message, Part, Role, Task},
    request::{Params, SendRequest},
    task::FLOW,
};
use envoi_contract::json::{Object, Value};

#[cfg(not(debug_assertions))]
compile_error!("the feature `tck` lets the id of a message say what is run; it has no place in a release");

/// How the ids of messages begin, and the flows that they mean. Whatever else comes means the configured flow.
const FLOWS: [(&str, &str); 6] = [
    ("tck-artifact-text", "tck-artifact-text"),
    ("tck-artifact-file-url", URL),
    ("tck-artifact-file", "tck-artifact-file"),
    ("tck-artifact-data", DATA),
    (ASKS, ASKS),
    ("tck-stream-", "tck-artifact-text"),
];

/// A task that asks; for a task that has asked, that it is to ask again.
const ASKS: &str = "tck-input-required";

/// Its artifact is told as data.
const DATA: &str = "tck-artifact-data";

/// Its artifact is told as an address.
const URL: &str = "tck-artifact-file-url";

/// A request as the kit means it.
///
/// # Errors
/// Nothing is to be done: it is answered with this message.
pub(super) fn meant(params: Params) -> Result<Params, Box<Message>> {
    Ok(match params {
        Params::Send(message) => Params::Send(message_meant(message)?),
        Params::Stream(message) => Params::Stream(message_meant(message)?),
        params => params,
    })
}

fn message_meant(mut request: SendRequest) -> Result<SendRequest, Box<Message>> {
    let message = &mut request.message;
    if message.id.starts_with("tck-message-response") {
        return Err(Box::new(Message {
            id: format!("{}-answer", message.id),
            role: Role::Agent,
            parts: vec![Part::text("Direct message response")],
            ..message.clone()
        }));
    }
    let flow = FLOWS.iter().find(|(begins, _)| message.id.starts_with(begins)).map(|(_, flow)| *flow);
    match (&message.task_id, flow) {
        (None, Some(flow)) => {
            message.metadata.insert(FLOW, Value::from(flow));
        }
        (Some(_), Some(ASKS)) => {
            let again = Object::from([("choice", Value::from("again"))]);
            message.parts.push(Part::of(Content::Data(Value::Object(again))));
        }
        _ => {}
    }
    Ok(request)
}

/// Tells artifacts as the kit wants them, where a run's are files.
pub(super) fn dressed(mut task: Task) -> Task {
    let flow = task.metadata.get(FLOW).and_then(Value::as_str).map(str::to_owned);
    for part in task.artifacts.iter_mut().flat_map(|made| &mut made.parts) {
        let Content::Text(text) = &part.content else { continue };
        let told = match flow.as_deref() {
            Some(DATA) => Value::parse_str(text).ok().map(Content::Data),
            Some(URL) => Some(Content::Url(text.trim().to_owned())),
            _ => None,
        };
        if let Some(told) = told {
            part.content = told;
        }
    }
    task
}
