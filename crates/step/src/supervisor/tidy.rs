//! Removes files that are not needed once `exit.json` exists: an attempt that wrote nothing leaves only that
//! record.
//!
//! The record is durable at this point. It contains everything that the lock, the claim of the start and an
//! empty stream would show: a process that finds it starts nothing and waits for nothing. A file that cannot
//! be removed stays, and does no harm.

use crate::attempt::dir::{self, AttemptDir};
use crate::attempt::record::Exit;
use crate::attempt::spec::Spec;
use std::{fs, io};

/// Called last, by the process that holds the lock.
pub(super) fn tidy(dir: &AttemptDir, spec: &Spec, exit: &Exit) {
    let empty = [(dir.stdout(), &exit.stdout), (dir.stderr(), &exit.stderr)];
    let streams = empty.into_iter().filter(|(_, stream)| stream.file.bytes == 0).map(|(path, _)| path);
    let is_empty = fs::symlink_metadata(dir.supervisor_log()).is_ok_and(|found| found.len() == 0);
    let log = is_empty.then(|| dir.supervisor_log());
    // The engine compares the marks after the end too: the process that cancels an agent's task masks with
    // the values of that time.
    let started = spec.secret_marks.is_empty().then(|| dir.started());
    for path in streams.chain(log).chain(started).chain([dir.cached()]) {
        // If a command has put a folder in the place of a file, it stays.
        fs::remove_file(path).ok();
    }
    // A lock that has replaced this one may belong to another start.
    if dir::holds_lock_of(dir, io::stdout()).unwrap_or(false) {
        fs::remove_file(dir.lock()).ok();
    }
}
