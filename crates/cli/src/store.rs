//! The store of runs: its location, its configuration, and the runs, flows and files that a command names.

pub(crate) mod attachment;
pub(crate) mod cluster_file;
pub(crate) mod config;
pub(crate) mod flow_files;
pub(crate) mod home;
pub(crate) mod open_restore;
pub(crate) mod pinned_file;
pub(crate) mod select;
pub(crate) mod server_url;
pub(crate) mod standing;
pub(crate) mod waiting;
