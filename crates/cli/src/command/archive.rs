//! Commands that write a run into one file, and check such a file.

pub(crate) mod export;
pub(crate) mod verify;
