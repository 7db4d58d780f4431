//! What an agent is asked, over JSON-RPC in its version of the protocol.

use crate::{
    QUESTION, USER_ENVELOPE,
    http::{Http, NoAnswer},
    mask::Mask,
    order::Order,
    record::{Endpoint, Record, Version},
    task::{Said, Task},
};
use envoi_contract::{
    json::{Object, Value},
    time::Timestamp,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// How many messages of a task are looked at.
const HISTORY: u64 = 50;

/// How many tasks of a list are looked at together (A2A 1.0: at most 100).
const PAGE: u64 = 50;

/// How many such pages: an agent with more tasks that moved meanwhile is asked by context alone.
const PAGES: usize = 20;

/// How far the clock of an agent may be behind ours, in milliseconds.
const SKEW_MS: i64 = 3_600_000;

/// Who asks.
pub(crate) struct Client {
    token: Option<String>,
    pub(crate) http: Http,
    pub(crate) mask: Arc<dyn Mask>,
}

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// Nobody was there: nothing was taken.
    #[error("{0}")]
    NotSent(String),
    /// It may have been taken.
    #[error("{0}")]
    Unknown(String),
    /// It was heard, and not taken.
    #[error("{0}")]
    Refused(String),
    /// It was heard, and what it says was found wrong.
    #[error("{0}")]
    Wrong(String),
    /// The agent knows no such task.
    #[error("the agent knows no such task")]
    NoTask,
    /// The agent cannot do that at all.
    #[error("the agent cannot do that: {0}")]
    Unsupported(String),
}

/// A message that may have begun a task.
pub(crate) struct Sought {
    pub(crate) message: String,
    pub(crate) context: String,
    /// Before it was sent, by whatever clock.
    pub(crate) since: Timestamp,
}

impl Sought {
    /// The task that the message of this order has begun, for all that is noted.
    pub(crate) fn of(order: &Order, record: &Record) -> Self {
        let sent = record.sent_at.unwrap_or_default();
        Self {
            message: order.message_id(),
            context: record.context.clone().unwrap_or_else(|| order.context()),
            since: Timestamp::from_millis(sent.saturating_sub(SKEW_MS).max(0)),
        }
    }
}

/// What a message comes to.
pub(crate) enum Reply {
    Task(Box<Task>),
    /// An answer without a task; all there will ever be.
    Message(Value),
}

/// A message to an agent.
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) context: String,
    pub(crate) task: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) data: Option<Value>,
    /// Whether the text is contract 5.
    pub(crate) envelope: bool,
    /// Which question it answers, in the words of an agent that is an Envoi.
    pub(crate) question: Option<Value>,
}

impl Client {
    pub(crate) fn new(token: Option<String>, timeout_ms: u64, mask: Arc<dyn Mask>) -> Self {
        Self { token, http: Http::new(Duration::from_millis(timeout_ms)), mask }
    }

    /// The same, with one deadline for all that it asks.
    pub(crate) fn hurried(token: Option<&str>, until: Instant, mask: Arc<dyn Mask>) -> Self {
        Self { token: token.map(str::to_owned), http: Http::until(until), mask }
    }

    /// Whether a token goes along.
    pub(crate) fn is_guarded(&self) -> bool {
        self.token.is_some()
    }

