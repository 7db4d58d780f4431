//! The requests of A2A and their replies, independent of version and binding.
//!
//! Owns the eleven operations and their names. Makes no decisions: `v1` and `v03` read requests into these types and
//! write replies from them.

use super::{
    fault::{Fault, Kind},
    model::{Message, PushConfig, Task, TaskState},
    version::Version,
};
use envoi_contract::{
    json::{Object, Value},
    time::Timestamp,
};

/// Default number of tasks on a page.
pub const TASKS_OF_A_PAGE: u32 = 50;
/// Largest number of tasks on a page.
pub const MOST_TASKS_OF_A_PAGE: u32 = 100;

/// An operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Start a task, or continue one.
    Send,
    /// The same, with a stream of updates.
    Stream,
    /// Get the current state of a task.
    Get,
    /// List tasks, newest first. Not in 0.3.
    List,
    /// Cancel a task.
    Cancel,
    /// Follow a task.
    Subscribe,
    /// Set a push configuration.
    PushSet,
    /// Get a push configuration.
    PushGet,
    /// List the push configurations of a task.
    PushList,
    /// Delete a push configuration.
    PushDelete,
    /// Get the card for authenticated clients.
    ExtendedCard,
}

impl Method {
    /// All operations, with their names in 1.0 and in 0.3.
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

    /// The operation with the JSON-RPC method `name` in `version`.
    ///
    /// # Errors
    /// A name of the other version is a version error; any other name is an unknown method.
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

    /// The JSON-RPC method name; `None` if the version has no such operation.
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
    /// The agent behind the address, which is a flow. Only 1.0 has it.
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
        /// Metadata; empty means absent.
        metadata: Object,
    },
    /// [`Method::Subscribe`].
    Subscribe {
        /// The task.
        id: String,
    },
    /// [`Method::PushSet`]. The configuration contains the task.
    PushSet(PushConfig),
    /// [`Method::PushGet`].
    PushGet {
        /// The task.
        task_id: String,
        /// The configuration. 0.3 may omit it; then any configuration of the task is returned.
        id: Option<String>,
    },
    /// [`Method::PushList`].
    PushList {
        /// The task.
        task_id: String,
        /// The page size; `None` lets the server choose.
        page_size: Option<u32>,
        /// The `next_page_token` of the previous page.
        page_token: Option<String>,
    },
    /// [`Method::PushDelete`].
    PushDelete {
        /// The task.
        task_id: String,
        /// The configuration.
        id: String,
    },
    /// [`Method::ExtendedCard`].
    ExtendedCard,
}

impl Params {
    /// The operation with these parameters.
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

/// A message, and the form of its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct SendRequest {
    /// The message.
    pub message: Message,
    /// The form of the answer.
    pub configuration: Configuration,
    /// Metadata; empty means absent.
    pub metadata: Object,
}

/// The form of the answer to a message.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Configuration {
    /// Media types that the client accepts; empty means any.
    pub accepted_output_modes: Vec<String>,
    /// The receiver of updates.
    pub push_config: Option<PushConfig>,
    /// The largest number of history messages in the answer; `None` means all.
    pub history_length: Option<u32>,
    /// True to answer at once. The default of 1.0 is `false`. `None` means a request of 0.3 without `blocking`, which
    /// lets the server choose.
    pub return_immediately: Option<bool>,
}

/// Selects a task, and how much of its history is returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskQuery {
    /// The task.
    pub id: String,
    /// The largest number of history messages in the answer; `None` means all.
    pub history_length: Option<u32>,
}

/// Selects tasks, and how much of each is returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListQuery {
    /// Only tasks of this conversation.
    pub context_id: Option<String>,
    /// Only tasks in this state.
    pub state: Option<TaskState>,
    /// The page size, from 1 to [`MOST_TASKS_OF_A_PAGE`].
    pub page_size: u32,
    /// The `next_page_token` of the previous page.
    pub page_token: Option<String>,
    /// The largest number of history messages per task; `None` lets the server choose.
    pub history_length: Option<u32>,
    /// Only tasks that changed at this time or later.
    pub status_after: Option<Timestamp>,
    /// True to include artifacts.
    pub include_artifacts: bool,
}

/// The reply to a request without a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The task that a message started or continued.
    SentTask(Task),
    /// The message that answers a message when there is no task.
    SentMessage(Message),
    /// The current state of a task.
    Task(Task),
    /// A page of tasks.
    Tasks(TaskPage),
    /// A push configuration.
    Push(PushConfig),
    /// Push configurations.
    Pushes {
        /// The configurations, in the order in which they were set.
        configs: Vec<PushConfig>,
        /// Empty on the last page.
        next_page_token: String,
    },
    /// The request succeeded; the reply has no content.
    Nothing,
    /// A card, sent unchanged.
    Card(Value),
}

/// A page of tasks.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskPage {
    /// The tasks, the most recently changed first.
    pub tasks: Vec<Task>,
    /// Empty on the last page.
    pub next_page_token: String,
    /// The page size of the request.
    pub page_size: u32,
    /// The number of tasks on all pages.
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
