//! The supervisor of one attempt, from its order to `exit.json`.
//!
//! [`Attempt::run`] contains the sequence. Everything that the engine can learn is in the attempt's folder.
//! Standard output is the lock and is never written to; standard error is `supervisor.log`.

mod cache;
mod misplaced;
mod run;
mod set_back;
mod settle;
mod signals;
mod snapshot;
mod tidy;
mod watch;

use std::io::{self, Read};
use std::process::ExitCode;
use std::time::SystemTime;

use crate::attempt::crash_point::CrashPoint;
use crate::attempt::dir::{self, AttemptDir};
use crate::attempt::lease::{self, boot_ms};
use crate::attempt::processes;
use crate::attempt::record::{MOST_FILES, MostFiles, Outcome, Started, VERSION};
use crate::attempt::spec::{Order, Spec};
use crate::control::cancel;
use crate::control::presence::Presence;
use crate::control::probe::unix_ms;
use crate::disk::plain;
use crate::mask::Secrets;
use crate::workspace::{artifacts::PatternError, before::Before};

use self::run::Ended;
use self::signals::Signals;

/// The main function of the supervisor's process: reads the order from standard input to its end, then
/// carries it out.
///
/// The program behind [`crate::Launcher`] calls it before it starts a thread or reads its environment. Errors
/// are written to standard error. `reached` is called at points where a test may stop the supervisor.
pub fn run_supervisor(reached: fn(CrashPoint)) -> ExitCode {
    match supervise(reached) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Why a supervisor did not settle its attempt.
#[derive(Debug, thiserror::Error)]
enum SuperviseError {
    /// The engine died, or gave up, while it sent the order. Nothing was run.
    #[error("the order is not whole: {bytes} bytes, broken at line {line} column {column}")]
    NotWhole { bytes: usize, line: usize, column: usize },
    /// Standard output is not this attempt's lock, or another process holds the lock. Nothing was run.
    #[error("standard output does not hold the lock of this attempt")]
    NotTheLock,
    /// Another supervisor has claimed the start before. Nothing was run.
    #[error("the attempt was started before")]
    StartedBefore,
    /// A system call failed.
    #[error("{doing}: {source}")]
    Io { doing: &'static str, source: io::Error },
}

/// Adds what was being done when a system call failed.
trait Doing<T> {
    fn doing(self, what: &'static str) -> Result<T, SuperviseError>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, doing: &'static str) -> Result<T, SuperviseError> {
        self.map_err(|source| SuperviseError::Io { doing, source })
    }
}

fn supervise(reached: fn(CrashPoint)) -> Result<ExitCode, SuperviseError> {
    let signals = Signals::install().doing("cannot listen to signals")?;
    stand_alone().doing("cannot leave the engine's session")?;
    let order = read_order()?;
    let secrets = Secrets::new(&order.spec.secrets);
    // The presence lasts as long as this process lives, even if its engine has ended. If the lock cannot be
    // taken, the engine has already warned of it.
    let _presence = Presence::join(&order.spec.workspace).ok();
    let dir = AttemptDir::new(order.dir);
    let attempt = Attempt { dir, spec: order.spec, secrets, most_files: MOST_FILES, reached };
    Ok(match attempt.run(&signals) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            attempt.log(&error.to_string());
            attempt.note_full_disk(&error);
            ExitCode::FAILURE
        }
    })
}

/// Makes a session of its own, so that no terminal ends it, and becomes the parent of every orphan below it.
fn stand_alone() -> io::Result<()> {
    rustix::process::setsid()?;
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(rustix::process::chdir("/")?)
}

fn read_order() -> Result<Order, SuperviseError> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).doing("cannot read the order")?;
    // The decoder's own message could contain a secret.
    serde_json::from_slice(&bytes).map_err(|error| SuperviseError::NotWhole {
        bytes: bytes.len(),
        line: error.line(),
        column: error.column(),
    })
}

/// The attempt that this process carries out.
struct Attempt {
    dir: AttemptDir,
    spec: Spec,
    secrets: Secrets,
    most_files: MostFiles,
    reached: fn(CrashPoint),
}

impl Attempt {
    fn run(&self, signals: &Signals) -> Result<(), SuperviseError> {
        self.check_claim()?;
        let mut before = self.look_before();
        let looked = before.as_mut().ok().filter(|_| !self.cancel_wanted() && !self.lease_is_over());
        let looked = looked.and_then(|before| self.look_in_cache(before));
        if let Some((looked, hit)) = looked.as_ref().and_then(|looked| Some((looked, looked.hit()?))) {
            // No command is started, so no start is claimed.
            let settled = self.settle(&hit.ended, before.as_ref().ok(), Some(looked));
            return settled.doing("cannot settle the attempt");
        }
        let displaced = looked.as_ref().map(|looked| looked.displaced.clone());
        let displaced = displaced.unwrap_or_else(|| self.displaced_before());
        self.forget_bringing(before.as_mut().ok(), &displaced)
            .doing("cannot remove what was brought of a result of the cache")?;
        self.publish()?;
        let ended = match &before {
            // A request to cancel that was written before `started.json` existed came without a signal, so
            // check for it.
            _ if self.cancel_wanted() => Ended::without_start(Outcome::Cancelled),
            Err(reason) => Ended::without_start(self.cannot_start(&reason.to_string(), false)),
            // Reading the files may have taken longer than the lease.
            Ok(_) if self.lease_is_over() => Ended::without_start(Outcome::LeaseOver),
            Ok(_) => self.run_command(signals).doing("cannot watch the command")?,
        };
        let settled = self.settle(&ended, before.as_ref().ok(), looked.as_ref());
        settled.doing("cannot settle the attempt")
    }

