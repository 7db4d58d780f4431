//! Reads the parameters of the eleven operations.

use super::enums;
use crate::{
    base64_bytes,
    fault::Fault,
    field_reader::{FieldReader, MemberNames, REQUIRED, Violations},
    model::{Authentication, Content, Message, Part, PushConfig, Secret},
    request::{
        Configuration, ListQuery, MOST_TASKS_OF_A_PAGE, Method, Params, Request, SendRequest,
        TASKS_OF_A_PAGE, TaskQuery,
    },
};
use envoi_contract::json::Object;

/// Reads the parameters of `method`.
///
/// # Errors
/// An `InvalidParams` that names the invalid fields.
pub(crate) fn request(method: Method, params: &Object) -> Result<Request, Fault> {
    let wrong = Violations::default();
    let fields = FieldReader::of(params, MemberNames::Proto, &wrong);
    let read = self::params(method, &fields);
    let tenant = fields.word("tenant");
    wrong.refuse(read.map(|params| Request { tenant, params }))
}

fn params(method: Method, fields: &FieldReader<'_>) -> Option<Params> {
    Some(match method {
        Method::Send => Params::Send(send(fields)?),
        Method::Stream => Params::Stream(send(fields)?),
        Method::Get => {
            let history_length = fields.count("historyLength");
            Params::Get(TaskQuery { id: fields.required_word("id")?, history_length })
        }
        Method::List => Params::List(list(fields)),
        Method::Cancel => {
            let metadata = fields.free("metadata");
            Params::Cancel { id: fields.required_word("id")?, metadata }
        }
        Method::Subscribe => Params::Subscribe { id: fields.required_word("id")? },
        Method::PushSet => {
            if fields.word("taskId").is_none() {
                fields.wrong(fields.at("taskId"), REQUIRED);
            }
            Params::PushSet(push_config(fields)?)
        }
        Method::PushGet => {
            let task_id = fields.required_word("taskId");
            let id = fields.required_word("id");
            Params::PushGet { task_id: task_id?, id: Some(id?) }
        }
        Method::PushList => {
            let page_size = fields.count("pageSize").filter(|size| *size > 0);
            let page_token = fields.word("pageToken");
            Params::PushList { task_id: fields.required_word("taskId")?, page_size, page_token }
        }
        Method::PushDelete => {
            let task_id = fields.required_word("taskId");
            let id = fields.required_word("id");
            Params::PushDelete { task_id: task_id?, id: id? }
        }
        Method::ExtendedCard => Params::ExtendedCard,
    })
}

fn send(fields: &FieldReader<'_>) -> Option<SendRequest> {
    let message = fields.required_inner("message", message);
    let configuration = fields.inner("configuration", configuration);
    let metadata = fields.free("metadata");
    let configuration = configuration
        .unwrap_or_else(|| Configuration { return_immediately: Some(false), ..Configuration::default() });
    Some(SendRequest { message: message?, configuration, metadata })
}

fn configuration(fields: &FieldReader<'_>) -> Option<Configuration> {
    Some(Configuration {
        accepted_output_modes: fields.words("acceptedOutputModes"),
        push_config: fields.inner("taskPushNotificationConfig", push_config),
        history_length: fields.count("historyLength"),
        return_immediately: Some(fields.flag("returnImmediately").unwrap_or(false)),
    })
}

fn message(fields: &FieldReader<'_>) -> Option<Message> {
    let id = fields.required_word("messageId");
    let role = fields.required_one_of("role", enums::role_of, enums::ROLES);
    let parts = fields.elements("parts", part);
    let message = Message {
        id: id.unwrap_or_default(),
        context_id: fields.word("contextId"),
        task_id: fields.word("taskId"),
        role: role?,
        parts,
        metadata: fields.free("metadata"),
        extensions: fields.words("extensions"),
        reference_task_ids: fields.words("referenceTaskIds"),
    };
    Some(message)
}

fn part(fields: &FieldReader<'_>) -> Option<Part> {
    let there = ["text", "raw", "url", "data"].map(|name| {
        // For `data`, null is a value. For any other member, null means absent.
        fields.present(name).filter(|value| name == "data" || !value.is_null())
    });
    let metadata = fields.free("metadata");
    let filename = fields.word("filename");
    let media_type = fields.word("mediaType");
    let content = match there {
        [Some(_), None, None, None] => Content::Text(fields.text("text")?),
        [None, Some(_), None, None] => Content::Raw(raw(fields, "raw")?),
        [None, None, Some(_), None] => Content::Url(fields.required_word("url")?),
        [None, None, None, Some(data)] => Content::Data(data.clone()),
        _ => {
            fields.wrong(fields.path(), "Must have exactly one of text, raw, url, data.");
            return None;
        }
    };
    Some(Part { content, metadata, filename, media_type })
}

fn raw(fields: &FieldReader<'_>, name: &str) -> Option<Vec<u8>> {
    let bytes = base64_bytes::read(&fields.text(name)?);
    if bytes.is_none() {
        fields.wrong(fields.at(name), "Must be base64.");
    }
    bytes
}

fn list(fields: &FieldReader<'_>) -> ListQuery {
    let page_size = fields.count("pageSize").unwrap_or(TASKS_OF_A_PAGE);
    if !(1..=MOST_TASKS_OF_A_PAGE).contains(&page_size) {
        fields.wrong(fields.at("pageSize"), format!("Must be from 1 to {MOST_TASKS_OF_A_PAGE}."));
    }
    ListQuery {
        context_id: fields.word("contextId"),
        state: fields.one_of("status", enums::state_of, &enums::states()).flatten(),
        page_size,
        page_token: fields.word("pageToken"),
        history_length: fields.count("historyLength"),
        status_after: fields.time("statusTimestampAfter"),
        include_artifacts: fields.flag("includeArtifacts").unwrap_or(false),
    }
}

fn push_config(fields: &FieldReader<'_>) -> Option<PushConfig> {
    let authentication = fields.inner("authentication", |fields| {
        let credentials = fields.word("credentials").map(Secret);
        Some(Authentication { scheme: fields.required_word("scheme")?, credentials })
    });
    Some(PushConfig {
        id: fields.word("id"),
        task_id: fields.word("taskId"),
        token: fields.word("token").map(Secret),
        authentication,
        url: fields.required_word("url")?,
    })
}
