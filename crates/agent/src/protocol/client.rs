//! Calls to an agent: JSON-RPC in the agent's version of the protocol.

use super::{
    endpoint::{Endpoint, Version},
    extension::USER_ENVELOPE,
    http::{Http, RequestError},
    message::Message,
    task::Task,
};
use crate::input::mask::Mask;
use envoi_contract::{
    json::{Object, Value},
    time::Timestamp,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// How many messages of a task's history are requested.
const HISTORY: u64 = 50;

/// How many tasks of a list are requested together (A2A 1.0: at most 100).
const PAGE: u64 = 50;

/// How many pages of the list are searched. More than that would keep an agent with many tasks busy.
const PAGES: usize = 20;

/// An A2A client.
pub(crate) struct Client {
    token: Option<String>,
    pub(crate) http: Http,
    pub(crate) mask: Arc<dyn Mask>,
}

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// The request certainly did not arrive, or the agent wants it again later.
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
    /// A time before the message was sent, even by an agent's clock that is slow.
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

/// One call of JSON-RPC.
struct Call<'c> {
    method: &'c str,
    params: Object,
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
        let (method, configuration) = match to.version {
            Version::V1 => ("SendMessage", Object::from([("returnImmediately", Value::from(true))])),
            Version::V03 => {
                let modes = Value::from(vec!["text", "text/plain", "application/json"]);
                let members = [("acceptedOutputModes", modes), ("blocking", Value::from(false))];
                ("message/send", Object::from(members))
            }
        };
        let params = Object::from([
            ("message", message.to_value(to.version)),
            ("configuration", Value::Object(configuration)),
        ]);
        let call = Call { method, params, envelope: message.envelope, timeout: Some(timeout) };
        let result = self.call(to, call)?;
        let task = result.get("task").unwrap_or(&result);
        if let Some(task) = self.read_task(task) {
            return Ok(Reply::Task(Box::new(task)));
        }
        let message = result.get("message").unwrap_or(&result);
        if message.get("parts").is_some() {
            return Ok(Reply::Message(self.mask.value(message)));
        }
        Err(CallError::Unknown("its answer is neither a task nor a message".to_owned()))
    }

    pub(crate) fn get(&self, to: &Endpoint, task: &str) -> Result<Task, CallError> {
        let params = Object::from([("id", Value::from(task)), ("historyLength", Value::from(HISTORY))]);
        let method = if to.version == Version::V1 { "GetTask" } else { "tasks/get" };
        self.call_for_task(to, method, params)
    }

    pub(crate) fn cancel(&self, to: &Endpoint, task: &str) -> Result<Task, CallError> {
        let method = if to.version == Version::V1 { "CancelTask" } else { "tasks/cancel" };
        self.call_for_task(to, method, Object::from([("id", Value::from(task))]))
    }

    /// Searches the task that a message has begun: a task of its context, which no other client uses, or a task whose history
    /// contains the message. `None` does not prove that there will be none: the agent may not have come to the message yet.
    pub(crate) fn find_task(&self, to: &Endpoint, by: &SentMessage) -> Result<Option<Task>, CallError> {
        if to.version == Version::V03 {
            return Err(CallError::Unsupported("version 0.3 lists no tasks".to_owned()));
        }
        let found = self.find_by_context(to, by)?;
        // Some agents replace the context's id by one of their own.
        if found.is_some() { Ok(found) } else { self.find_by_history(to, by) }
    }

    fn find_by_context(&self, to: &Endpoint, by: &SentMessage) -> Result<Option<Task>, CallError> {
        let params = Object::from([("contextId", Value::from(by.context.as_str()))]);
        let page = self.list(to, params)?;
        let is_ours = |task: &Task| task.context.as_deref() == Some(by.context.as_str());
        // The list is newest first. The first task counts, if the agent has begun several.
        Ok(page.tasks.into_iter().rfind(is_ours))
    }

    fn find_by_history(&self, to: &Endpoint, by: &SentMessage) -> Result<Option<Task>, CallError> {
        let has_message = |task: &Task| task.history.iter().any(|message| message.id == by.id);
        let mut next = None;
        for _ in 0..PAGES {
            let since = Value::from(by.not_before.to_string());
            let mut params =
                Object::from([("statusTimestampAfter", since), ("historyLength", Value::from(HISTORY))]);
            if let Some(next) = next.take() {
                params.insert("pageToken", Value::String(next));
            }
            // The agent may not support this filter. Then nothing is found, and that proves nothing either.
            let Ok(page) = self.list(to, params) else { break };
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

    fn list(&self, to: &Endpoint, mut params: Object) -> Result<Page, CallError> {
        params.insert("pageSize", Value::from(PAGE));
        let result = self.call(to, Call { method: "ListTasks", params, envelope: false, timeout: None })?;
        let listed = result.get("tasks").and_then(Value::as_array).unwrap_or_default();
        let next = result.get("nextPageToken").and_then(Value::as_str).filter(|token| !token.is_empty());
        let tasks = listed.iter().filter_map(|task| self.read_task(task)).collect();
        Ok(Page { tasks, next: next.map(str::to_owned) })
    }

    fn call_for_task(&self, to: &Endpoint, method: &str, params: Object) -> Result<Task, CallError> {
        let result = self.call(to, Call { method, params, envelope: false, timeout: None })?;
        let task = self.read_task(result.get("task").unwrap_or(&result));
        task.ok_or_else(|| CallError::Unknown("its answer is no task".to_owned()))
    }

    /// A task with its question masked, because the question is compared with one that was masked and written to a file.
    fn read_task(&self, value: &Value) -> Option<Task> {
        let task = Task::read(value)?;
        Some(Task { question: task.question.masked(&*self.mask), ..task })
    }

    fn call(&self, to: &Endpoint, call: Call<'_>) -> Result<Value, CallError> {
        let mut params = call.params;
        if let (Some(tenant), Version::V1) = (&to.tenant, to.version) {
            params.insert("tenant", Value::from(tenant.as_str()));
        }
        let body = Value::Object(Object::from([
            ("jsonrpc", Value::from("2.0")),
            ("id", Value::from(1_u64)),
            ("method", Value::from(call.method)),
            ("params", Value::Object(params)),
        ]));
        let bearer = self.token.as_ref().map(|token| format!("Bearer {token}"));
        let mut headers: Vec<(&str, &str)> = Vec::new();
        if to.version == Version::V1 {
            headers.push(("a2a-version", "1.0"));
        }
        if call.envelope {
            let name = if to.version == Version::V1 { "a2a-extensions" } else { "x-a2a-extensions" };
            headers.push((name, USER_ENVELOPE));
        }
        headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        let answer =
            self.http.post(&to.url, &headers, &body.compact(), call.timeout).map_err(
                |error| match error {
                    RequestError::NotSent(message) => CallError::NotSent(message),
                    RequestError::Unknown(message) => CallError::Unknown(message),
                },
            )?;
        result(answer.status, &answer.body)
    }
}

/// The result that an answer holds.
///
/// A proxy before the agent may answer in its place (too busy, broken). Its status shows that, whatever the body is.
fn result(status: u16, body: &[u8]) -> Result<Value, CallError> {
    let answer = Value::parse(body);
    let is_success = (200..300).contains(&status);
    let mut message = format!("the agent answered {status}");
    if let Ok(answer) = &answer
        && let Some(error) = answer.get("error").filter(|error| !error.is_null())
    {
        let error = rpc_error(error);
        // A code of the agent's own proves nothing, so the status decides.
        let is_proof =
            !matches!(error, CallError::Unknown(_)) && status < 500 && !matches!(status, 425 | 429);
        if is_proof || is_success {
            return Err(error);
        }
        message = format!("{message}: {error}");
    }
    if let (Ok(answer), true) = (&answer, is_success) {
        let result = answer.get("result").cloned();
        return result
            .ok_or_else(|| CallError::Unknown("its answer has neither a result nor an error".to_owned()));
    }
    match status {
        // The agent wants the same request later: it has not accepted this one.
        425 | 429 => Err(CallError::NotSent(message)),
        401 | 403 => Err(CallError::Refused(format!("{message}: the token is not taken"))),
        300..=407 | 409..=499 => Err(CallError::Refused(message)),
        _ => Err(CallError::Unknown(match answer {
            Ok(_) => message,
            Err(error) => format!("{message}, which is no JSON: {error}"),
        })),
    }
}

/// An error of JSON-RPC or A2A, by its code.
fn rpc_error(error: &Value) -> CallError {
    let message = error.get("message").and_then(Value::as_str).unwrap_or("no reason given");
    let code = error.get("code").and_then(Value::as_number).map_or("", |code| code.as_str());
    let text = format!("{message} ({code})");
    match code {
        "-32602" => CallError::InvalidParams(text),
        "-32001" => CallError::TaskNotFound,
        "-32601" | "-32004" => CallError::Unsupported(text),
        "-32700" | "-32600" | "-32005" | "-32007" | "-32008" | "-32009" => CallError::Refused(text),
        // An internal error may come after the message was accepted; a code of the agent's own may mean anything.
        _ => CallError::Unknown(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_certainly_was_not_taken_counts_as_refused() {
        let error =
            |code: i32| format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"no"}}}}"#);
        let result_of = |status: u16, body: &str| match result(status, body.as_bytes()) {
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
