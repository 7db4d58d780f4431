//! Asking a running attempt to end.
//!
//! The wish is a file; the signal only makes the supervisor look at it. A supervisor looks by itself just after it has
//! published `started.json`, so that a wish written before that is never missed.

use std::fs::{self, File};
use std::io;

use rustix::process::Signal;

use crate::dir::{self, AttemptDir};
use crate::durable;
use crate::processes::{self, Process, Sent};
use crate::record::Started;

/// What was done about a wish to cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// The supervisor was told. It will settle the attempt as cancelled, unless the command was over already.
    Told,
    /// Nothing was started yet; a supervisor that comes to it will settle it as cancelled and run nothing.
    Noted,
    /// The attempt is settled; the wish comes too late.
    AlreadyOver,
    /// Something was started, and its supervisor is gone without settling: a case for [`crate::probe`].
    Lost,
}

/// Wants the attempt ended. Durable when it returns; safe to repeat. Makes the folder if nobody has yet.
///
/// # Errors
/// The wish cannot be written, or the supervisor not be found out or signalled.
pub fn cancel(dir: &AttemptDir) -> io::Result<Cancelled> {
    if dir.exit().exists() {
        return Ok(Cancelled::AlreadyOver);
    }
    dir.create()?;
    File::create(dir.cancel())?.sync_all()?;
    durable::sync_dir(dir.path())?;
    let Some(started) = read_started(dir)? else { return Ok(Cancelled::Noted) };
    if tell(dir, &started)? {
        return Ok(Cancelled::Told);
    }
    Ok(if dir.exit().exists() { Cancelled::AlreadyOver } else { Cancelled::Lost })
}

/// `started.json`, if it is there.
pub(crate) fn read_started(dir: &AttemptDir) -> io::Result<Option<Started>> {
    match fs::read(dir.started()) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Signals the supervisor; false if it does not live. Its start is compared, so that a process that has its id now is
/// safe; the lock is looked at, because another boot has other starts.
fn tell(dir: &AttemptDir, started: &Started) -> io::Result<bool> {
    let Some(supervisor) = still_there(started) else { return Ok(false) };
    if !dir::is_held(dir)? {
        return Ok(false);
    }
    match processes::signal(&supervisor, Signal::TERM)? {
        Sent::Delivered => Ok(true),
        Sent::Gone => Ok(false),
        Sent::Refused => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
    }
}

fn still_there(started: &Started) -> Option<Process> {
    let seen = processes::now(i32::try_from(started.supervisor_pid).ok()?)?;
    (seen.started_ticks == started.supervisor_started_ticks).then_some(seen)
}