    /// Sends a message; the agent is not to wait for what comes of it. An agent may wait all the same, for so long.
    pub(crate) fn send(
        &self,
        to: &Endpoint,
        message: &Message,
        patience: Duration,
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
            ("message", message.written(to.version)),
            ("configuration", Value::Object(configuration)),
        ]);
        let result = self.ask_for(to, method, params, message.envelope, Some(patience))?;
        let task = result.get("task").unwrap_or(&result);
        if let Some(task) = self.read(task) {
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
        self.task(to, method, params)
    }

    pub(crate) fn cancel(&self, to: &Endpoint, task: &str) -> Result<Task, CallError> {
        let method = if to.version == Version::V1 { "CancelTask" } else { "tasks/cancel" };
        self.task(to, method, Object::from([("id", Value::from(task))]))
    }

    /// The task that a message has begun: one of its context, which is ours alone, or one whose history has it. That there is
    /// none does not say that there will be none.
    pub(crate) fn begun(&self, to: &Endpoint, by: &Sought) -> Result<Option<Task>, CallError> {
        if to.version == Version::V03 {
            return Err(CallError::Unsupported("version 0.3 lists no tasks".to_owned()));
        }
        let params = Object::from([("contextId", Value::from(by.context.as_str()))]);
        let (ours, _) = self.page(to, params)?;
        // The one that began first, should there be several after all.
        let found = ours.into_iter().rfind(|task| task.context.as_deref() == Some(by.context.as_str()));
        if found.is_some() {
            return Ok(found);
        }
        // An agent that gives contexts ids of its own.
        let mut token = None;
        for _ in 0..PAGES {
            let since = Value::from(by.since.to_string());
            let mut params =
                Object::from([("statusTimestampAfter", since), ("historyLength", Value::from(HISTORY))]);
            if let Some(token) = token.take() {
                params.insert("pageToken", Value::String(token));
            }
            // It may have no such list: then this one says nothing, too.
            let Ok((tasks, next)) = self.page(to, params) else { break };
            let has_it = |task: &Task| task.history.iter().any(|said| said.id == by.message);
            if let Some(task) = tasks.into_iter().rfind(has_it) {
                return Ok(Some(task));
            }
            token = next;
            if token.is_none() {
                break;
            }
        }
        Ok(None)
    }

    /// Some of its tasks, newest first, and where the next ones begin.
    fn page(&self, to: &Endpoint, mut params: Object) -> Result<(Vec<Task>, Option<String>), CallError> {
        params.insert("pageSize", Value::from(PAGE));
        let result = self.ask(to, "ListTasks", params, false)?;
        let listed = result.get("tasks").and_then(Value::as_array).unwrap_or_default();
        let next = result.get("nextPageToken").and_then(Value::as_str).filter(|token| !token.is_empty());
        Ok((listed.iter().filter_map(|task| self.read(task)).collect(), next.map(str::to_owned)))
    }

    fn task(&self, to: &Endpoint, method: &str, params: Object) -> Result<Task, CallError> {
        let result = self.ask(to, method, params, false)?;
        let task = self.read(result.get("task").unwrap_or(&result));
        task.ok_or_else(|| CallError::Unknown("its answer is no task".to_owned()))
    }

    /// A task whose question is masked: it is compared with one that was written down.
    fn read(&self, value: &Value) -> Option<Task> {
        let task = Task::read(value)?;
        Some(Task { question: task.question.masked(&*self.mask), ..task })
    }

    fn ask(&self, to: &Endpoint, method: &str, params: Object, envelope: bool) -> Result<Value, CallError> {
        self.ask_for(to, method, params, envelope, None)
    }

    fn ask_for(
        &self,
        to: &Endpoint,
        method: &str,
        mut params: Object,
        envelope: bool,
        patience: Option<Duration>,
    ) -> Result<Value, CallError> {
        if let (Some(tenant), Version::V1) = (&to.tenant, to.version) {
            params.insert("tenant", Value::from(tenant.as_str()));
        }
        let body = Value::Object(Object::from([
            ("jsonrpc", Value::from("2.0")),
            ("id", Value::from(1_u64)),
            ("method", Value::from(method)),
            ("params", Value::Object(params)),
        ]));
        let bearer = self.token.as_ref().map(|token| format!("Bearer {token}"));
        let mut headers: Vec<(&str, &str)> = Vec::new();
        if to.version == Version::V1 {
            headers.push(("a2a-version", "1.0"));
        }
        if envelope {
            let name = if to.version == Version::V1 { "a2a-extensions" } else { "x-a2a-extensions" };
            headers.push((name, USER_ENVELOPE));
        }
        headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        let answer =
            self.http.post(&to.url, &headers, &body.compact(), patience).map_err(|error| match error {
                NoAnswer::NotSent(message) => CallError::NotSent(message),
                NoAnswer::Unknown(message) => CallError::Unknown(message),
            })?;
        result(answer.status, &answer.body)
    }
}

