//! What the store keeps about A2A tasks, as values: conversations, messages, push configurations.

use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_kernel::ids::{RunId, Seq};

/// A run as a task: which conversation it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// The run; it may not have begun.
    pub run: RunId,
    /// Whose.
    pub tenant: String,
    /// The id of the token that began it.
    pub token: String,
    /// The conversation.
    pub context: String,
    /// When the start was requested.
    pub at: Timestamp,
}

/// A message as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    /// The run that it began, or that it is an answer for.
    pub run: RunId,
    /// The id of the token that it came with.
    pub token: String,
    /// The conversation.
    pub context: String,
    /// The task that it named; empty for one that begins a task.
    pub task: String,
    /// The id that its sender gave it.
    pub message_id: String,
    /// Of its content.
    pub digest: Digest,
    /// The id under which the engine knows what it asks for; no two messages have the same.
    pub request: String,
    /// The message itself, as JSON of the newest version of the protocol.
    pub body: String,
    /// When it came.
    pub at: Timestamp,
}

/// A push configuration: where the events of a task are sent, and how far that has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushRow {
    /// The task.
    pub run: RunId,
    /// The id of the configuration, one a task.
    pub id: String,
    /// Where.
    pub url: String,
    /// What the receiver wants to be shown.
    pub token: Option<String>,
    /// The scheme of `Authorization`.
    pub scheme: Option<String>,
    /// What stands after the scheme.
    pub credentials: Option<String>,
    /// The id of the token that made it.
    pub client: String,
    /// The version of the protocol in which events are sent.
    pub version: String,
    /// The address of this server as the client used it: a scheme, a name and a port.
    pub base: String,
    /// The first event that was not sent.
    pub next_seq: Seq,
    /// How often in a row it did not work.
    pub tries: u32,
    /// Not before this moment.
    pub due_at: Timestamp,
    /// How it stands.
    pub state: PushState,
    /// The last trouble.
    pub note: Option<String>,
    /// When it was made.
    pub at: Timestamp,
}

/// How a push configuration stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushState {
    /// Events are sent.
    Active,
    /// The task is over, and every event was sent.
    Done,
    /// It was given up.
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

/// What has become of a push configuration that was to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptPush {
    /// It was kept, in the place of this one.
    Kept(Option<Box<PushRow>>),
    /// It was not: the id is that of another client's.
    Anothers,
}

/// Which tasks of a tenant are wanted, those that changed last first.
#[derive(Debug, Clone, Default)]
pub struct TaskPage {
    /// Whose.
    pub tenant: String,
    /// Only of this conversation.
    pub context: Option<String>,
    /// Only of the flow of this id or this digest.
    pub flow: Option<String>,
    /// Only in one of these, words of [`crate::RunStatus`], where every run with an open question is `waiting`; empty: all.
    pub statuses: Vec<String>,
    /// Only those that have changed after this moment.
    pub changed_after: Option<Timestamp>,
    /// Only those behind this one, by when it had changed; as the page before ended.
    pub behind: Option<(Timestamp, RunId)>,
    /// At most so many.
    pub limit: u32,
}
