//! Reads the replies of an agent, for a client.
//!
//! Both versions are read by the same code, and leniently: unknown members are ignored, missing members are accepted
//! if they are not needed, and unknown parts are left out. A reply is not refused for details that do not matter.
//! `v1` and `v03` read the requests that a server receives, and they are strict.

use crate::{
    base64_bytes,
    model::{Artifact, Content, Message, Part, Role, Task, TaskState, TaskStatus},
    v03::{WRAPPED, WRAPPED_IN},
};
use envoi_contract::{
    json::{Object, Value},
    time::Timestamp,
};

/// A task as reported by an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedTask {
    /// The task. `context_id` is empty if the agent gave none.
    pub task: Task,
    /// The time since which the task is in its state, as the agent wrote it. Not every agent writes an RFC 3339 time.
    pub status_at: Option<String>,
}

/// The reply to a message.
#[derive(Debug, Clone, PartialEq)]
pub enum SendReply<'v> {
    /// The task that the message has started or continued.
    Task(Box<ReceivedTask>),
    /// An answer without a task, unchanged.
    Message(&'v Value),
}

/// A page of a list of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedPage {
    /// The tasks in the agent's order: newest first.
    pub tasks: Vec<ReceivedTask>,
    /// The token for the next page, if there is one.
    pub next_page_token: Option<String>,
}

/// The result of sending a message; `None` if it is neither a task nor a message.
#[must_use]
pub fn send_reply(result: &Value) -> Option<SendReply<'_>> {
    if let Some(task) = task(result) {
        return Some(SendReply::Task(Box::new(task)));
    }
    let message = result.get("message").unwrap_or(result);
    message.get("parts").is_some().then_some(SendReply::Message(message))
}

/// Reads a task, wrapped (1.0) or not (0.3); `None` if the result is not a task.
#[must_use]
pub fn task(result: &Value) -> Option<ReceivedTask> {
    let value = result.get("task").unwrap_or(result);
    let status = value.get("status")?;
    let status_at = string(status, "timestamp");
    let task = Task {
        id: string(value, "id").filter(|id| !id.is_empty())?,
        context_id: string(value, "contextId").unwrap_or_default(),
        status: TaskStatus {
            state: state(&string(status, "state")?),
            message: status.get("message").filter(|message| !message.is_null()).map(message),
            timestamp: status_at.as_deref().and_then(Timestamp::parse),
        },
        artifacts: list(value, "artifacts").iter().map(artifact).collect(),
        history: list(value, "history").iter().map(message).collect(),
        metadata: object(value, "metadata"),
    };
    Some(ReceivedTask { task, status_at })
}

/// Reads a list of tasks. Elements that are not tasks are left out.
#[must_use]
pub fn page(result: &Value) -> ReceivedPage {
    ReceivedPage {
        tasks: list(result, "tasks").iter().filter_map(task).collect(),
        next_page_token: string(result, "nextPageToken").filter(|token| !token.is_empty()),
    }
}

/// The parts of a message or an artifact. Unknown parts are left out.
#[must_use]
pub fn parts(of: &Value) -> Vec<Part> {
    list(of, "parts").iter().filter_map(part).collect()
}

/// An unknown state counts as working, because the task has not ended and waits for nothing known.
fn state(word: &str) -> TaskState {
    match word.trim_start_matches("TASK_STATE_").to_ascii_lowercase().replace('_', "-").as_str() {
        "cancelled" => TaskState::Canceled,
        word => TaskState::ALL.into_iter().find(|state| state.word() == word).unwrap_or(TaskState::Working),
    }
}

fn message(value: &Value) -> Message {
    let by_agent = string(value, "role")
        .is_some_and(|role| role.trim_start_matches("ROLE_").eq_ignore_ascii_case("agent"));
    Message {
        id: string(value, "messageId").unwrap_or_default(),
        context_id: string(value, "contextId"),
        task_id: string(value, "taskId"),
        role: if by_agent { Role::Agent } else { Role::User },
        parts: parts(value),
        metadata: object(value, "metadata"),
        extensions: strings(value, "extensions"),
        reference_task_ids: strings(value, "referenceTaskIds"),
    }
}

