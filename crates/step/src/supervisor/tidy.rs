//! Removes what is of no use when the record of the end stands: an attempt that wrote nothing leaves that record alone.
//!
//! The record is durable by then. It says all that the lock, the claim of the start and an empty stream would say: who finds it starts
//! nothing and waits for nothing. What cannot be removed stays, and does no harm.

use crate::attempt::dir::{self, AttemptDir};
use crate::attempt::record::Exit;
use crate::attempt::spec::Spec;
use std::{fs, io};

/// To be called last, by the process that holds the lock.
pub(super) fn tidy(dir: &AttemptDir, spec: &Spec, exit: &Exit) {
    let empty = [(dir.stdout(), &exit.stdout), (dir.stderr(), &exit.stderr)];
    let streams = empty.into_iter().filter(|(_, stream)| stream.file.bytes == 0).map(|(path, _)| path);
    let is_empty = fs::symlink_metadata(dir.supervisor_log()).is_ok_and(|found| found.len() == 0);
    let log = is_empty.then(|| dir.supervisor_log());
    // The engine compares the marks also after the end: the process that cancels an agent's task masks with the values of then.
    let started = spec.secret_marks.is_empty().then(|| dir.started());
    for path in streams.chain(log).chain(started).chain([dir.cached()]) {
        // What a command has put in the place of a file stays, if it is a folder.
        fs::remove_file(path).ok();
    }
    // A lock that was put in the place of this one may be that of another start.
    if dir::holds_lock_of(dir, io::stdout()).unwrap_or(false) {
        fs::remove_file(dir.lock()).ok();
    }
}
