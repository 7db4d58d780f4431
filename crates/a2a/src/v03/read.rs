//! Reads the parameters of the ten operations that 0.3 has.
//!
//! `kind` may be missing, because the other members imply it. If it is present, it must be valid.

use super::enums;
use crate::{
    base64_bytes,
    fault::{Fault, Kind},
    field_reader::{FieldReader, MemberNames, NOT_EMPTY, Violations},
    model::{Authentication, Content, Message, Part, PushConfig, Secret},
    request::{Configuration, Method, Params, Request, SendRequest, TaskQuery},
};
use envoi_contract::json::{Object, Value};

/// Reads the parameters of `method`.
///
/// # Errors
/// An `InvalidParams` that names the invalid fields.
pub(crate) fn request(method: Method, params: &Object) -> Result<Request, Fault> {
    if method == Method::List {
        return Err(Fault::new(Kind::MethodNotFound));
    }
    let wrong = Violations::default();
    let read = self::params(method, &FieldReader::of(params, MemberNames::Exact, &wrong));
    wrong.refuse(read.map(|params| Request { tenant: None, params }))
}

fn params(method: Method, fields: &FieldReader<'_>) -> Option<Params> {
    Some(match method {
        Method::Send => Params::Send(send(fields)?),
        Method::Stream => Params::Stream(send(fields)?),
        Method::Get => {
            let history_length = fields.count("historyLength");
            Params::Get(TaskQuery { id: fields.required_word("id")?, history_length })
        }
        Method::Cancel => {
            let metadata = fields.free("metadata");
            Params::Cancel { id: fields.required_word("id")?, metadata }
        }
        Method::Subscribe => Params::Subscribe { id: fields.required_word("id")? },
        Method::PushSet => {
            let task_id = fields.required_word("taskId");
            let config = fields.required_inner("pushNotificationConfig", push_config);
            Params::PushSet(PushConfig { task_id: Some(task_id?), ..config? })
        }
        Method::PushGet => {
            let id = fields.word("pushNotificationConfigId");
            Params::PushGet { task_id: fields.required_word("id")?, id }
        }
        Method::PushList => {
            Params::PushList { task_id: fields.required_word("id")?, page_size: None, page_token: None }
        }
        Method::PushDelete => {
            let task_id = fields.required_word("id");
            let id = fields.required_word("pushNotificationConfigId");
            Params::PushDelete { task_id: task_id?, id: id? }
        }
        Method::ExtendedCard => Params::ExtendedCard,
        Method::List => return None,
    })
}

fn send(fields: &FieldReader<'_>) -> Option<SendRequest> {
    let message = fields.required_inner("message", message);
    let configuration = fields.inner("configuration", configuration).unwrap_or_default();
    let metadata = fields.free("metadata");
    Some(SendRequest { message: message?, configuration, metadata })
}

fn configuration(fields: &FieldReader<'_>) -> Option<Configuration> {
    Some(Configuration {
        accepted_output_modes: fields.words("acceptedOutputModes"),
        push_config: fields.inner("pushNotificationConfig", push_config),
        history_length: fields.count("historyLength"),
        return_immediately: fields.flag("blocking").map(|blocking| !blocking),
    })
}

fn message(fields: &FieldReader<'_>) -> Option<Message> {
    fields.one_of("kind", |kind| (kind == "message").then_some(()), "message");
    let id = fields.required_word("messageId");
    let role = fields.required_one_of("role", enums::role_of, enums::ROLES);
    let message = Message {
        id: id.unwrap_or_default(),
        context_id: fields.word("contextId"),
        task_id: fields.word("taskId"),
        parts: fields.elements("parts", part),
        metadata: fields.free("metadata"),
        extensions: fields.words("extensions"),
        reference_task_ids: fields.words("referenceTaskIds"),
        role: role?,
    };
    Some(message)
}

/// The kind of a part. The names are those of `kind`; except for `file`, they are also the names of the member with
/// the content.
#[derive(Clone, Copy)]
enum PartKind {
    Text,
    File,
    Data,
}

impl PartKind {
    const ALL: [(Self, &'static str); 3] = [(Self::Text, "text"), (Self::File, "file"), (Self::Data, "data")];

    /// The kind by the member `kind`, or without it by the one member that is present.
    fn of(fields: &FieldReader<'_>) -> Option<Self> {
        let named =
            |word: &str| Self::ALL.into_iter().find(|(_, known)| *known == word).map(|(kind, _)| kind);
        if fields.present("kind").is_some_and(|kind| !kind.is_null()) {
            return fields.required_one_of("kind", named, "text, file, data");
        }
        let mut there = Self::ALL.into_iter().filter(|(_, member)| fields.present(member).is_some());
        match (there.next(), there.next()) {
            (Some((kind, _)), None) => Some(kind),
            _ => {
                fields.wrong(fields.path(), "Must have exactly one of text, file, data, or say its kind.");
                None
            }
        }
    }
}

fn part(fields: &FieldReader<'_>) -> Option<Part> {
    let mut metadata = fields.free("metadata");
    match PartKind::of(fields)? {
        PartKind::Text => {
            let text = fields.required_text("text")?;
            Some(Part { metadata, ..Part::text(text) })
        }
        PartKind::Data => {
            let data = fields.required_free("data")?;
            let data = unwrapped(data, &mut metadata);
            Some(Part { metadata, ..Part::of(Content::Data(data)) })
        }
        PartKind::File => fields.required_inner("file", |file| {
            let filename = file.word("name");
            let media_type = file.word("mimeType");
            Some(Part { content: file_content(file)?, metadata: metadata.clone(), filename, media_type })
        }),
    }
}

fn file_content(file: &FieldReader<'_>) -> Option<Content> {
    match (file.text("bytes"), file.word("uri")) {
        (Some(text), None) => {
            let bytes = base64_bytes::read(&text);
            if bytes.is_none() {
                file.wrong(file.at("bytes"), "Must be base64.");
            }
            bytes.map(Content::Raw)
        }
        (None, Some(uri)) => Some(Content::Url(uri)),
        _ => {
            file.wrong(file.path(), "Must have exactly one of bytes, uri.");
            None
        }
    }
}

/// Unwraps data that was wrapped because it is not an object.
fn unwrapped(data: Object, metadata: &mut Object) -> Value {
    let is_wrapped = metadata.get(enums::WRAPPED).and_then(Value::as_bool) == Some(true);
    match data.get(enums::WRAPPED_IN) {
        Some(value) if is_wrapped => {
            metadata.remove(enums::WRAPPED);
            value.clone()
        }
        _ => Value::Object(data),
    }
}

fn push_config(fields: &FieldReader<'_>) -> Option<PushConfig> {
    let authentication = fields.inner("authentication", |fields| {
        let credentials = fields.word("credentials").map(Secret);
        let scheme = fields.words("schemes").into_iter().find(|scheme| !scheme.is_empty());
        if scheme.is_none() && credentials.is_some() {
            fields.wrong(fields.at("schemes"), NOT_EMPTY);
        }
        Some(Authentication { scheme: scheme?, credentials })
    });
    Some(PushConfig {
        id: fields.word("id"),
        task_id: None,
        token: fields.word("token").map(Secret),
        authentication,
        url: fields.required_word("url")?,
    })
}