fn artifact(value: &Value) -> Artifact {
    Artifact {
        id: string(value, "artifactId").unwrap_or_default(),
        name: string(value, "name"),
        description: string(value, "description"),
        parts: parts(value),
        metadata: object(value, "metadata"),
        extensions: strings(value, "extensions"),
    }
}

/// Reads a part; `None` if it is of an unknown kind.
fn part(value: &Value) -> Option<Part> {
    // A file of 0.3 is an object of its own; in 1.0 its members are members of the part.
    let file = value.get("file").unwrap_or(value);
    let filename = string(file, "filename").or_else(|| string(file, "name")).filter(|name| !name.is_empty());
    let media_type = string(file, "mediaType").or_else(|| string(file, "mimeType"));
    let metadata = object(value, "metadata");
    let content = if let Some(text) = string(value, "text") {
        Content::Text(text)
    } else if let Some(data) = value.get("data") {
        Content::Data(unwrapped(data, &metadata).clone())
    } else if let Some(bytes) = string(file, "raw").or_else(|| string(file, "bytes")) {
        Content::Raw(base64_bytes::read(&bytes)?)
    } else {
        Content::Url(string(file, "url").or_else(|| string(file, "uri"))?)
    };
    Some(Part { content, metadata, filename, media_type })
}

/// 0.3 allows only objects as data. The SDKs wrap any other value in an object and mark that in the metadata.
fn unwrapped<'v>(data: &'v Value, metadata: &Object) -> &'v Value {
    let is_wrapped = metadata.get(WRAPPED).and_then(Value::as_bool) == Some(true);
    data.get(WRAPPED_IN).filter(|_| is_wrapped).unwrap_or(data)
}

