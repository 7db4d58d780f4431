//! The enums of 1.0, by name. The names are A2A's, not codes of Envoi.

use crate::model::{Role, TaskState};

/// The valid roles, for refusals.
pub(super) const ROLES: &str = "ROLE_USER, ROLE_AGENT";

pub(super) const fn role(role: Role) -> &'static str {
    match role {
        Role::User => "ROLE_USER",
        Role::Agent => "ROLE_AGENT",
    }
}

pub(super) fn role_of(word: &str) -> Option<Role> {
    [Role::User, Role::Agent].into_iter().find(|known| role(*known) == word)
}

pub(super) const fn state(state: TaskState) -> &'static str {
    match state {
        TaskState::Submitted => "TASK_STATE_SUBMITTED",
        TaskState::Working => "TASK_STATE_WORKING",
        TaskState::InputRequired => "TASK_STATE_INPUT_REQUIRED",
        TaskState::AuthRequired => "TASK_STATE_AUTH_REQUIRED",
        TaskState::Completed => "TASK_STATE_COMPLETED",
        TaskState::Failed => "TASK_STATE_FAILED",
        TaskState::Canceled => "TASK_STATE_CANCELED",
        TaskState::Rejected => "TASK_STATE_REJECTED",
    }
}

/// A state to filter by. "Unspecified" means any state: `Some(None)`.
pub(super) fn state_of(word: &str) -> Option<Option<TaskState>> {
    if word == "TASK_STATE_UNSPECIFIED" {
        return Some(None);
    }
    TaskState::ALL.into_iter().find(|known| state(*known) == word).map(Some)
}

/// The valid states, for refusals.
pub(super) fn states() -> String {
    TaskState::ALL.map(state).join(", ")
}
