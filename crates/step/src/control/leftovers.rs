//! Ending what still lives of an attempt whose supervisor is gone.
//!
//! Such processes have been handed to the system's first process; all that ties them to the attempt is what stands in
//! their environment. One that has cleared it cannot be found any more: only a live supervisor ends those.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Signal, getpid};

use crate::attempt::processes::{self, Marks, Sent};

/// How long to wait before looking whether the killed are gone.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Looks without a find that make sure: a process in the middle of `exec` or `fork` can be missed by one.
const CLEAN_LOOKS: u32 = 2;

/// Kills every process, this one aside, with `ENVOI_ATTEMPT=<attempt>` and `ENVOI_RUN_BASE=<run_base>` in its
/// environment, until there is none. Returns how many there were.
///
/// Blocks until they are gone. Processes that this user may not look into or signal are left.
///
/// # Errors
/// The processes cannot be listed, or one not be signalled for another reason than rights.
pub fn end_leftovers(attempt: &str, run_base: &Path) -> io::Result<u32> {
    let marks = Marks::new(attempt, run_base);
    let mut ended = BTreeSet::<(i32, u64)>::new();
    let mut refused = BTreeSet::new();
    let mut clean = 0;
    while clean < CLEAN_LOOKS {
        let mut found = processes::marked(getpid(), &marks)?;
        found.retain(|process| !refused.contains(&process.key()));
        // One that is dying has no environment any more, and is there for a moment yet.
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
