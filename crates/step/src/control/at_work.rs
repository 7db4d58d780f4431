//! Checks whether a process of an attempt can still change files: its supervisor, or a process that outlived
//! the supervisor.
//!
//! Reads only, and ends no process. An attempt that cannot be checked counts as alive, because two commands
//! in one workspace do more harm than a wait.

use crate::attempt::dir::{self, AttemptDir};
use crate::attempt::processes::{AllMarks, Marks};
use crate::control::cancel::supervisor_lives;
use crate::control::leftovers::has_leftovers;
use rustix::process::getpid;
use std::cell::OnceCell;
use std::fs;
use std::io;
use std::path::Path;

/// Whether a process of the attempt in `dir` can still write. Its commands have `run_base` as their
/// `ENVOI_RUN_BASE`.
///
/// If `exit.json` exists and the supervisor is gone, a held lock belongs to another process and does not
/// count.
#[must_use]
pub fn is_at_work(dir: &AttemptDir, run_base: &Path) -> bool {
    at_work(dir, run_base).unwrap_or(true)
}

/// Like [`is_at_work`], for a caller that reports errors.
///
/// # Errors
/// The lock or the processes cannot be read, and nothing else shows that the attempt is at work.
pub fn at_work(dir: &AttemptDir, run_base: &Path) -> io::Result<bool> {
    at_work_if(dir, |attempt| has_leftovers(attempt, run_base))
}

/// The processes of this machine, to check many attempts that an engine has left. They are read once, at the
/// first check that needs them.
#[derive(Debug, Default)]
pub struct ProcessesLeft(OnceCell<AllMarks>);

impl ProcessesLeft {
    /// Like [`is_at_work`].
    ///
    /// If no supervisor lives, new processes can only descend from those that were there at the first
    /// reading. So an attempt without a process at that time has none now. If it had one, the processes are
    /// read again, because a run enters the workspace when the answer is no.
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

/// `has_left` returns whether the attempt has left a process.
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
