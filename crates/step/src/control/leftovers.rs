//! Ends the processes of an attempt whose supervisor is gone.
//!
//! Such processes have become children of the system's first process; only their environment ties them to the
//! attempt. A process that has cleared its environment can no longer be found: only a live supervisor ends
//! it.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Signal, getpid};

use crate::attempt::processes::{self, Marks, Sent};

/// Pause before the check whether the killed processes are gone.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Number of checks in a row that must find no process. A single one can miss a process that is in the middle
/// of `exec` or `fork`.
const CLEAN_LOOKS: u32 = 2;

/// Kills every process except this one that has `ENVOI_ATTEMPT=<attempt>` and `ENVOI_RUN_BASE=<run_base>` in
/// its environment, until there is none. Returns how many there were.
///
/// Blocks until they are gone. Processes that this user may not read or signal are left.
///
/// # Errors
/// The processes cannot be listed, or signalling one fails for another reason than permissions.
pub fn end_leftovers(attempt: &str, run_base: &Path) -> io::Result<u32> {
    let marks = Marks::new(attempt, run_base);
    let mut ended = BTreeSet::<(i32, u64)>::new();
    let mut refused = BTreeSet::new();
    let mut clean = 0;
    while clean < CLEAN_LOOKS {
        let mut found = processes::marked(getpid(), &marks)?;
        found.retain(|process| !refused.contains(&process.key()));
        // A dying process no longer has an environment, but still exists for a moment.
        let all_gone = ended.iter().all(|(id, since)| {
            processes::now(*id).is_none_or(|process| process.is_over() || process.key() != (*id, *since))
        });
        clean = if found.is_empty() && all_gone { clean.saturating_add(1) } else { 0 };
        for process in found {
            match processes::signal(&process, Signal::KILL)? {
                Sent::Delivered => ended.insert(process.key()),
                Sent::Refused => refused.insert(process.key()),
                Sent::Gone => false,
            };
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    Ok(u32::try_from(ended.len()).unwrap_or(u32::MAX))
}

/// Whether [`end_leftovers`] would find a process.
pub(crate) fn has_leftovers(attempt: &str, run_base: &Path) -> io::Result<bool> {
    Ok(!processes::marked(getpid(), &Marks::new(attempt, run_base))?.is_empty())
}
