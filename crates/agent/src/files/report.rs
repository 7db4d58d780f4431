//! The outcome of an attempt, and its report.

use super::{handed_over, log};
use crate::{
    input::{mask::Mask, order::Order},
    protocol::{endpoint::Endpoint, part, task::Task},
};
use envoi_a2a::{model::TaskState, received};
use envoi_contract::{
    code::Code,
    json::{Object, Value},
    skill_report::{SkillError, SkillReport},
    time::Timestamp,
};
use std::{io, process::ExitCode, time::SystemTime};

/// Longest error message. The text contains the whole message.
const MAX_MESSAGE_CHARS: usize = 2_000;

/// Longest question. The kernel rejects a longer one.
const MAX_QUESTION_CHARS: usize = 15_000;

/// Largest data part that is shown with a question.
const MAX_SHOWN_BYTES: usize = 16 * 1024;

/// Comes before the question of an agent that wants authorization.
const AUTHORIZATION: &str = "The agent wants to be authorized. Do that where it says, then answer; answers are kept, so put no \
                             password into one.";

/// How an attempt ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The task is over, or waits for an answer.
    Task(Box<Task>, Endpoint),
    /// The agent answered without a task.
    Message(Value),
    /// We cancelled the task, or there was none to cancel.
    Canceled(String),
    /// We asked the agent to cancel the task, and it says that the task is in another state.
    NotCanceled(String, TaskState),
    /// The agent does not know the task any more.
    TaskLost(String),
    /// It is not known whether the agent accepted the message.
    InDoubt(String),
    /// The agent could not be reached.
    Unreachable(String),
    /// The agent does not accept such a message.
    Refused(String),
    /// A file of ours cannot be read or written.
    MachineFailed(String),
}

/// The members of a report that depend on the outcome, not masked yet.
#[derive(Default)]
struct Content {
    /// `None`: an empty file.
    text: Option<String>,
    data: Option<Value>,
    /// The member `agent`.
    agent: Object,
    failure: Option<Failure>,
}

/// The reason why the step failed.
struct Failure {
    code: Code,
    message: String,
}