    /// Records the current state of the workspace. An error means that the command must not start.
    fn look_before(&self) -> Result<Before, NotReady> {
        // A cancelled attempt starts nothing, and a large workspace takes long to read.
        let wanted = !self.cancel_wanted();
        let displaced = self.displaced_before();
        let set_back = match wanted {
            true => set_back::set_back(&self.spec, &self.dir, &self.secrets)?,
            false => None,
        };
        let mut before = Before::take(&self.spec, &self.dir, &self.secrets)?;
        before.set_back = set_back;
        before.displaced = displaced;
        match wanted.then(|| snapshot::take(&self.spec, snapshot::stop_before(&self.dir))).flatten() {
            None => {}
            Some(Ok(taken)) => {
                before.snapshot = Some(taken.snapshot);
                before.tree = Some(taken.tree);
                before.lack = taken.lack;
            }
            Some(Err(why)) => before.no_snapshot = Some(why.to_string()),
        }
        if before.is_of_use() {
            before.write(&self.dir).map_err(NotReady::Record)?;
        }
        Ok(before)
    }

    /// A command is never started twice: only the process that holds the lock may check, and only the first
    /// one may start.
    fn check_claim(&self) -> Result<(), SuperviseError> {
        if !dir::holds_lock_of(&self.dir, io::stdout()).doing("cannot look at the lock")? {
            return Err(SuperviseError::NotTheLock);
        }
        if self.dir.was_started().doing("cannot look for `started.json`")? {
            return Err(SuperviseError::StartedBefore);
        }
        Ok(())
    }

    fn publish(&self) -> Result<(), SuperviseError> {
        let started = serde_json::to_vec(&self.started()).map_err(io::Error::from).doing("cannot say so")?;
        match envoi_durable::publish(&self.dir.started(), &started).doing("cannot publish `started.json`")? {
            true => Ok(()),
            false => Err(SuperviseError::StartedBefore),
        }
    }

    fn started(&self) -> Started {
        let id = rustix::process::getpid().as_raw_pid();
        Started {
            version: VERSION,
            attempt: self.spec.attempt.clone(),
            supervisor_pid: std::process::id(),
            supervisor_started_ticks: processes::now(id).map_or(0, |process| process.started_ticks),
            boot_id: self.spec.boot_id.clone(),
            started_at_ms: now_ms(),
            argv0: self.secrets.mask_str(self.spec.command.argv().first().copied().unwrap_or_default()),
            start: self.spec.start.clone(),
            secret_marks: self.spec.secret_marks.clone(),
        }
    }

    fn cancel_wanted(&self) -> bool {
        cancel::is_wanted(&self.dir)
    }

    /// The current end of the lease, by [`boot_ms`].
    fn lease_until_ms(&self) -> Option<u64> {
        let first = self.spec.lease_until_ms?;
        Some(lease::until_ms(&self.dir, first, &self.spec.boot_id))
    }

    fn lease_is_over(&self) -> bool {
        self.lease_until_ms().is_some_and(|until| boot_ms() >= until)
    }

    fn cannot_start(&self, reason: &str, not_found: bool) -> Outcome {
        Outcome::CannotStart { reason: self.secrets.mask_str(reason), not_found }
    }

    /// On a full disk no line can be written. An empty file takes no space, and its existence is the message.
    fn note_full_disk(&self, error: &SuperviseError) {
        if let SuperviseError::Io { source, .. } = error
            && is_without_room(source.kind())
        {
            plain::create(&self.dir.disk_full()).ok();
        }
    }

    /// Adds a line to `supervisor.log`.
    fn log(&self, line: &str) {
        eprintln!("{}", self.secrets.mask_str(line));
    }
}

/// Whether the disk, or the user's quota, is used up.
fn is_without_room(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Why a command is not started.
#[derive(Debug, thiserror::Error)]
enum NotReady {
    #[error(transparent)]
    Patterns(#[from] PatternError),
    #[error("cannot write `before.json`: {0}")]
    Record(io::Error),
    #[error("the files cannot be set back to what the step began with: {0}")]
    SetBack(#[from] set_back::NotSetBack),
}

/// Unix time in milliseconds.
fn now_ms() -> u64 {
    unix_ms(SystemTime::now()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    #[test]
    fn a_quota_that_is_used_up_is_a_full_disk() {
        let kind = |errno: Errno| io::Error::from(errno).kind();
        for (errno, expected) in [(Errno::NOSPC, true), (Errno::DQUOT, true), (Errno::IO, false)] {
            assert_eq!(is_without_room(kind(errno)), expected, "{errno}");
        }
    }
}
