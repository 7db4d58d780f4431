//! Files on disk: opened safely where a command may have touched them, and read in pieces. The crate
//! `durable` writes files that must be durable.

pub(crate) mod closed_to_owner;
pub(crate) mod pieces;
pub mod plain;