/// Writes the artifacts, the text and the report, the report last. Text and report are masked.
pub(crate) fn write(order: &Order, outcome: &Outcome, mask: &dyn Mask) -> io::Result<ExitCode> {
    let content = Content::of(order, outcome, mask);
    let error = content.failure.map(|failure| SkillError {
        code: failure.code.as_str().to_owned(),
        // Masked before it is cut, because a secret that is cut in half would not be masked.
        message: mask.text(&failure.message).chars().take(MAX_MESSAGE_CHARS).collect(),
    });
    if let Some(error) = &error {
        log::print(&format!("{}: {}", error.code, error.message));
    }
    let text = content.text.map(|text| mask.text(&text)).unwrap_or_default();
    envoi_durable::renew(&order.output, text.as_bytes())?;
    let ok = error.is_none();
    let report = SkillReport {
        ok,
        generated_at: now().to_string(),
        skill_name: "a2a".to_owned(),
        data: content.data.map(|data| mask.value(&data)),
        metrics: None,
        error: error.map(|error| error.to_value()),
        unknown: Object::from([("agent", mask.value(&Value::Object(content.agent)))]),
    };
    envoi_durable::renew(&order.report, report.to_value().compact().as_bytes())?;
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Content {
    fn of(order: &Order, outcome: &Outcome, mask: &dyn Mask) -> Self {
        match outcome {
            Outcome::Task(task, endpoint) => Self::of_task(order, task, endpoint, mask),
            Outcome::Message(message) => Self::of_message(message),
            Outcome::Canceled(task) => {
                Self::over(task, Code::AgentCanceled, format!("task {task} was cancelled"))
            }
            Outcome::NotCanceled(task, state) => {
                let how = match state.is_terminal() {
                    true => "had ended before, as",
                    false => "is not cancelled yet: the agent says",
                };
                let message = format!("task {task} was to be cancelled, and {how} {}", state.word());
                Self::over(task, Code::AgentCanceled, message)
            }
            Outcome::TaskLost(task) => {
                Self::over(task, Code::AgentTaskLost, format!("the agent does not know task {task} any more"))
            }
            Outcome::InDoubt(message) => {
                let agent = Object::from([("said", Value::from("unclear"))]);
                Self { agent, ..Self::failed(Code::AgentUnclear, message.clone()) }
            }
            Outcome::Unreachable(message) => Self::failed(Code::AgentUnreachable, message.clone()),
            Outcome::Refused(message) => Self::failed(Code::AgentRefused, message.clone()),
            Outcome::MachineFailed(message) => Self::failed(Code::MachineFailed, message.clone()),
        }
    }

    fn failed(code: Code, message: String) -> Self {
        Self { failure: Some(Failure { code, message }), ..Self::default() }
    }

    /// The task ended without a result.
    fn over(task: &str, code: Code, message: String) -> Self {
        let agent = Object::from([("said", Value::from("over")), ("task", Value::from(task))]);
        Self { agent, ..Self::failed(code, message) }
    }

    fn of_message(message: &Value) -> Self {
        let parts = received::parts(message);
        let data = parts.iter().filter_map(part::object).next_back().cloned();
        Self { text: Some(part::text(&parts)), data, ..Self::default() }
    }

    fn of_task(order: &Order, task: &Task, endpoint: &Endpoint, mask: &dyn Mask) -> Self {
        let agent = position(task, endpoint);
        match task.state {
            TaskState::Submitted
            | TaskState::Working
            | TaskState::InputRequired
            | TaskState::AuthRequired => Self { agent: with_question(agent, task, mask), ..Self::default() },
            TaskState::Completed => Self {
                text: Some(task.final_text()),
                data: task.data().cloned(),
                agent: with_artifacts(agent, order, task, mask),
                failure: None,
            },
            TaskState::Rejected => Self::of_failed_task(agent, task, Code::AgentRejected),
            TaskState::Canceled => Self::of_failed_task(agent, task, Code::AgentCanceled),
            TaskState::Failed => Self::of_failed_task(agent, task, Code::AgentFailed),
        }
    }

    fn of_failed_task(mut agent: Object, task: &Task, code: Code) -> Self {
        agent.insert("said", Value::from("over"));
        let text = task.final_text();
        let message = match text.trim() {
            "" => format!("the task is {}", task.state.word()),
            _ => text.clone(),
        };
        Self { text: Some(text), agent, ..Self::failed(code, message) }
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The address, the ids and the state of the task.
fn position(task: &Task, endpoint: &Endpoint) -> Object {
    let mut members = Object::from([
        ("url", Value::from(endpoint.url.as_str())),
        ("version", Value::from(endpoint.version.word())),
        ("task", Value::from(task.id.as_str())),
    ]);
    if let Some(context) = &task.context {
        members.insert("context", Value::from(context.as_str()));
    }
    members.insert("state", Value::from(task.state.word()));
    members
}

/// Adds the question of a task that waits.
fn with_question(mut agent: Object, task: &Task, mask: &dyn Mask) -> Object {
    let mut evidence = agent.clone();
    let shown = task.status.iter().filter_map(part::object).next_back();
    if let Some(data) = shown.filter(|data| data.compact().len() <= MAX_SHOWN_BYTES) {
        evidence.insert("data", data.clone());
    }
    // Masked before it is cut, like the error message.
    let mut question: String = mask.text(&task.question_text()).chars().take(MAX_QUESTION_CHARS).collect();
    if task.state == TaskState::AuthRequired {
        question = format!("{AUTHORIZATION}\n\n{question}");
    }
    agent.insert("said", Value::from("asks"));
    agent.insert("question", Value::from(question));
    agent.insert("evidence", Value::Object(evidence));
    agent
}

/// Writes the artifacts if the order wants them, and lists the ones that are not available as files.
fn with_artifacts(mut agent: Object, order: &Order, task: &Task, mask: &dyn Mask) -> Object {
    let links = handed_over::links(task);
    if !links.is_empty() {
        agent.insert("links", Value::from(links));
    }
    let Some(folder) = &order.files else { return agent };
    let left_out = handed_over::write_all(folder, task, mask);
    if !left_out.is_empty() {
        agent.insert("left_out", Value::from(left_out));
    }
    agent
}
