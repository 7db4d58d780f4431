//! The lease of an attempt: until when its command may run unless somebody renews that.
//!
//! An engine on the same machine gives none: an attempt outlives it. A worker of a cluster does. When it is cut off, its attempts are given to
//! others after a while, so they must have ended by then, also if the worker itself is stopped and can do nothing. Hence the supervisor keeps
//! the time. It is the time since the machine has booted, with the time in which it slept: it never goes back, and no clock of another
//! machine is compared with it.
//!
//! The first deadline comes with the order ([`Spec::lease_until_ms`](crate::Spec::lease_until_ms)). A later one stands in a file of the
//! attempt's folder, which is put there whole. It need not last: what is lost with the machine has no command either.

use serde::{Deserialize, Serialize};
use std::io;

use super::{dir::AttemptDir, spec::Spec};

/// After its command has gone, what is left in its pipes is waited for so long.
pub(crate) const PIPES_END_MS: u64 = 1_000;
/// Far more than such a file ever has.
const LARGEST_BYTES: u64 = 4096;

/// A deadline that takes the place of an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    /// The boot that it counts from.
    pub boot_id: String,
    /// Milliseconds since that boot, by [`boot_ms`].
    pub until_ms: u64,
}

impl Lease {
    /// From the deadline until nothing of an attempt is left, at most: the grace of its command, the time in which the pipes are read, and the
    /// grace of what the command has left behind. Not counted: a process that the kernel does not let go.
    pub const ENDS_WITHIN_MS: u64 = 2 * Spec::GRACE_MS + PIPES_END_MS;

    /// Renews the lease of an attempt, whose folder is there. It never gets shorter: an earlier deadline than the one that holds changes
    /// nothing. At the deadline the command gets TERM, and KILL after its grace: whoever gives the attempt to another machine waits longer.
    ///
    /// # Errors
    /// The file cannot be written. The deadline before it holds.
    pub fn renew(&self, dir: &AttemptDir) -> io::Result<()> {
        envoi_durable::renew(&dir.lease(), &serde_json::to_vec(self)?)
    }
}

/// The deadline that holds: the first one, or one that it was renewed to in the same boot. What cannot be read renews nothing.
pub(crate) fn until_ms(dir: &AttemptDir, first_ms: u64, boot_id: &str) -> u64 {
    let bytes = envoi_durable::read_plain(&dir.lease(), LARGEST_BYTES).ok().flatten();
    let lease = bytes.and_then(|bytes| serde_json::from_slice::<Lease>(&bytes).ok());
    lease.filter(|lease| lease.boot_id == boot_id).map_or(first_ms, |lease| lease.until_ms.max(first_ms))
}

/// Milliseconds since the machine has booted, with the time in which it slept.
#[must_use]
pub fn boot_ms() -> u64 {
    // Only Linux has an id for each boot, and so leases.
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
