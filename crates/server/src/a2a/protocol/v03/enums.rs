//! The enums of 0.3.

use crate::a2a::protocol::model::{Role, TaskState};

/// For refusals.
pub(super) const ROLES: &str = "user, agent";

/// The member of a part's metadata that marks wrapped data, because data of 0.3 must be an object; the name is the
/// SDKs'.
pub(super) const WRAPPED: &str = "data_part_compat";

/// The member of the wrapping object.
pub(super) const WRAPPED_IN: &str = "value";

pub(super) const fn role(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Agent => "agent",
    }
}

pub(super) fn role_of(word: &str) -> Option<Role> {
    [Role::User, Role::Agent].into_iter().find(|known| role(*known) == word)
}

pub(super) const fn state(state: TaskState) -> &'static str {
    match state {
        TaskState::Submitted => "submitted",
        TaskState::Working => "working",
        TaskState::InputRequired => "input-required",
        TaskState::AuthRequired => "auth-required",
        TaskState::Completed => "completed",
        TaskState::Failed => "failed",
        TaskState::Canceled => "canceled",
        TaskState::Rejected => "rejected",
    }
}
