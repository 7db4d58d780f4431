//! Whether anything of an attempt can still change files: its supervisor, or a process that outlived the supervisor.
//!
//! Changes nothing and ends nothing. What cannot be looked at counts as alive, because two commands in one workspace do
//! more harm than a wait.

use crate::attempt::dir::{self, AttemptDir};
use crate::control::cancel::supervisor_lives;
use crate::control::leftovers::has_leftovers;
use std::fs;
use std::path::Path;

/// Whether the attempt in `dir` can still write anywhere. The commands of it have `run_base` as their `ENVOI_RUN_BASE`.
///
/// After the record of its end, and without its supervisor, a lock that is held belongs to another process.
#[must_use]
pub fn is_at_work(dir: &AttemptDir, run_base: &Path) -> bool {
    let is_over = || fs::symlink_metadata(dir.exit()).is_ok() && !supervisor_lives(dir);
    let is_held = dir::is_held(dir).unwrap_or(true) && !is_over();
    let attempt = dir.path().file_name().and_then(|name| name.to_str());
    is_held || attempt.is_some_and(|attempt| has_leftovers(attempt, run_base).unwrap_or(true))
}
