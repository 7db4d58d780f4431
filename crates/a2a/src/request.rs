//! The requests of A2A and their replies, whatever the version and the binding.
//!
//! Owns the eleven operations and their names. It decides nothing: `v1` and `v03` read requests into these and write
//! replies from them.

use super::{
    fault::{Fault, Kind},
    model::{Message, PushConfig, Task, TaskState},
    version::Version,
};
use envoi_contract::{
    json::{Object, Value},
    time::Timestamp,
};

/// Tasks of a page by default.
pub const TASKS_OF_A_PAGE: u32 = 50;
/// The most tasks that a page may have.
pub const MOST_TASKS_OF_A_PAGE: u32 = 100;

/// An operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Begin a task, or go on with one.
    Send,
    /// The same, followed as a stream.
    Stream,
    /// A task as it stands.
    Get,
    /// Tasks, newest first. Not in 0.3.
    List,
    /// End a task.
    Cancel,
    /// Follow a task.
    Subscribe,
    /// Set a push configuration.
    PushSet,
    /// What was set.
    PushGet,
    /// All that was set.
    PushList,
    /// Delete a push configuration.
    PushDelete,
    /// The card for those who are known.
    ExtendedCard,
}

impl Method {
    /// All of them, with their names in 1.0 and in 0.3.
    const NAMES: [(Self, &'static str, Option<&'static str>); 11] = [
        (Self::Send, "SendMessage", Some("message/send")),
        (Self::Stream, "SendStreamingMessage", Some("message/stream")),
        (Self::Get, "GetTask", Some("tasks/get")),
        (Self::List, "ListTasks", None),
        (Self::Cancel, "CancelTask", Some("tasks/cancel")),
        (Self::Subscribe, "SubscribeToTask", Some("tasks/resubscribe")),
        (Self::PushSet, "CreateTaskPushNotificationConfig", Some("tasks/pushNotificationConfig/set")),
        (Self::PushGet, "GetTaskPushNotificationConfig", Some("tasks/pushNotificationConfig/get")),
        (Self::PushList, "ListTaskPushNotificationConfigs", Some("tasks/pushNotificationConfig/list")),
        (Self::PushDelete, "DeleteTaskPushNotificationConfig", Some("tasks/pushNotificationConfig/delete")),
        (Self::ExtendedCard, "GetExtendedAgentCard", Some("agent/getAuthenticatedExtendedCard")),
    ];

    /// The operation that JSON-RPC calls `name` in `version`.
    ///
    /// # Errors
    /// A name of the other version is a version error; any other name is no method.
    pub fn named(name: &str, version: Version) -> Result<Self, Fault> {
        let names = |row: &&(Self, &str, Option<&str>), of: Version| match of {
            Version::V10 => row.1 == name,
            Version::V03 => row.2 == Some(name),
        };
        if let Some(row) = Self::NAMES.iter().find(|row| names(row, version)) {
            return Ok(row.0);
        }
        let other = version.other();
        if Self::NAMES.iter().any(|row| names(&row, other)) {
            let detail = format!("`{name}` is a method of {other}, and the request is one of {version}");
            return Err(Fault::new(Kind::VersionNotSupported).detail(detail));
        }
        Err(Fault::new(Kind::MethodNotFound))
    }

    /// The name that JSON-RPC has for it; `None` if the version has no such operation.
    #[must_use]
    pub fn name(self, version: Version) -> Option<&'static str> {
        let (_, of_v10, of_v03) = Self::NAMES.into_iter().find(|(method, _, _)| *method == self)?;
        match version {
            Version::V10 => Some(of_v10),
            Version::V03 => of_v03,
        }
    }
}

/// A request that was read without violations.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The agent behind the address that is meant: a flow. Only 1.0 has it.
    pub tenant: Option<String>,
    /// Its parameters.
    pub params: Params,
}

/// The parameters of a request, one variant for each method.
#[derive(Debug, Clone, PartialEq)]
pub enum Params {
    /// [`Method::Send`].
    Send(SendRequest),
    /// [`Method::Stream`].
    Stream(SendRequest),
    /// [`Method::Get`].
    Get(TaskQuery),
    /// [`Method::List`].
    List(ListQuery),
    /// [`Method::Cancel`].
    Cancel {
        /// The task.
        id: String,
        /// Empty is absent.
        metadata: Object,
    },
    /// [`Method::Subscribe`].
    Subscribe {
        /// The task.
        id: String,
    },
    /// [`Method::PushSet`]. The task is named in it.
    PushSet(PushConfig),
    /// [`Method::PushGet`].
    PushGet {
        /// The task.
        task_id: String,
        /// 0.3 may leave it out; then any configuration will do.
        id: Option<String>,
    },
    /// [`Method::PushList`].
    PushList {
        /// The task.
        task_id: String,
        /// `None` leaves it to the server.
        page_size: Option<u32>,
        /// The `next_page_token` of the page before.
        page_token: Option<String>,
    },
    /// [`Method::PushDelete`].
    PushDelete {
        /// The task.
        task_id: String,
        /// Which.
        id: String,
    },
    /// [`Method::ExtendedCard`].
    ExtendedCard,
}

