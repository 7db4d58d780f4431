//! Calls to an agent: JSON-RPC in the agent's version of the protocol.

use super::{
    endpoint::Endpoint,
    http::{Http, RequestError},
    message::Message,
    task::Task,
};
use crate::input::mask::{Mask, no_json};
use envoi_a2a::{
    extension::USER_ENVELOPE,
    fault::Kind,
    json_rpc::{self, Response, ResponseError},
    received::{self, ReceivedTask, SendReply},
    request::{Configuration, ListQuery, Params, Request, SendRequest, TaskQuery},
    service_parameters::{EXTENSIONS, VERSION},
    version::Version,
    write_request,
};
use envoi_contract::{
    json::{Number, Object, Value},
    time::Timestamp,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// The number of messages of a task's history that are requested.
const HISTORY: u32 = 50;

/// The number of tasks per page of a list (A2A 1.0: at most 100).
const PAGE: u32 = 50;

/// The number of pages that are searched. More would keep an agent with many tasks busy.
const PAGES: usize = 20;

/// An A2A client.
pub(crate) struct Client {
    token: Option<String>,
    pub(crate) http: Http,
    pub(crate) mask: Arc<dyn Mask>,
}

/// The reason why a call has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// The request did not arrive, or the agent wants it again later.
    #[error("{0}")]
    NotSent(String),
    /// The agent may have accepted it.
    #[error("{0}")]
    Unknown(String),
    /// The agent refused it.
    #[error("{0}")]
    Refused(String),
    /// The agent refused it because of its content (-32602).
    #[error("{0}")]
    InvalidParams(String),
    /// The agent has no such task.
    #[error("the agent knows no such task")]
    TaskNotFound,
    /// The agent does not support the call.
    #[error("the agent cannot do that: {0}")]
    Unsupported(String),
}

/// A message that may have begun a task.
pub(crate) struct SentMessage {
    pub(crate) id: String,
    pub(crate) context: String,
    /// A time before the message was sent, even if the agent's clock is slow.
    pub(crate) not_before: Timestamp,
}

/// The reply to a message.
pub(crate) enum Reply {
    Task(Box<Task>),
    /// An answer without a task. Nothing more will come.
    Message(Value),
}

/// Some tasks of a list, newest first.
struct Page {
    tasks: Vec<Task>,
    next: Option<String>,
}

/// A call of JSON-RPC.
struct Call {
    params: Params,
    /// Whether the extension for user envelopes is in use.
    envelope: bool,
    /// The timeout, if it is not the client's.
    timeout: Option<Duration>,
}

impl Client {
    pub(crate) fn new(token: Option<String>, timeout_ms: u64, mask: Arc<dyn Mask>) -> Self {
        Self { token, http: Http::new(Duration::from_millis(timeout_ms)), mask }
    }

    /// A client with one deadline for all its calls together.
    pub(crate) fn with_deadline(token: Option<&str>, deadline: Instant, mask: Arc<dyn Mask>) -> Self {
        Self { token: token.map(str::to_owned), http: Http::with_deadline(deadline), mask }
    }

    /// Whether its calls carry a token.
    pub(crate) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Sends a message and requests an immediate reply. Some agents reply only when the task is over, so the timeout is the
    /// caller's.
    pub(crate) fn send(
        &self,
        to: &Endpoint,
        message: &Message,
        timeout: Duration,
    ) -> Result<Reply, CallError> {
        let params = send_params(to.version, message);
        let result = self.call(to, Call { params, envelope: message.envelope, timeout: Some(timeout) })?;
        match received::send_reply(&result) {
            Some(SendReply::Task(task)) => Ok(Reply::Task(Box::new(self.masked(*task)))),
            Some(SendReply::Message(message)) => Ok(Reply::Message(self.mask.value(message))),
            None => Err(CallError::Unknown("its answer is neither a task nor a message".to_owned())),
        }
    }

    pub(crate) fn get(&self, to: &Endpoint, task: &str) -> Result<Task, CallError> {
        let query = TaskQuery { id: task.to_owned(), history_length: Some(HISTORY) };
        self.call_for_task(to, Params::Get(query))
    }

    pub(crate) fn cancel(&self, to: &Endpoint, task: &str) -> Result<Task, CallError> {
        self.call_for_task(to, Params::Cancel { id: task.to_owned(), metadata: Object::new() })
    }

