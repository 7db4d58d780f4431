//! Requests that a running attempt ends.
//!
//! The request is a file; the signal only makes the supervisor read it. The supervisor also reads it just
//! after it has published `started.json`, so a request that was written before is never missed. A stopped
//! supervisor (SIGSTOP) reads nothing, so it gets SIGCONT too.

use std::fs;
use std::io;
use std::path::Path;

use rustix::process::Signal;

use crate::attempt::dir::{self, AttemptDir};
use crate::attempt::processes::{self, Process, Sent};
use crate::attempt::record::Started;
use crate::disk::plain;

/// Much more than `started.json` ever has.
const LARGEST_STARTED_BYTES: u64 = 1024 * 1024;

/// The result of a cancel request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// The supervisor was signalled. It will settle the attempt as cancelled, unless the command had already
    /// ended.
    Signalled,
    /// Nothing was started yet. A supervisor that starts later will settle the attempt as cancelled and run
    /// nothing.
    Noted,
    /// The attempt is settled; the request comes too late.
    AlreadyOver,
    /// A command may have been started, and its supervisor ended without settling: use [`crate::probe`].
    Lost,
}

/// Requests that the attempt ends. Durable when it returns; safe to repeat. Makes the folder if it is
/// missing.
///
/// # Errors
/// The request cannot be written, or the supervisor cannot be found or signalled.
pub fn cancel(dir: &AttemptDir) -> io::Result<Cancelled> {
    if is_there(&dir.exit()) {
        return Ok(Cancelled::AlreadyOver);
    }
    match dir.create() {
        // A command may have put a link there; nothing is written behind it.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(Cancelled::Lost),
        made => made?,
    }
    if !dir.is_real() {
        return Ok(Cancelled::Lost);
    }
    // Any file at this path is a request, whatever its content.
    if !is_wanted(dir) {
        plain::create(&dir.cancel())?.sync_all()?;
        envoi_durable::sync_folder(dir.path())?;
    }
    let started = match read_started(dir) {
        Ok(None) => return Ok(Cancelled::Noted),
        Ok(Some(started)) => started,
        // Without a readable `started.json` the supervisor is not known.
        Err(_) => return Ok(Cancelled::Lost),
    };
    if signal_supervisor(dir, &started)? {
        return Ok(Cancelled::Signalled);
    }
    Ok(if is_there(&dir.exit()) { Cancelled::AlreadyOver } else { Cancelled::Lost })
}

/// Signals the supervisor of a cancelled attempt again, because it may have been stopped since. Returns
/// whether it still lives.
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

/// The record of the start. `None` if it is missing or unreadable.
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

/// Signals the supervisor. Returns false if it does not live. The start time is compared, because another
/// process may have its id now. The lock is checked, because start times of another boot mean nothing.
fn signal_supervisor(dir: &AttemptDir, started: &Started) -> io::Result<bool> {
    let Some(supervisor) = still_there(started) else { return Ok(false) };
    if !dir::is_held(dir)? {
        return Ok(false);
    }
    match processes::signal(&supervisor, Signal::TERM)? {
        Sent::Delivered => {
            // CONT has no effect on a process that is not stopped.
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
