//! What follows a commit at once: the files that show the run, the log of the process, and those who follow the run.

pub(crate) mod file_projector;
pub(crate) mod followers;
pub(crate) mod placing;
mod run_log;
pub(crate) mod step_cache;