    /// Finds the task that a message has begun: a task of its context, which no other client uses, or a task whose
    /// history contains the message. `None` does not prove that there will be no task, because the agent may not have
    /// processed the message yet.
    pub(crate) fn find_task(&self, to: &Endpoint, by: &SentMessage) -> Result<Option<Task>, CallError> {
        if to.version == Version::V03 {
            return Err(CallError::Unsupported("version 0.3 lists no tasks".to_owned()));
        }
        let found = self.find_by_context(to, by)?;
        // Some agents replace the context's id with their own.
        if found.is_some() { Ok(found) } else { self.find_by_history(to, by) }
    }

    fn find_by_context(&self, to: &Endpoint, by: &SentMessage) -> Result<Option<Task>, CallError> {
        let page = self.list(to, ListQuery { context_id: Some(by.context.clone()), ..everything() })?;
        let is_ours = |task: &Task| task.context.as_deref() == Some(by.context.as_str());
        // The list is newest first. The first task counts, if the agent has begun several.
        Ok(page.tasks.into_iter().rfind(is_ours))
    }

    fn find_by_history(&self, to: &Endpoint, by: &SentMessage) -> Result<Option<Task>, CallError> {
        let has_message = |task: &Task| task.history.iter().any(|message| message.id == by.id);
        let mut next = None;
        for _ in 0..PAGES {
            let query = ListQuery {
                status_after: Some(by.not_before),
                history_length: Some(HISTORY),
                page_token: next.take(),
                ..everything()
            };
            // The agent may not support this filter. Then nothing is found, which proves nothing.
            let Ok(page) = self.list(to, query) else { break };
            if let Some(task) = page.tasks.into_iter().rfind(has_message) {
                return Ok(Some(task));
            }
            next = page.next;
            if next.is_none() {
                break;
            }
        }
        Ok(None)
    }

    fn list(&self, to: &Endpoint, query: ListQuery) -> Result<Page, CallError> {
        let result = self.call(to, Call { params: Params::List(query), envelope: false, timeout: None })?;
        let page = received::page(&result);
        let tasks = page.tasks.into_iter().map(|task| self.masked(task)).collect();
        Ok(Page { tasks, next: page.next_page_token })
    }

    fn call_for_task(&self, to: &Endpoint, params: Params) -> Result<Task, CallError> {
        let result = self.call(to, Call { params, envelope: false, timeout: None })?;
        let task = received::task(&result);
        task.map(|task| self.masked(task))
            .ok_or_else(|| CallError::Unknown("its answer is no task".to_owned()))
    }

    /// A task with its question masked, because the question is compared with one that was masked and written to a file.
    fn masked(&self, received: ReceivedTask) -> Task {
        let task = Task::new(received);
        Task { question: task.question.masked(&*self.mask), ..task }
    }

    fn call(&self, to: &Endpoint, call: Call) -> Result<Value, CallError> {
        let body = request_text(to, call.params)?;
        let bearer = self.token.as_ref().map(|token| format!("Bearer {token}"));
        let mut headers: Vec<(&str, &str)> = Vec::new();
        let [extensions_of_v10, extensions_of_v03] = EXTENSIONS;
        match to.version {
            Version::V10 => {
                headers.push((VERSION, to.version.word()));
                headers.extend(call.envelope.then_some((extensions_of_v10, USER_ENVELOPE)));
            }
            Version::V03 => headers.extend(call.envelope.then_some((extensions_of_v03, USER_ENVELOPE))),
        }
        headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        let answer = self.http.post(&to.url, &headers, &body, call.timeout).map_err(|error| match error {
            RequestError::NotSent(message) => CallError::NotSent(message),
            RequestError::Unknown(message) => CallError::Unknown(message),
        })?;
        result(answer.status, &answer.body, &*self.mask)
    }
}

/// The parameters to send a message and request an immediate reply.
fn send_params(version: Version, message: &Message) -> Params {
    let accepted = match version {
        Version::V10 => [].as_slice(),
        Version::V03 => &["text", "text/plain", "application/json"],
    };
    let request = SendRequest {
        message: message.to_model(),
        configuration: Configuration {
            accepted_output_modes: accepted.iter().map(|mode| (*mode).to_owned()).collect(),
            push_config: None,
            history_length: None,
            return_immediately: Some(true),
        },
        metadata: Object::new(),
    };
    Params::Send(request)
}

/// The text of a JSON-RPC request to an agent.
fn request_text(to: &Endpoint, params: Params) -> Result<String, CallError> {
    let method = params.method().name(to.version);
    let request = Request { tenant: to.tenant.clone(), params };
    let (Some(method), Some(params)) = (method, write_request(to.version, &request)) else {
        return Err(CallError::Unsupported(format!("{} has no such call", to.version)));
    };
    Ok(json_rpc::request_text(&json_rpc::Id::Number(Number::from(1_u64)), method, params))
}

