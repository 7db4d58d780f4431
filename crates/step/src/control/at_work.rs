//! Whether anything of an attempt can still change files: its supervisor, or a process that outlived the supervisor.
//!
//! Changes nothing and ends nothing. What cannot be looked at counts as alive, because two commands in one workspace do
//! more harm than a wait.

use crate::attempt::dir::{self, AttemptDir};
use crate::attempt::processes::{AllMarks, Marks};
use crate::control::cancel::supervisor_lives;
use crate::control::leftovers::has_leftovers;
use rustix::process::getpid;
use std::cell::OnceCell;
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
    at_work_if(dir, |attempt| has_leftovers(attempt, run_base))
}

/// The processes of this machine, for a look at many attempts that an engine has left: they are looked through once, when the first attempt
/// asks for it.
#[derive(Debug, Default)]
pub struct ProcessesLeft(OnceCell<AllMarks>);

impl ProcessesLeft {
    /// As [`is_at_work`]. Where no supervisor lives, new processes come of those that were there when the processes were looked through. That one
    /// of those still lives is looked at anew, because a run is let into its workspace for that.
    #[must_use]
    pub fn is_at_work(&self, dir: &AttemptDir, run_base: &Path) -> bool {
        let has_left = |attempt: &str| {
            Ok(self.all()?.has(&Marks::new(attempt, run_base)) && has_leftovers(attempt, run_base)?)
        };
        at_work_if(dir, has_left).unwrap_or(true)
    }

    fn all(&self) -> io::Result<&AllMarks> {
        if let Some(all) = self.0.get() {
            return Ok(all);
        }
        let all = AllMarks::look(getpid())?;
        Ok(self.0.get_or_init(|| all))
    }
}

/// `has_left`: whether the attempt has left a process.
fn at_work_if(dir: &AttemptDir, has_left: impl Fn(&str) -> io::Result<bool>) -> io::Result<bool> {
    let is_over = || fs::symlink_metadata(dir.exit()).is_ok() && !supervisor_lives(dir);
    let attempt = dir.path().file_name().and_then(|name| name.to_str());
    let left = || attempt.map_or(Ok(false), &has_left);
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
