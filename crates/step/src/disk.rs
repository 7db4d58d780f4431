//! Files on disk: opened safely where a command may have touched them, and written durably.

pub(crate) mod closed_to_owner;
pub(crate) mod durable;
pub(crate) mod folders;
pub mod plain;