/// The result in an answer.
///
/// A proxy in front of the agent may answer in its place (too busy, broken). Its status shows that, whatever the body
/// is.
fn result(status: u16, body: &[u8], mask: &dyn Mask) -> Result<Value, CallError> {
    let response = json_rpc::read_response(body);
    let is_success = (200..300).contains(&status);
    let mut message = format!("the agent answered {status}");
    match &response {
        Ok(Response::Error(error)) => {
            let error = rpc_error(error);
            // A code of the agent's own proves nothing, so the status decides.
            let is_proof =
                !matches!(error, CallError::Unknown(_)) && status < 500 && !matches!(status, 425 | 429);
            if is_proof || is_success {
                return Err(error);
            }
            message = format!("{message}: {error}");
        }
        Ok(Response::Result(result)) if is_success => return Ok(result.clone()),
        Ok(Response::Neither) if is_success => {
            return Err(CallError::Unknown("its answer has neither a result nor an error".to_owned()));
        }
        Ok(Response::Result(_) | Response::Neither) | Err(_) => {}
    }
    match status {
        // The agent wants the same request later: it has not accepted this one.
        425 | 429 => Err(CallError::NotSent(message)),
        401 | 403 => Err(CallError::Refused(format!("{message}: the token is not taken"))),
        300..=407 | 409..=499 => Err(CallError::Refused(message)),
        _ => Err(CallError::Unknown(match response {
            Ok(_) => message,
            Err(_) => format!("{message}, which is no JSON{}", no_json(body, mask)),
        })),
    }
}

/// A query for every task, one page at a time.
const fn everything() -> ListQuery {
    ListQuery {
        context_id: None,
        state: None,
        page_size: PAGE,
        page_token: None,
        history_length: None,
        status_after: None,
        include_artifacts: false,
    }
}

