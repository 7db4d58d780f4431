//! Actions directly after a commit: writing the files that show the run, the process log, and notifying
//! followers.

pub(crate) mod file_projector;
pub(crate) mod followers;
pub(crate) mod placing;
mod run_log;
pub(crate) mod step_cache;
