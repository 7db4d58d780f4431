//! Waits for a process that keeps the store locked (a backup, a database shell), as a running engine does:
//! without a limit, with fewer messages over time, until Ctrl-C.
//!
//! Owns the wait of commands that write and are not the engine. The waits of the engine belong to
//! `envoi-engine`.

use crate::process::{
    failure::Failure,
    interrupts::{self, Mode},
    messages,
};
use envoi_journal::{AdoptError, CommitError, OpenError, RepairError};
use envoi_server::{session::SessionError, token::TokenError};
use std::time::Instant;

/// Errors that may pass when another process ends its transaction.
pub(crate) trait Locked {
    /// Whether the store was locked.
    fn is_locked(&self) -> bool;
}

impl Locked for OpenError {
    fn is_locked(&self) -> bool {
        matches!(self, Self::Busy { .. })
    }
}

impl Locked for SessionError {
    fn is_locked(&self) -> bool {
        matches!(self, Self::Store(CommitError::Busy))
    }
}

impl Locked for CommitError {
    fn is_locked(&self) -> bool {
        matches!(self, Self::Busy)
    }
}

impl Locked for RepairError {
    fn is_locked(&self) -> bool {
        self.is_busy()
    }
}

impl Locked for AdoptError {
    fn is_locked(&self) -> bool {
        matches!(self, Self::Open(error) if error.is_locked())
    }
}

impl Locked for TokenError {
    fn is_locked(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_locked())
    }
}

/// Repeats `work` while another process keeps the store locked. Each attempt waits a few seconds by itself.
pub(crate) fn for_the_store<T, E: Locked>(
    mut work: impl FnMut() -> Result<T, E>,
) -> Result<Result<T, E>, Failure> {
    let since = Instant::now();
    let mut tries = 0_u32;
    loop {
        let done = work();
        if !done.as_ref().is_err_and(Locked::is_locked) {
            return Ok(done);
        }
        tries = tries.saturating_add(1);
        if tries == 1 {
            // An interruption is safe here, because the transaction has not begun.
            interrupts::mean(Mode::Idle)?;
        }
        if tries.is_power_of_two() {
            let waited_s = since.elapsed().as_secs();
            messages::say(&format!(
                "another process keeps the store locked: waiting for it ({waited_s} s so far)"
            ));
        }
    }
}
