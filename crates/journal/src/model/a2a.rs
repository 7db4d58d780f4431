//! Values that the store keeps about A2A tasks: conversations, messages, push configurations.

use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_kernel::ids::{RunId, Seq};

/// A run as a task: which conversation it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// The run. It may not have begun yet.
    pub run: RunId,
    /// The tenant that the task belongs to.
    pub tenant: String,
    /// The id of the token that began it.
    pub token: String,
    /// The conversation.
    pub context: String,
    /// When the start was requested.
    pub at: Timestamp,
}

/// A message as it was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    /// The run that the message started, or that it answers.
    pub run: RunId,
    /// The id of the token that it came with.
    pub token: String,
    /// The conversation.
    pub context: String,
    /// The id of the task that the message named; empty if the message starts a task.
    pub task: String,
    /// The id that its sender gave it.
    pub message_id: String,
    /// SHA-256 of the message's content.
    pub digest: Digest,
    /// The engine's request id for this message; unique per message.
    pub request: String,
    /// The message itself, as JSON of the newest version of the protocol.
    pub body: String,
    /// When it came.
    pub at: Timestamp,
}

/// A push configuration: the target for the events of a task, and the progress of sending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushRow {
    /// The task.
    pub run: RunId,
    /// The id of the configuration, one a task.
    pub id: String,
    /// The receiver's URL.
    pub url: String,
    /// The token that the receiver expects with each notification.
    pub token: Option<String>,
    /// The scheme of `Authorization`.
    pub scheme: Option<String>,
    /// The credentials that follow the scheme in `Authorization`.
    pub credentials: Option<String>,
    /// The id of the token that created the configuration.
    pub client: String,
    /// The version of the protocol in which events are sent.
    pub version: String,
    /// The address of this server as the client used it: a scheme, a name and a port.
    pub base: String,
    /// The first event that has not been sent.
    pub next_seq: Seq,
    /// Number of consecutive failed tries.
    pub tries: u32,
    /// The earliest time of the next try.
    pub due_at: Timestamp,
    /// The state of sending.
    pub state: PushState,
    /// The last error, if any.
    pub note: Option<String>,
    /// When it was created.
    pub at: Timestamp,
}

/// The state of a push configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushState {
    /// Events are sent.
    Active,
    /// The task is over, and every event was sent.
    Done,
    /// Sending was abandoned.
    Failed,
}

impl PushState {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }

    pub(crate) fn parse(word: &str) -> Self {
        match word {
            "done" => Self::Done,
            "failed" => Self::Failed,
            _ => Self::Active,
        }
    }
}

/// The result of storing a push configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptPush {
    /// It was stored. Holds the configuration that it replaced, if there was one.
    Kept(Option<Box<PushRow>>),
    /// It was not stored: the id belongs to another client.
    Anothers,
}

/// A filter for the tasks of a tenant. Results are sorted by time of last change, newest first.
#[derive(Debug, Clone, Default)]
pub struct TaskPage {
    /// The tenant.
    pub tenant: String,
    /// Only tasks of this conversation.
    pub context: Option<String>,
    /// Only tasks whose flow has this id or this digest.
    pub flow: Option<String>,
    /// Only tasks in one of these statuses (words of [`crate::RunStatus`]; every run with an open question
    /// counts as `waiting`). Empty: all.
    pub statuses: Vec<String>,
    /// Only tasks that changed after this time.
    pub changed_after: Option<Timestamp>,
    /// Only tasks after this one in the order of the result: its time of change and its run. The last entry
    /// of the previous page.
    pub behind: Option<(Timestamp, RunId)>,
    /// Maximum number of tasks.
    pub limit: u32,
}
