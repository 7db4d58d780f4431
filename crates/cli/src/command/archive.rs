//! Commands that write a run into one file, check such a file, and import it into a store.

pub(crate) mod bring;
pub(crate) mod export;
pub(crate) mod verify;
