//! The types of A2A in every version: tasks, messages, parts, artifacts and updates.
//!
//! Owns the types, not how a version writes them (`v1`, `v03`), nor how a run becomes a task. Metadata and data of
//! clients are kept unchanged: member order, number tokens and strings.

use envoi_contract::{
    json::{Object, Value},
    time::Timestamp,
};
use std::fmt;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The client.
    User,
    /// The agent: the server.
    Agent,
}

/// The state of a task. Terminal states are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// Taken, not begun.
    Submitted,
    /// At work.
    Working,
    /// Waits for a message.
    InputRequired,
    /// Waits for a permission or a credential.
    AuthRequired,
    /// Done.
    Completed,
    /// Ended without being done.
    Failed,
    /// Ended by request.
    Canceled,
    /// Never begun, and never will be.
    Rejected,
}

impl TaskState {
    /// All of them.
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

    /// Its name, as 0.3 and people write it.
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

    /// Whether nothing follows.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Whether it waits for the client; a blocking send returns here.
    pub const fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Made by its author; at best unique within one conversation.
    pub id: String,
    /// The conversation.
    pub context_id: Option<String>,
    /// The task it belongs to.
    pub task_id: Option<String>,
    /// Who wrote it.
    pub role: Role,
    /// At least one.
    pub parts: Vec<Part>,
    /// Empty is absent.
    pub metadata: Object,
    /// URIs of extensions that contributed to it.
    pub extensions: Vec<String>,
    /// Other tasks that it speaks of.
    pub reference_task_ids: Vec<String>,
}

/// A piece of content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub content: Content,
    /// Empty is absent.
    pub metadata: Object,
    /// Of a file.
    pub filename: Option<String>,
    /// Its media type, if it is stated. In 0.3 only files can have one.
    pub media_type: Option<String>,
}

/// What a part is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Words.
    Text(String),
    /// The bytes of a file.
    Raw(Vec<u8>),
    /// Where a file is.
    Url(String),
    /// Any JSON value, `null` included.
    Data(Value),
}

impl Part {
    /// A part with nothing but its content.
    pub const fn of(content: Content) -> Self {
        Self { content, metadata: Object::new(), filename: None, media_type: None }
    }

    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(Content::Text(text.into()))
    }
}

/// The state of a task, since when, and the message that goes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskStatus {
    /// Where.
    pub state: TaskState,
    /// A question, or the last message.
    pub message: Option<Message>,
    /// Since when.
    pub timestamp: Option<Timestamp>,
}

/// Something that a task has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Unique within its task.
    pub id: String,
    /// For people.
    pub name: Option<String>,
    /// For people.
    pub description: Option<String>,
    /// At least one.
    pub parts: Vec<Part>,
    /// Empty is absent.
    pub metadata: Object,
    /// URIs of extensions that contributed to it.
    pub extensions: Vec<String>,
}

/// A task and all that is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Made by the server.
    pub id: String,
    /// The conversation. A server always gives one; empty is absent.
    pub context_id: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// Its artifacts. Empty is absent: lists of tasks have no artifacts unless the request wants them.
    pub artifacts: Vec<Artifact>,
    /// The conversation, oldest first. Empty is absent.
    pub history: Vec<Message>,
    /// Empty is absent.
    pub metadata: Object,
}

impl Task {
    /// Leaves the most recent `length` messages of the history; `None` leaves all of them.
    pub fn limit_history(&mut self, length: Option<u32>) {
        let Some(length) = length else { return };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        self.history.drain(..self.history.len().saturating_sub(length));
    }
}

/// A task stands elsewhere now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusUpdate {
    /// Which task.
    pub task_id: String,
    /// Its conversation.
    pub context_id: String,
    /// Where it stands now.
    pub status: TaskStatus,
    /// Empty is absent.
    pub metadata: Object,
    /// Whether the stream ends with it. In 0.3 it is the member `final`; in 1.0 the end of the stream is enough.
    pub last: bool,
}

/// A task has made something, or more of something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactUpdate {
    /// Which task.
    pub task_id: String,
    /// Its conversation.
    pub context_id: String,
    /// What it made.
    pub artifact: Artifact,
    /// Whether the parts follow those of the artifact of the same id.
    pub append: bool,
    /// Whether nothing more of it follows.
    pub last_chunk: bool,
    /// Empty is absent.
    pub metadata: Object,
}

/// An item of a stream, and the content of a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamItem {
    /// A task as it stands; the first item of most streams.
    Task(Task),
    /// An answer without a task: the only item of its stream.
    Message(Message),
    /// A task stands elsewhere.
    Status(StatusUpdate),
    /// A task has made something.
    Artifact(ArtifactUpdate),
}

/// A text that only its owner may see; it never appears in logs.
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
    /// An HTTP authentication scheme: `Bearer`. Version 0.3 has a list of them; the first is meant.
    pub scheme: String,
    /// What stands after it.
    pub credentials: Option<Secret>,
}

/// Where to send updates of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushConfig {
    /// Unique within its task; the server makes one if there is none.
    pub id: Option<String>,
    /// Absent while the task is being made by the message that carries it.
    pub task_id: Option<String>,
    /// The address of the receiver. Whether it may be called is checked elsewhere.
    pub url: String,
    /// Sent along, so that the receiver knows its task.
    pub token: Option<Secret>,
    /// Sent along, so that the receiver knows this server.
    pub authentication: Option<Authentication>,
}
