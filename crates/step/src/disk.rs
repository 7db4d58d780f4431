//! Files on disk: opened safely where a command may have touched them, and read piece by piece. Crate `durable` writes those that must last.

pub(crate) mod closed_to_owner;
pub(crate) mod pieces;
pub mod plain;