fn string(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn strings(value: &Value, name: &str) -> Vec<String> {
    list(value, name).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn object(value: &Value, name: &str) -> Object {
    value.get(name).and_then(Value::as_object).cloned().unwrap_or_default()
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::StreamItem, request::Reply, version::Version, write, write_item};

    fn read(text: &str) -> Option<ReceivedTask> {
        task(&Value::parse_str(text).unwrap())
    }

    /// A task with everything that both versions can express.
    fn full_task() -> Task {
        let mark = |name: &str| Object::from([(name, Value::from(true))]);
        let message = |id: &str, role: Role, parts: Vec<Part>| Message {
            id: id.to_owned(),
            context_id: Some("c".to_owned()),
            task_id: Some("t".to_owned()),
            role,
            parts,
            metadata: mark("m"),
            extensions: vec!["urn:x".to_owned()],
            reference_task_ids: vec!["r".to_owned()],
        };
        let file = |content: Content| Part {
            content,
            metadata: mark("p"),
            filename: Some("f.pdf".to_owned()),
            media_type: Some("application/pdf".to_owned()),
        };
        Task {
            id: "t".to_owned(),
            context_id: "c".to_owned(),
            status: TaskStatus {
                state: TaskState::InputRequired,
                message: Some(message("q", Role::Agent, vec![Part::text("Which?")])),
                timestamp: Timestamp::parse("2026-01-02T03:04:05.678Z"),
            },
            artifacts: vec![Artifact {
                id: "a".to_owned(),
                name: Some("out".to_owned()),
                description: Some("what".to_owned()),
                parts: vec![
                    file(Content::Raw(vec![0, 255])),
                    file(Content::Url("https://x".to_owned())),
                    Part::of(Content::Data(Value::Object(mark("d")))),
                ],
                metadata: mark("a"),
                extensions: vec!["urn:y".to_owned()],
            }],
            history: vec![message("u", Role::User, vec![Part::text("do"), Part::text("")])],
            metadata: mark("t"),
        }
    }

    #[test]
    fn a_client_reads_what_a_server_of_either_version_writes() {
        for state in TaskState::ALL {
            let mut sent = full_task();
            sent.status.state = state;
            for version in [Version::V03, Version::V10] {
                for value in [
                    write(version, &Reply::Task(sent.clone())),
                    write(version, &Reply::SentTask(sent.clone())),
                    write_item(version, &StreamItem::Task(sent.clone())),
                ] {
                    let received = task(&value).unwrap();
                    assert_eq!(received.task, sent, "{version} {}", value.compact());
                    assert_eq!(received.status_at.as_deref(), Some("2026-01-02T03:04:05.678Z"));
                }
            }
        }
    }

    #[test]
    fn a_page_is_read_in_its_order() {
        let first = full_task();
        let second = Task { id: "t2".to_owned(), ..full_task() };
        let page_of = |token: &str| crate::request::TaskPage {
            tasks: vec![first.clone(), second.clone()],
            next_page_token: token.to_owned(),
            page_size: 2,
            total_size: 2,
        };
        for (token, expected) in [("", None), ("n", Some("n"))] {
            let received = page(&write(Version::V10, &Reply::Tasks(page_of(token))));
            assert_eq!(received.next_page_token.as_deref(), expected);
            let tasks: Vec<Task> = received.tasks.into_iter().map(|one| one.task).collect();
            assert_eq!(tasks, [first.clone(), second.clone()]);
        }
    }

    #[test]
    fn a_message_is_a_reply_too() {
        let message = Message { parts: vec![Part::text("hi")], ..full_task().history.remove(0) };
        for version in [Version::V03, Version::V10] {
            let value = write(version, &Reply::SentMessage(message.clone()));
            let Some(SendReply::Message(reply)) = send_reply(&value) else { panic!("{}", value.compact()) };
            assert_eq!(parts(reply), message.parts);
        }
        assert_eq!(send_reply(&Value::parse_str(r#"{"messageId":"m"}"#).unwrap()), None);
    }

    #[test]
    fn what_is_no_task_is_none() {
        for text in
            ["{}", r#"{"id":"t"}"#, r#"{"id":"","status":{"state":"working"}}"#, r#"{"id":"t","status":{}}"#]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn what_an_agent_writes_in_its_own_way_is_read_all_the_same() {
        let of = |state: &str| {
            let text = format!(r#"{{"id":"t","status":{{"state":"{state}","timestamp":"10:00"}}}}"#);
            read(&text).unwrap()
        };
        for (word, state) in [
            ("CANCELED", TaskState::Canceled),
            ("cancelled", TaskState::Canceled),
            ("TASK_STATE_CANCELLED", TaskState::Canceled),
            ("Input_Required", TaskState::InputRequired),
            ("unknown", TaskState::Working),
            ("TASK_STATE_UNSPECIFIED", TaskState::Working),
        ] {
            assert_eq!(of(word).task.status.state, state, "{word}");
        }
        let odd = of("working");
        assert_eq!(odd.task.context_id, "");
        assert_eq!((odd.task.status.timestamp, odd.status_at.as_deref()), (None, Some("10:00")));
    }

    #[test]
    fn data_that_0_3_has_wrapped_is_unwrapped() {
        for (metadata, data) in [
            (r#","metadata":{"data_part_compat":true}"#, "[1]"),
            (r#","metadata":{"data_part_compat":false}"#, r#"{"value":[1]}"#),
            ("", r#"{"value":[1]}"#),
        ] {
            let text = format!(r#"{{"kind":"data","data":{{"value":[1]}}{metadata}}}"#);
            let part = part(&Value::parse_str(&text).unwrap()).unwrap();
            assert_eq!(part.content, Content::Data(Value::parse_str(data).unwrap()), "{text}");
        }
    }

    #[test]
    fn bytes_are_read_in_either_alphabet_and_a_part_that_is_not_understood_is_left_out() {
        let message = r#"{"parts":[{"raw":"-_8"},{"raw":"+/8="},{"raw":"?"},{"kind":"x"},{"text":"t","name":"n.txt"}]}"#;
        let read = parts(&Value::parse_str(message).unwrap());
        let bytes = || Part::of(Content::Raw(vec![0xFB, 0xFF]));
        let named = Part { filename: Some("n.txt".to_owned()), ..Part::text("t") };
        assert_eq!(read, [bytes(), bytes(), named]);
    }
}
