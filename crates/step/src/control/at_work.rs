//! Whether anything of an attempt can still change files: its supervisor, or a process that outlived the supervisor.
//!
//! Changes nothing and ends nothing. What cannot be looked at counts as alive, because two commands in one workspace do
//! more harm than a wait.

use crate::attempt::dir::{self, AttemptDir};
use crate::control::cancel::supervisor_lives;
use crate::control::leftovers::has_leftovers;
use std::fs;
use std::io;
use std::path::Path;

/// Whether the attempt in `dir` can still write anywhere. The commands of it have `run_base` as their `ENVOI_RUN_BASE`.
///
/// After the record of its end, and without its supervisor, a lock that is held belongs to another process.
#[must_use]
pub fn is_at_work(dir: &AttemptDir, run_base: &Path) -> bool {
    at_work(dir, run_base).unwrap_or(true)
}

/// As [`is_at_work`], for those who say what is not known.
///
/// # Errors
/// The lock or the processes cannot be looked at, and nothing else says that the attempt is at work.
pub fn at_work(dir: &AttemptDir, run_base: &Path) -> io::Result<bool> {
    let is_over = || fs::symlink_metadata(dir.exit()).is_ok() && !supervisor_lives(dir);
    let attempt = dir.path().file_name().and_then(|name| name.to_str());
    let left = || attempt.map_or(Ok(false), |attempt| has_leftovers(attempt, run_base));
    match dir::is_held(dir) {
        Ok(true) if !is_over() => Ok(true),
        Err(error) if !is_over() => {
            if left()? {
                Ok(true)
            } else {
                Err(error)
            }
        }
        Ok(_) | Err(_) => left(),
    }
}