/// What an answer says. What comes from before the agent (too busy, broken) says so by its status, whatever its body is.
fn result(status: u16, body: &[u8]) -> Result<Value, CallError> {
    let read = Value::parse(body);
    let mut told = format!("the agent answered {status}");
    if let Ok(answer) = &read
        && let Some(error) = answer.get("error").filter(|error| !error.is_null())
    {
        let known = failure(error);
        // A code of the agent's own says as little as none, and the status has to.
        let is_sure = !matches!(known, CallError::Unknown(_)) && status < 500 && !matches!(status, 425 | 429);
        if is_sure || (200..300).contains(&status) {
            return Err(known);
        }
        told = format!("{told}: {known}");
    }
    match &read {
        Ok(answer) if (200..300).contains(&status) => answer
            .get("result")
            .cloned()
            .ok_or_else(|| CallError::Unknown("its answer has neither a result nor an error".to_owned())),
        // Asked to come again: not taken.
        _ if matches!(status, 425 | 429) => Err(CallError::NotSent(told)),
        _ if matches!(status, 401 | 403) => {
            Err(CallError::Refused(format!("{told}: the token is not taken")))
        }
        _ if (300..500).contains(&status) && status != 408 => Err(CallError::Refused(told)),
        Ok(_) => Err(CallError::Unknown(told)),
        Err(error) => Err(CallError::Unknown(format!("{told}, which is no JSON: {error}"))),
    }
}

fn failure(error: &Value) -> CallError {
    let message = error.get("message").and_then(Value::as_str).unwrap_or("no reason given");
    let code = error.get("code").and_then(Value::as_number).map_or("", |code| code.as_str());
    let told = format!("{message} ({code})");
    match code {
        "-32602" => CallError::Wrong(told),
        "-32001" => CallError::NoTask,
        "-32601" | "-32004" => CallError::Unsupported(told),
        "-32700" | "-32600" | "-32005" | "-32007" | "-32008" | "-32009" => CallError::Refused(told),
        // Something broke there, and nobody knows when; or the code is one of its own.
        _ => CallError::Unknown(told),
    }
}

impl Message {
    fn written(&self, version: Version) -> Value {
        let old = version == Version::V03;
        let kind = |kind: &str| if old { vec![("kind", Value::from(kind))] } else { Vec::new() };
        let part = |name: &'static str, value: Value| {
            let members: Object = kind(name)
                .into_iter()
                .chain([(name, value)])
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
            Value::Object(members)
        };
        let text = self.text.as_deref().map(|text| part("text", Value::from(text)));
        let data = self.data.clone().map(|data| part("data", data));
        let parts: Vec<Value> = text.into_iter().chain(data).collect();
        let role = if old { "user" } else { concat!("ROLE", "_USER") };
        let mut members = Object::default();
        if old {
            members.insert("kind", Value::from("message"));
        }
        members.insert("messageId", Value::from(self.id.as_str()));
        members.insert("contextId", Value::from(self.context.as_str()));
        if let Some(task) = &self.task {
            members.insert("taskId", Value::from(task.as_str()));
        }
        members.insert("role", Value::from(role));
        members.insert("parts", Value::from(parts));
        let mut metadata = Object::default();
        if self.envelope {
            let says = Value::Object(Object::from([("user_envelope", Value::from(true))]));
            metadata.insert(USER_ENVELOPE, says);
            members.insert("extensions", Value::from(vec![USER_ENVELOPE]));
        }
        if let Some(question) = &self.question {
            metadata.insert(QUESTION, question.clone());
        }
        if !metadata.is_empty() {
            members.insert("metadata", Value::Object(metadata));
        }
        Value::Object(members)
    }
}

/// The text of an answer without a task.
pub(crate) fn said(message: &Value) -> Said {
    Said::read(message)
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
            Err(CallError::Wrong(_)) => "wrong",
            Err(CallError::NoTask) => "no task",
            Err(CallError::Unsupported(_)) => "unsupported",
        };
        for (status, code, expected) in [
            (200, -32700, "refused"),
            (200, -32600, "refused"),
            (200, -32601, "unsupported"),
            (400, -32602, "wrong"),
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
