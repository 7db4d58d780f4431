//! What the public kit of A2A's tests wants of the agent under test: that the id of a message says what is to happen.
//!
//! Only in a build with the feature `tck`, which is for `spec/tck/run.sh` alone. Almost all of it are runs of flows as any others
//! (`spec/tck/flows`): here is only which flow an id means, and the few things that the kit wants and no run ever says.

use super::{
    fault::{Fault, Kind},
    fold::Fold,
    model::{Content, Message, Part, Role, StreamItem, Task},
    request::{Params, SendRequest},
    task::FLOW,
};
use envoi_contract::json::{Object, Value};

#[cfg(not(debug_assertions))]
compile_error!("the feature `tck` lets the id of a message say what is run; it has no place in a release");

/// How the ids of messages begin, and the flows that they mean. Whatever else comes means the configured flow.
const FLOWS: [(&str, &str); 7] = [
    ("tck-artifact-text", "tck-artifact-text"),
    ("tck-artifact-file-url", URL),
    ("tck-artifact-file", "tck-artifact-file"),
    ("tck-artifact-data", DATA),
    (ASKS, ASKS),
    ("tck-stream-artifact-chunked", CHUNKS),
    ("tck-stream-", "tck-artifact-text"),
];

/// A task that asks; for a task that has asked, that it is to ask again.
const ASKS: &str = "tck-input-required";

/// Its artifact is told as data.
const DATA: &str = "tck-artifact-data";

/// Its artifact is told as an address.
const URL: &str = "tck-artifact-file-url";

/// Its artifact grows: what is added is told as a chunk.
const CHUNKS: &str = "tck-artifact-chunks";

/// The first of these chunks.
const FIRST_CHUNK: &str = "chunk-1 ";

/// How a message that is not to be done is answered.
pub(super) enum Instead {
    /// With this message.
    Said(Box<Message>),
    /// With this error. A run is refused before there is one: no task is ever rejected.
    Refused(Fault),
}

/// A request as the kit means it.
///
/// # Errors
/// Nothing is to be done.
pub(super) fn meant(params: Params) -> Result<Params, Instead> {
    Ok(match params {
        Params::Send(message) => Params::Send(message_meant(message)?),
        Params::Stream(message) => Params::Stream(message_meant(message)?),
        params => params,
    })
}

fn message_meant(mut request: SendRequest) -> Result<SendRequest, Instead> {
    let message = &mut request.message;
    if message.id.starts_with("tck-message-response") {
        return Err(Instead::Said(Box::new(Message {
            id: format!("{}-answer", message.id),
            role: Role::Agent,
            parts: vec![Part::text("Direct message response")],
            ..message.clone()
        })));
    }
    if message.id.starts_with("tck-reject-task") {
        return Err(Instead::Refused(Fault::new(Kind::UnsupportedOperation).detail("rejected")));
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

/// Tells what was added to an artifact as a chunk of it, where the kit wants that.
pub(super) fn told(item: StreamItem, fold: &Fold) -> StreamItem {
    let grows = fold.run().started().is_some_and(|started| started.flow.as_str() == CHUNKS);
    if grows { in_chunks(item) } else { item }
}

fn in_chunks(mut item: StreamItem) -> StreamItem {
    let StreamItem::Artifact(update) = &mut item else { return item };
    let Some(Part { content: Content::Text(text), .. }) = update.artifact.parts.first_mut() else {
        return item;
    };
    match text.strip_prefix(FIRST_CHUNK).filter(|more| !more.is_empty()).map(str::to_owned) {
        Some(more) => (*text, update.append) = (more, true),
        None => update.last_chunk = false,
    }
    item
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            model::{Artifact, ArtifactUpdate},
            request::Configuration,
        },
        *,
    };

    fn request(id: &str, task: Option<&str>) -> Params {
        let message = Message {
            id: id.to_owned(),
            context_id: None,
            task_id: task.map(str::to_owned),
            role: Role::User,
            parts: vec![Part::text("x")],
            metadata: Object::new(),
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        };
        Params::Send(SendRequest {
            message,
            configuration: Configuration::default(),
            metadata: Object::new(),
        })
    }

    #[test]
    fn an_id_says_what_is_run_or_that_nothing_is() {
        let told = |id: &str| match meant(request(id, None)) {
            Ok(Params::Send(request)) => {
                request.message.metadata.get(FLOW).and_then(Value::as_str).unwrap_or("the usual").to_owned()
            }
            Ok(_) => "another request".to_owned(),
            Err(Instead::Said(said)) => format!("{:?}", said.role),
            Err(Instead::Refused(fault)) => format!("{:?}", fault.kind),
        };
        for (id, expected) in [
            ("tck-complete-task-1", "the usual"),
            ("tck-artifact-file-url-1", URL),
            ("tck-artifact-file-1", "tck-artifact-file"),
            ("tck-stream-artifact-chunked-1", CHUNKS),
            ("tck-stream-artifact-text-1", "tck-artifact-text"),
            ("tck-message-response-1", "Agent"),
            ("tck-reject-task-1", "UnsupportedOperation"),
        ] {
            assert_eq!(told(id), expected, "{id}");
        }
    }

    #[test]
    fn what_is_added_is_a_chunk() {
        let update = |text: &str| {
            StreamItem::Artifact(ArtifactUpdate {
                task_id: "t".to_owned(),
                context_id: "c".to_owned(),
                artifact: Artifact {
                    id: "text.txt".to_owned(),
                    name: None,
                    description: None,
                    parts: vec![Part::text(text)],
                    metadata: Object::new(),
                    extensions: Vec::new(),
                },
                append: false,
                last_chunk: true,
                metadata: Object::new(),
            })
        };
        for (whole, chunk, append, last) in
            [(FIRST_CHUNK, FIRST_CHUNK, false, false), ("chunk-1 chunk-2", "chunk-2", true, true)]
        {
            let StreamItem::Artifact(told) = in_chunks(update(whole)) else { panic!("it is an artifact") };
            assert_eq!(told.artifact.parts, [Part::text(chunk)]);
            assert_eq!((told.append, told.last_chunk), (append, last), "{whole}");
        }
    }
}
