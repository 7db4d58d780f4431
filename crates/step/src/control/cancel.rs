//! Asking a running attempt to end.
//!
//! The wish is a file; the signal only makes the supervisor look at it. A supervisor looks by itself just after it has
//! published `started.json`, so that a wish written before that is never missed. One that is stopped (SIGSTOP) looks at
//! nothing, so it is continued.

use std::fs;
use std::io;
use std::path::Path;

use rustix::process::Signal;

use crate::attempt::dir::{self, AttemptDir};
use crate::attempt::processes::{self, Process, Sent};
use crate::attempt::record::Started;
use crate::disk::plain;

/// Far more than `started.json` ever has.
const LARGEST_STARTED_BYTES: u64 = 1024 * 1024;

/// What was done about a wish to cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// The supervisor was signalled. It will settle the attempt as cancelled, unless the command was over already.
    Signalled,
    /// Nothing was started yet; a supervisor that comes to it will settle it as cancelled and run nothing.
    Noted,
    /// The attempt is settled; the wish comes too late.
    AlreadyOver,
    /// Something was started, and its supervisor is gone without settling: a case for [`crate::probe`].
    Lost,
}

/// Requests that the attempt ends. Durable when it returns; safe to repeat. Makes the folder if it is missing.
///
/// # Errors
/// The wish cannot be written, or the supervisor not be found out or signalled.
pub fn cancel(dir: &AttemptDir) -> io::Result<Cancelled> {
    if is_there(&dir.exit()) {
        return Ok(Cancelled::AlreadyOver);
    }
    match dir.create() {
        // Nothing is written to where a command's link leads.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(Cancelled::Lost),
        made => made?,
    }
    if !dir.is_real() {
        return Ok(Cancelled::Lost);
    }
    // The wish is that there is anything at all.
    if !is_wanted(dir) {
        plain::create(&dir.cancel())?.sync_all()?;
        envoi_durable::sync_folder(dir.path())?;
    }
    let started = match read_started(dir) {
        Ok(None) => return Ok(Cancelled::Noted),
        Ok(Some(started)) => started,
        // Who the supervisor is cannot be known.
        Err(_) => return Ok(Cancelled::Lost),
    };
    if signal_supervisor(dir, &started)? {
        return Ok(Cancelled::Signalled);
    }
    Ok(if is_there(&dir.exit()) { Cancelled::AlreadyOver } else { Cancelled::Lost })
}

/// Signals the supervisor of a cancelled attempt once more, because it may have been stopped since. Returns whether it still lives.
#[must_use]
pub fn remind(dir: &AttemptDir) -> bool {
    is_wanted(dir) && started(dir).is_some_and(|started| signal_supervisor(dir, &started).unwrap_or(false))
}

/// Whether a cancel was requested.
pub(crate) fn is_wanted(dir: &AttemptDir) -> bool {
    is_there(&dir.cancel())
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// The record of the start; none if there is none that can be read.
#[must_use]
pub fn started(dir: &AttemptDir) -> Option<Started> {
    read_started(dir).ok().flatten()
}

/// `started.json`, if it is there.
pub(crate) fn read_started(dir: &AttemptDir) -> io::Result<Option<Started>> {
    let Some(file) = plain::open_if_there(&dir.started())? else { return Ok(None) };
    Ok(Some(serde_json::from_slice(&plain::read_all(file, LARGEST_STARTED_BYTES)?)?))
}

/// The process id of the supervisor, if it lives.
#[must_use]
pub fn living_supervisor(dir: &AttemptDir) -> Option<u32> {
    supervisor_lives(dir).then(|| started(dir)).flatten().map(|started| started.supervisor_pid)
}

/// Whether the supervisor that published `started.json` lives, as far as this process can see.
pub(crate) fn supervisor_lives(dir: &AttemptDir) -> bool {
    let supervisor = read_started(dir).ok().flatten().and_then(|started| still_there(&started));
    supervisor.is_some_and(|process| !process.is_over())
}

/// Signals the supervisor; false if it does not live. Its start is compared, so that a process that has its id now is
/// safe; the lock is looked at, because another boot has other starts.
fn signal_supervisor(dir: &AttemptDir, started: &Started) -> io::Result<bool> {
    let Some(supervisor) = still_there(started) else { return Ok(false) };
    if !dir::is_held(dir)? {
        return Ok(false);
    }
    match processes::signal(&supervisor, Signal::TERM)? {
        Sent::Delivered => {
            // Nothing to a process that is not stopped.
            processes::signal(&supervisor, Signal::CONT)?;
            Ok(true)
        }
        Sent::Gone => Ok(false),
        Sent::Refused => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
    }
}

fn still_there(started: &Started) -> Option<Process> {
    let seen = processes::now(i32::try_from(started.supervisor_pid).ok()?)?;
    (seen.started_ticks == started.supervisor_started_ticks).then_some(seen)
}
