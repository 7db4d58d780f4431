//! The folder of a store: its paths, and how files are opened, written and locked safely.

pub(crate) mod beneath;
pub(crate) mod blobs;
pub(crate) mod database_files;
pub(crate) mod layout;
pub(crate) mod lease;
pub(crate) mod old_contents;