/// Converts an error of JSON-RPC or A2A by its code.
fn rpc_error(error: &ResponseError) -> CallError {
    let message = error.message.as_deref().unwrap_or("no reason given");
    let text = format!("{message} ({})", error.code);
    match error.kind() {
        Some(Kind::InvalidParams) => CallError::InvalidParams(text),
        Some(Kind::TaskNotFound) => CallError::TaskNotFound,
        Some(Kind::MethodNotFound | Kind::UnsupportedOperation) => CallError::Unsupported(text),
        Some(
            Kind::ParseError
            | Kind::InvalidRequest
            | Kind::ContentTypeNotSupported
            | Kind::ExtendedAgentCardNotConfigured
            | Kind::ExtensionSupportRequired
            | Kind::VersionNotSupported,
        ) => CallError::Refused(text),
        // An internal error may come after the message was accepted; a code of the agent's own may mean anything.
        _ => CallError::Unknown(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Hides(&'static str);

    impl Mask for Hides {
        fn text(&self, text: &str) -> String {
            text.replace(self.0, "***")
        }

        fn value(&self, value: &Value) -> Value {
            value.clone()
        }
    }

    #[test]
    fn requests_stand_on_the_wire_in_the_form_of_the_version() {
        let message = Message {
            id: "m".to_owned(),
            context: "c".to_owned(),
            task: Some("t".to_owned()),
            text: Some("go".to_owned()),
            data: Some(Value::from(vec![1_u64])),
            envelope: true,
            question: Some(Value::from("q")),
        };
        let endpoint = |version: Version| Endpoint {
            url: "https://a".to_owned(),
            version,
            tenant: Some("f".to_owned()),
            envelope: true,
            once: false,
        };
        let list = ListQuery {
            status_after: Some(Timestamp::from_millis(0)),
            history_length: Some(HISTORY),
            page_token: Some("n".to_owned()),
            ..everything()
        };
        let get = || Params::Get(TaskQuery { id: "t".to_owned(), history_length: Some(HISTORY) });
        let metadata = concat!(
            r#""metadata":{"urn:envoi:a2a:user-envelope:v1":{"user_envelope":true},"urn:envoi:a2a:question":"q"},"#,
            r#""extensions":["urn:envoi:a2a:user-envelope:v1"]}"#
        );
        for (version, params, expected) in [
            (
                Version::V10,
                send_params(Version::V10, &message),
                format!(
                    concat!(
                        r#""SendMessage","params":{{"message":{{"messageId":"m","contextId":"c","taskId":"t","#,
                        r#""role":"ROLE_USER","parts":[{{"text":"go"}},{{"data":[1]}}],{metadata},"#,
                        r#""configuration":{{"returnImmediately":true}},"tenant":"f"}}"#
                    ),
                    metadata = metadata
                ),
            ),
            (
                Version::V03,
                send_params(Version::V03, &message),
                format!(
                    concat!(
                        r#""message/send","params":{{"message":{{"kind":"message","messageId":"m","contextId":"c","#,
                        r#""taskId":"t","role":"user","parts":[{{"kind":"text","text":"go"}},{{"kind":"data","#,
                        r#""data":{{"value":[1]}},"metadata":{{"data_part_compat":true}}}}],{metadata},"#,
                        r#""configuration":{{"acceptedOutputModes":["text","text/plain","application/json"],"#,
                        r#""blocking":false}}}}"#
                    ),
                    metadata = metadata
                ),
            ),
            (
                Version::V10,
                get(),
                r#""GetTask","params":{"id":"t","historyLength":50,"tenant":"f"}"#.to_owned(),
            ),
            (Version::V03, get(), r#""tasks/get","params":{"id":"t","historyLength":50}"#.to_owned()),
            (
                Version::V10,
                Params::List(list),
                concat!(
                    r#""ListTasks","params":{"statusTimestampAfter":"1970-01-01T00:00:00.000Z","historyLength":50,"#,
                    r#""pageToken":"n","pageSize":50,"tenant":"f"}"#
                )
                .to_owned(),
            ),
        ] {
            let expected = format!(r#"{{"jsonrpc":"2.0","id":1,"method":{expected}}}"#);
            assert_eq!(request_text(&endpoint(version), params).unwrap(), expected);
        }
    }

    #[test]
    fn an_answer_that_is_no_json_is_masked_before_a_piece_of_it_is_shown() {
        const SECRET: &str = "At5/pO'x+2yT=Jc-77kL-and-more";
        for body in [
            format!("<html>{SECRET}"),
            format!("{SECRET}<html>"),
            format!("[1, {SECRET}]"),
            format!("{{\"a\": \"{SECRET}"),
        ] {
            let Err(CallError::Unknown(message)) = result(200, body.as_bytes(), &Hides(SECRET)) else {
                panic!("{body}")
            };
            assert!(message.contains("which is no JSON: line 1"), "{message}");
            for from in 0..SECRET.len() - 5 {
                assert!(!message.contains(&SECRET[from..from + 5]), "{message}");
            }
        }
        let Err(CallError::Unknown(message)) = result(200, b"x", &Hides("x")) else { panic!() };
        assert!(message.contains("found `***`"), "{message}");
        let Err(CallError::Unknown(message)) = result(200, b"\"\xff\"", &Hides("x")) else { panic!() };
        assert!(message.ends_with("which is no JSON"), "{message}");
    }

    #[test]
    fn only_what_certainly_was_not_taken_counts_as_refused() {
        let error =
            |code: i32| format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"no"}}}}"#);
        let result_of =
            |status: u16, body: &str| match result(status, body.as_bytes(), &Hides("no text of these")) {
                Ok(_) => "taken",
                Err(CallError::NotSent(_)) => "not sent",
                Err(CallError::Unknown(_)) => "unknown",
                Err(CallError::Refused(_)) => "refused",
                Err(CallError::InvalidParams(_)) => "invalid params",
                Err(CallError::TaskNotFound) => "no task",
                Err(CallError::Unsupported(_)) => "unsupported",
            };
        for (status, code, expected) in [
            (200, -32700, "refused"),
            (200, -32600, "refused"),
            (200, -32601, "unsupported"),
            (400, -32602, "invalid params"),
            (404, -32001, "no task"),
            (200, -32004, "unsupported"),
            (200, -32005, "refused"),
            (200, -32007, "refused"),
            (200, -32008, "refused"),
            (200, -32009, "refused"),
            (200, -32603, "unknown"),
            (200, -32000, "unknown"),
            (200, -32006, "unknown"),
            (200, 500, "unknown"),
            (401, -32000, "refused"),
            (403, -32000, "refused"),
            (429, -32000, "not sent"),
            (429, -32600, "not sent"),
            (425, -32602, "not sent"),
            (408, -32000, "unknown"),
            (503, -32000, "unknown"),
            (500, -32600, "unknown"),
            (502, -32602, "unknown"),
        ] {
            assert_eq!(result_of(status, &error(code)), expected, "{status} {code}");
        }
        for (status, body, expected) in [
            (200, r#"{"result":{}}"#, "taken"),
            (200, r#"{"result":{},"error":null}"#, "taken"),
            (200, "{}", "unknown"),
            (500, r#"{"result":{}}"#, "unknown"),
            (413, "", "refused"),
            (302, "", "refused"),
        ] {
            assert_eq!(result_of(status, body), expected, "{status} {body}");
        }
    }
}
