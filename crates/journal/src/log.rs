//! The event log: one writer, any number of readers, and the store that opens them.

pub(crate) mod idle_connections;
pub(crate) mod journal;
pub(crate) mod manifest_index;
pub(crate) mod reader;
pub(crate) mod store;
pub(crate) mod writer;