impl Params {
    /// The operation that has these parameters.
    #[must_use]
    pub const fn method(&self) -> Method {
        match self {
            Self::Send(_) => Method::Send,
            Self::Stream(_) => Method::Stream,
            Self::Get(_) => Method::Get,
            Self::List(_) => Method::List,
            Self::Cancel { .. } => Method::Cancel,
            Self::Subscribe { .. } => Method::Subscribe,
            Self::PushSet(_) => Method::PushSet,
            Self::PushGet { .. } => Method::PushGet,
            Self::PushList { .. } => Method::PushList,
            Self::PushDelete { .. } => Method::PushDelete,
            Self::ExtendedCard => Method::ExtendedCard,
        }
    }
}

/// A message, and how it is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct SendRequest {
    /// The message.
    pub message: Message,
    /// How.
    pub configuration: Configuration,
    /// Empty is absent.
    pub metadata: Object,
}

/// How a message is answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Configuration {
    /// Media types that the client accepts; empty means any.
    pub accepted_output_modes: Vec<String>,
    /// Where to send updates.
    pub push_config: Option<PushConfig>,
    /// How much history the answer may have; `None` is all of it.
    pub history_length: Option<u32>,
    /// Whether to answer at once. The default of 1.0 is `false`; `None` is 0.3 without `blocking`, which leaves it to
    /// the server.
    pub return_immediately: Option<bool>,
}

/// Which task, and how much of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskQuery {
    /// The task.
    pub id: String,
    /// How much history the answer may have; `None` is all of it.
    pub history_length: Option<u32>,
}

/// Which tasks, and how much of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListQuery {
    /// Of this conversation alone.
    pub context_id: Option<String>,
    /// In this state alone.
    pub state: Option<TaskState>,
    /// From 1 to [`MOST_TASKS_OF_A_PAGE`].
    pub page_size: u32,
    /// The `next_page_token` of the page before.
    pub page_token: Option<String>,
    /// How much history each may have; `None` leaves it to the server.
    pub history_length: Option<u32>,
    /// Changed then or later.
    pub status_after: Option<Timestamp>,
    /// Whether artifacts are wanted.
    pub include_artifacts: bool,
}

/// The reply to a request that has no stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The task that a message started or moved.
    SentTask(Task),
    /// The message that answers a message, where there is no task.
    SentMessage(Message),
    /// A task as it stands.
    Task(Task),
    /// Tasks.
    Tasks(TaskPage),
    /// What was set.
    Push(PushConfig),
    /// All that was set.
    Pushes {
        /// In the order in which they were set.
        configs: Vec<PushConfig>,
        /// Empty on the last page.
        next_page_token: String,
    },
    /// Done; the reply has no content.
    Nothing,
    /// A card, as it is.
    Card(Value),
}

/// One page of tasks.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskPage {
    /// Newest state first.
    pub tasks: Vec<Task>,
    /// Empty on the last page.
    pub next_page_token: String,
    /// The page size of the request.
    pub page_size: u32,
    /// How many there are on all pages.
    pub total_size: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_its_own_names() {
        for (method, of_v10, of_v03) in Method::NAMES {
            assert_eq!(Method::named(of_v10, Version::V10), Ok(method));
            assert_eq!((method.name(Version::V10), method.name(Version::V03)), (Some(of_v10), of_v03));
            let other = Method::named(of_v10, Version::V03).unwrap_err();
            assert_eq!(other.kind, Kind::VersionNotSupported, "{of_v10}");
            let Some(of_v03) = of_v03 else { continue };
            assert_eq!(Method::named(of_v03, Version::V03), Ok(method));
            let other = Method::named(of_v03, Version::V10).unwrap_err();
            assert_eq!(other.kind, Kind::VersionNotSupported, "{of_v03}");
        }
    }

    #[test]
    fn what_neither_version_knows_is_no_method() {
        for name in
            ["", "sendMessage", "SendMessage ", "tasks/list", "tasks/pushNotification/set", "SendMessageX"]
        {
            for version in [Version::V03, Version::V10] {
                assert_eq!(Method::named(name, version), Err(Fault::new(Kind::MethodNotFound)), "{name}");
            }
        }
    }
}
