//! The lease of an attempt: the deadline after which its command may not run, unless the lease is renewed.
//!
//! An engine on the same machine gives no lease, because an attempt outlives it. A worker of a cluster gives
//! one: when it loses its connection, its attempts are given to other workers after a while. They must have
//! ended by then, even if the worker itself is stopped. Hence the supervisor keeps the time. It uses the time
//! since boot, including sleep: this clock never goes back, and no clock of another machine is compared with
//! it.
//!
//! The first deadline comes with the order ([`Spec::lease_until_ms`](crate::Spec::lease_until_ms)). A later
//! one is in a file of the attempt's folder, which is written atomically. It need not be durable: if the
//! machine is lost, so is the command.

use serde::{Deserialize, Serialize};
use std::io;

use super::{dir::AttemptDir, spec::Spec};

/// How long the supervisor reads the pipes after the command has ended.
pub(crate) const PIPES_END_MS: u64 = 1_000;
/// Much more than such a file ever has.
const LARGEST_BYTES: u64 = 4096;

/// A deadline that replaces an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    /// The boot that `until_ms` counts from.
    pub boot_id: String,
    /// Milliseconds since that boot, by [`boot_ms`].
    pub until_ms: u64,
}

impl Lease {
    /// Upper bound for the time from the deadline until every process of the attempt is gone: the grace of
    /// its command, the time for reading the pipes, and the grace of left-over processes. A process that the
    /// kernel does not end is not counted.
    pub const ENDS_WITHIN_MS: u64 = 2 * Spec::GRACE_MS + PIPES_END_MS;

    /// Renews the lease of an attempt, whose folder exists. A lease never gets shorter: an earlier deadline
    /// than the current one changes nothing. At the deadline the command gets TERM, and KILL after its grace.
    /// So wait longer than the deadline before the attempt is given to another machine.
    ///
    /// # Errors
    /// The file cannot be written. The earlier deadline stays.
    pub fn renew(&self, dir: &AttemptDir) -> io::Result<()> {
        envoi_durable::renew(&dir.lease(), &serde_json::to_vec(self)?)
    }
}

/// The current deadline: the later of the first one and a renewal of the same boot. An unreadable renewal is
/// ignored.
pub(crate) fn until_ms(dir: &AttemptDir, first_ms: u64, boot_id: &str) -> u64 {
    let bytes = envoi_durable::read_plain(&dir.lease(), LARGEST_BYTES).ok().flatten();
    let lease = bytes.and_then(|bytes| serde_json::from_slice::<Lease>(&bytes).ok());
    lease.filter(|lease| lease.boot_id == boot_id).map_or(first_ms, |lease| lease.until_ms.max(first_ms))
}

/// Milliseconds since boot, including sleep.
#[must_use]
pub fn boot_ms() -> u64 {
    // Only Linux has boot ids, so only Linux has leases.
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let now = rustix::time::clock_gettime(clock);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let millis = u64::try_from(now.tv_nsec / 1_000_000).unwrap_or(0);
    seconds.saturating_mul(1_000).saturating_add(millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_later_deadline_of_this_boot_renews() {
        let folder = tempfile::tempdir().unwrap();
        let dir = AttemptDir::new(folder.path().to_owned());
        let holds = || until_ms(&dir, 1_000, "boot-2");
        assert_eq!(holds(), 1_000, "nothing was renewed");
        for (boot_id, until, expected) in [
            ("boot-2", 2_000, 2_000),
            ("boot-2", 900, 1_000),
            ("boot-1", 9_000, 1_000),
            ("boot-2", 3_000, 3_000),
        ] {
            Lease { boot_id: boot_id.to_owned(), until_ms: until }.renew(&dir).unwrap();
            assert_eq!(holds(), expected, "{boot_id} {until}");
        }
        for other in ["", "3000", "{\"boot_id\":\"boot-2\",\"until_ms\":9000,\"x\":1}"] {
            std::fs::write(dir.lease(), other).unwrap();
            assert_eq!(holds(), 1_000, "{other}");
        }
    }

    #[test]
    fn the_time_since_boot_does_not_go_back() {
        let before = boot_ms();
        assert!(before > 0 && boot_ms() >= before);
    }
}
