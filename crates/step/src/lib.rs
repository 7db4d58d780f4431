//! How one attempt runs: a command under a supervisor that outlives the engine.
//!
//! Owns everything between a composed [`Spec`] and a finished `exit.json`: the supervisor process and its
//! spawn, the streams, the timeout, the end of every process of the attempt, the comparison of files, and the
//! reading of all this after a crash ([`probe`]). It does not compose the environment, decide what a lost
//! attempt means, put artifacts in place, or keep a journal: those are the engine's. It reads no environment
//! variable of its own process.
//!
//! The files of an [`AttemptDir`] are the only channel between the two processes; the supervisor never writes
//! to the engine and does not notice its death. `lock` shows whether the attempt lives, `started.json` that a
//! command may have been started, `exit.json` that everything is over. The holder of `lock` can read these
//! two without a race.
//!
//! ```
//! use envoi_step::{AttemptDir, Given, Probe, Start, probe};
//! # let scratch = tempfile::tempdir()?;
//! # let folder = scratch.path().join("run_1").join("attempts").join("build.1.1");
//!
//! let dir = AttemptDir::new(folder);
//! let start = Start { id: "s1", boot_id: "this boot" };
//! // The attempt was never started. The result holds the lock, so no other process can start it meanwhile.
//! assert!(matches!(probe(&dir, Given::Never, start, "this boot")?, Probe::NotStarted(_lock)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attempt;
mod control;
mod disk;
mod mask;
mod output;
mod supervisor;
mod workspace;

pub use attempt::{
    cached::{CacheEntry, CacheOrder, CachePart, CacheUse, CachedFrom},
    crash_point::CrashPoint,
    dir::{AttemptDir, LockFile, wait_until_free},
    displaced::{Displaced, LateFile},
    instance::instance_id,
    lease::{Lease, boot_ms},
    obstacles::{Obstacle, obstacles},
    record::{Change, Exit, FileChange, FileRef, Outcome, SetBack, Snapshot, Started, Stream},
    spec::{Command, NoArtifacts, SecretMark, Spec},
    starts::{Named, Starts},
};
pub use control::{
    at_work::{ProcessesLeft, at_work, is_at_work},
    cancel::{Cancelled, cancel, living_supervisor, remind, started},
    launch::{Launcher, SpawnError, Supervisor},
    leftovers::end_leftovers,
    lost::{MaskedLost, drop_unmasked, mask_lost},
    presence::{Entrance, Presence, occupied_below},
    probe::{Doubt, Evidence, Given, Probe, ProbeError, Start, Unseen, displaced, evidence, probe, set_back},
};
pub use disk::plain;
pub use mask::{MIN_SECRET_BYTES, Secrets};
pub use output::{
    ansi::without_escapes,
    closed::{Values, mask_closed},
    stream::end_of,
};
pub use supervisor::run_supervisor;
pub use workspace::{
    artifacts::is_artifact,
    slow::{Announced, Doing, FileWork, announce, file_work},
};

use std::io;

/// Reads the id of this boot of the machine, which changes with every reboot.
///
/// # Errors
/// The file that holds it cannot be read.
#[cfg(target_os = "linux")]
pub fn boot_id() -> io::Result<String> {
    Ok(std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// Not supported on this system: only Linux has boot ids.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn boot_id() -> io::Result<String> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
