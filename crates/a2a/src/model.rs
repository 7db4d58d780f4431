//! The types of A2A in every version: tasks, messages, parts, artifacts and updates.
//!
//! Owns the types. Does not own how a version writes them (`v1`, `v03`), nor how a run becomes a task. Metadata and
//! data of clients are kept unchanged: member order, number tokens and strings.

use envoi_contract::{
    json::{Object, Value},
    time::Timestamp,
};
use std::fmt;

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The client.
    User,
    /// The agent, which is the server.
    Agent,
}

/// The state of a task. Terminal states are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// Accepted, not started.
    Submitted,
    /// Working.
    Working,
    /// Waiting for a message.
    InputRequired,
    /// Waiting for a permission or a credential.
    AuthRequired,
    /// Ended successfully.
    Completed,
    /// Ended without success.
    Failed,
    /// Cancelled on request.
    Canceled,
    /// Rejected: never started, and never will be.
    Rejected,
}

impl TaskState {
    /// All states.
    pub const ALL: [Self; 8] = [
        Self::Submitted,
        Self::Working,
        Self::InputRequired,
        Self::AuthRequired,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::Rejected,
    ];

    /// The name as 0.3 and people write it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::InputRequired => "input-required",
            Self::AuthRequired => "auth-required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Rejected => "rejected",
        }
    }

    /// True if no other state follows.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// True if the task waits for the client. A blocking send returns in this state.
    pub const fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

/// A turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The id, made by the author. Unique at best within one conversation.
    pub id: String,
    /// The conversation.
    pub context_id: Option<String>,
    /// The task that the message belongs to.
    pub task_id: Option<String>,
    /// The author.
    pub role: Role,
    /// The parts; at least one.
    pub parts: Vec<Part>,
    /// Metadata; empty means absent.
    pub metadata: Object,
    /// URIs of extensions that contributed to the message.
    pub extensions: Vec<String>,
    /// Other tasks that the message refers to.
    pub reference_task_ids: Vec<String>,
}

/// A piece of content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The content.
    pub content: Content,
    /// Metadata; empty means absent.
    pub metadata: Object,
    /// The name of a file.
    pub filename: Option<String>,
    /// The media type, if stated. In 0.3 only files can have one.
    pub media_type: Option<String>,
}

/// The content of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Text.
    Text(String),
    /// The bytes of a file.
    Raw(Vec<u8>),
    /// The address of a file.
    Url(String),
    /// Any JSON value, including `null`.
    Data(Value),
}

impl Part {
    /// A part with only its content.
    pub const fn of(content: Content) -> Self {
        Self { content, metadata: Object::new(), filename: None, media_type: None }
    }

    /// A part with text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(Content::Text(text.into()))
    }
}

/// The state of a task, the time since which it holds, and its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskStatus {
    /// The state.
    pub state: TaskState,
    /// A question, or the last message.
    pub message: Option<Message>,
    /// The time since which the task is in this state.
    pub timestamp: Option<Timestamp>,
}

/// A result of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The id, unique within its task.
    pub id: String,
    /// The name, for people.
    pub name: Option<String>,
    /// The description, for people.
    pub description: Option<String>,
    /// The parts; at least one.
    pub parts: Vec<Part>,
    /// Metadata; empty means absent.
    pub metadata: Object,
    /// URIs of extensions that contributed to the artifact.
    pub extensions: Vec<String>,
}

/// A task with its status, artifacts and history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The id, made by the server.
    pub id: String,
    /// The conversation. A server always sets it; empty means absent.
    pub context_id: String,
    /// The status.
    pub status: TaskStatus,
    /// The artifacts; empty means absent. Lists of tasks have no artifacts unless the request asks for them.
    pub artifacts: Vec<Artifact>,
    /// The conversation, oldest first; empty means absent.
    pub history: Vec<Message>,
    /// Metadata; empty means absent.
    pub metadata: Object,
}

impl Task {
    /// Keeps only the most recent `length` messages of the history; `None` keeps all.
    pub fn limit_history(&mut self, length: Option<u32>) {
        let Some(length) = length else { return };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        self.history.drain(..self.history.len().saturating_sub(length));
    }
}

/// A change of a task's status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusUpdate {
    /// The task.
    pub task_id: String,
    /// Its conversation.
    pub context_id: String,
    /// The new status.
    pub status: TaskStatus,
    /// Metadata; empty means absent.
    pub metadata: Object,
    /// True if the stream ends with this update. In 0.3 it is the member `final`; in 1.0 the end of the stream is
    /// enough.
    pub last: bool,
}

/// A new artifact of a task, or a further part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactUpdate {
    /// The task.
    pub task_id: String,
    /// Its conversation.
    pub context_id: String,
    /// The artifact.
    pub artifact: Artifact,
    /// True if the parts are appended to those of the artifact with the same id.
    pub append: bool,
    /// True if no further part of the artifact follows.
    pub last_chunk: bool,
    /// Metadata; empty means absent.
    pub metadata: Object,
}

/// An item of a stream, and the content of a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamItem {
    /// The current state of a task; the first item of most streams.
    Task(Task),
    /// An answer without a task: the only item of its stream.
    Message(Message),
    /// A change of status.
    Status(StatusUpdate),
    /// A new or continued artifact.
    Artifact(ArtifactUpdate),
}

/// A secret text. It never appears in logs.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// How a receiver authenticates this server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authentication {
    /// An HTTP authentication scheme: `Bearer`. Version 0.3 has a list of them, of which the first is used.
    pub scheme: String,
    /// The credentials after the scheme.
    pub credentials: Option<Secret>,
}

/// The receiver of updates of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushConfig {
    /// The id, unique within its task. The server makes one if it is absent.
    pub id: Option<String>,
    /// The task. Absent if the configuration comes with the message that starts the task.
    pub task_id: Option<String>,
    /// The address of the receiver. Another module checks whether it may be called.
    pub url: String,
    /// A token that is sent with each update, so that the receiver can recognize the task.
    pub token: Option<Secret>,
    /// Credentials that are sent with each update, so that the receiver can recognize this server.
    pub authentication: Option<Authentication>,
}
