//! How one attempt runs: a command under a supervisor that outlives the engine.
//!
//! Owns everything between a composed [`Spec`] and a finished `exit.json`: the supervisor process and its spawn, the
//! streams, the timeout, the end of every process of the attempt, the comparison of files, and the reading of all this
//! after a crash ([`probe`]). It does not compose the environment, decide what a doubtful attempt means, put artifacts
//! into their places, or keep a journal: those are the engine's. It reads no environment variable of its own process.
//!
//! The files of an [`AttemptDir`] are the only channel between the two processes; the supervisor never writes to the
//! engine and does not notice its death. `lock` says who lives, `started.json` that a command may have been started,
//! `exit.json` that everything is over. Whoever holds `lock` may read these two without a race.

mod ansi;
mod artifacts;
mod before;
mod cancel;
mod dir;
mod durable;
mod kept;
mod launch;
mod leftovers;
mod lost;
mod mask;
mod obstacles;
pub mod plain;
mod probe;
mod processes;
mod record;
mod report;
mod spec;
mod starts;
mod stream;
mod supervisor;
mod text;

pub use ansi::without_escapes;
pub use artifacts::is_artifact;
pub use cancel::{Cancelled, cancel};
pub use dir::{AttemptDir, LockFile, wait_until_free};
pub use launch::{Launcher, SpawnError, Supervisor};
pub use leftovers::end_leftovers;
pub use lost::{drop_unmasked, mask_lost};
pub use mask::{MIN_SECRET_BYTES, Secrets};
pub use obstacles::{Obstacle, obstacles};
pub use probe::{Doubt, Evidence, Given, Probe, ProbeError, evidence, probe};
pub use record::{Change, Exit, FileChange, FileRef, Outcome, Started, Stream};
pub use spec::{Command, Spec};
pub use starts::Starts;
pub use stream::end_of;
pub use supervisor::run_supervisor;

use std::io;

/// Reads the id of this boot of the machine, which changes with every reboot.
///
/// # Errors
/// The file that holds it cannot be read.
#[cfg(target_os = "linux")]
pub fn boot_id() -> io::Result<String> {
    Ok(std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// Has no answer here: only Linux tells its boots apart.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn boot_id() -> io::Result<String> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
