//! The enums of 0.3.

use crate::model::Role;

/// The valid roles, for refusals.
pub(super) const ROLES: &str = "user, agent";

/// The member of a part's metadata that marks wrapped data. Data of 0.3 has to be an object. The name is the one that
/// the SDKs use.
pub(crate) const WRAPPED: &str = "data_part_compat";

/// The member of the wrapping object.
pub(crate) const WRAPPED_IN: &str = "value";

pub(super) const fn role(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Agent => "agent",
    }
}

pub(super) fn role_of(word: &str) -> Option<Role> {
    [Role::User, Role::Agent].into_iter().find(|known| role(*known) == word)
}
