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
pub(crate) enum Role {
    /// The client.
    User,
    /// This server.
    Agent,
}

/// The state of a task. Terminal states are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskState {
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
    pub(crate) const ALL: [Self; 8] = [
        Self::Submitted,
        Self::Working,
        Self::InputRequired,
        Self::AuthRequired,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::Rejected,
    ];

    /// Whether nothing follows.
    pub(crate) const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Whether it waits for the client; a blocking send returns here.
    pub(crate) const fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// Made by its author; at best unique within one conversation.
    pub(crate) id: String,
    /// The conversation.
    pub(crate) context_id: Option<String>,
    /// The task it belongs to.
    pub(crate) task_id: Option<String>,
    /// Who wrote it.
    pub(crate) role: Role,
    /// At least one.
    pub(crate) parts: Vec<Part>,
    /// Empty is absent.
    pub(crate) metadata: Object,
    /// URIs of extensions that contributed to it.
    pub(crate) extensions: Vec<String>,
    /// Other tasks that it speaks of.
    pub(crate) reference_task_ids: Vec<String>,
}

/// A piece of content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// What it is.
    pub(crate) content: Content,
    /// Empty is absent.
    pub(crate) metadata: Object,
    /// Of a file.
    pub(crate) filename: Option<String>,
    /// Its media type, if it is stated. In 0.3 only files can have one.
    pub(crate) media_type: Option<String>,
}

/// What a part is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
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
    pub(crate) const fn of(content: Content) -> Self {
        Self { content, metadata: Object::new(), filename: None, media_type: None }
    }

    /// Words.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::of(Content::Text(text.into()))
    }
}

/// The state of a task, since when, and the message that goes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskStatus {
    /// Where.
    pub(crate) state: TaskState,
    /// A question, or the last message.
    pub(crate) message: Option<Message>,
    /// Since when.
    pub(crate) timestamp: Option<Timestamp>,
}

/// Something that a task has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Artifact {
    /// Unique within its task.
    pub(crate) id: String,
    /// For people.
    pub(crate) name: Option<String>,
    /// For people.
    pub(crate) description: Option<String>,
    /// At least one.
    pub(crate) parts: Vec<Part>,
    /// Empty is absent.
    pub(crate) metadata: Object,
    /// URIs of extensions that contributed to it.
    pub(crate) extensions: Vec<String>,
}

/// A task and all that is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Task {
    /// Made by the server.
    pub(crate) id: String,
    /// The conversation; always present in tasks of this server.
    pub(crate) context_id: String,
    /// Where it stands.
    pub(crate) status: TaskStatus,
    /// Its artifacts. Empty is absent: lists of tasks have no artifacts unless the request wants them.
    pub(crate) artifacts: Vec<Artifact>,
    /// The conversation, oldest first. Empty is absent.
    pub(crate) history: Vec<Message>,
    /// Empty is absent.
    pub(crate) metadata: Object,
}

impl Task {
    /// Leaves the most recent `length` messages of the history; `None` leaves all of them.
    pub(crate) fn limit_history(&mut self, length: Option<u32>) {
        let Some(length) = length else { return };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        self.history.drain(..self.history.len().saturating_sub(length));
    }
}

/// A task stands elsewhere now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatusUpdate {
    /// Which task.
    pub(crate) task_id: String,
    /// Its conversation.
    pub(crate) context_id: String,
    /// Where it stands now.
    pub(crate) status: TaskStatus,
    /// Empty is absent.
    pub(crate) metadata: Object,
    /// Whether the stream ends with it. In 0.3 it is the member `final`; in 1.0 the end of the stream is enough.
    pub(crate) last: bool,
}

/// A task has made something, or more of something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArtifactUpdate {
    /// Which task.
    pub(crate) task_id: String,
    /// Its conversation.
    pub(crate) context_id: String,
    /// What it made.
    pub(crate) artifact: Artifact,
    /// Whether the parts follow those of the artifact of the same id.
    pub(crate) append: bool,
    /// Whether nothing more of it follows.
    pub(crate) last_chunk: bool,
    /// Empty is absent.
    pub(crate) metadata: Object,
}

/// An item of a stream, and the content of a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StreamItem {
    /// A task as it stands; the first item of most streams.
    Task(Task),
    /// An answer without a task: the only item of its stream.
    #[cfg_attr(not(test), expect(dead_code, reason = "what this server answers always has a task"))]
    Message(Message),
    /// A task stands elsewhere.
    Status(StatusUpdate),
    /// A task has made something.
    Artifact(ArtifactUpdate),
}

/// A text that only its owner may see; it never appears in logs.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// How a receiver authenticates this server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Authentication {
    /// An HTTP authentication scheme: `Bearer`. Version 0.3 has a list of them; the first is meant.
    pub(crate) scheme: String,
    /// What stands after it.
    pub(crate) credentials: Option<Secret>,
}

/// Where to send updates of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PushConfig {
    /// Unique within its task; the server makes one if there is none.
    pub(crate) id: Option<String>,
    /// Absent while the task is being made by the message that carries it.
    pub(crate) task_id: Option<String>,
    /// The address of the receiver. Whether it may be called is checked elsewhere.
    pub(crate) url: String,
    /// Sent along, so that the receiver knows its task.
    pub(crate) token: Option<Secret>,
    /// Sent along, so that the receiver knows this server.
    pub(crate) authentication: Option<Authentication>,
}
