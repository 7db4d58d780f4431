//! The faults of a world, and how often they occur.

/// A worker without a heartbeat for this time is lost.
pub(crate) const LEASE_MS: u64 = 5_000;

/// The interval of a worker's heartbeats.
pub(crate) const BEAT_MS: u64 = LEASE_MS / 5;

/// The supervisors end running commands this long after the last acknowledged heartbeat was sent.
pub(crate) const OWN_LEASE_MS: u64 = LEASE_MS / 5 * 3;

/// No fault occurs after this time, so that runs can end.
pub(crate) const QUIET_AFTER_MS: u64 = 60_000;

/// Probabilities in a thousand, unless a field has another unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Faults {
    /// A message is delivered twice.
    pub(crate) twice: u64,
    /// A message takes longer than a lease.
    pub(crate) very_late: u64,
    /// A call, or its answer, is lost.
    pub(crate) lost_call: u64,
    /// The longest delay of an ordinary message.
    pub(crate) delay_ms: u64,
    /// At a heartbeat: the worker's process dies, and another one starts on its disk.
    pub(crate) kill: u64,
    /// Instead of only the process, the whole machine reboots.
    pub(crate) boot: u64,
    /// At a heartbeat: the worker loses its connection for longer than its lease.
    pub(crate) cut: u64,
    /// At a heartbeat: the machine is gone for ever, and another one joins.
    pub(crate) gone: u64,
    /// At a heartbeat: a copy of its disk joins.
    pub(crate) copy: u64,
}

impl Faults {
    pub(crate) const CALM: Self = Self {
        twice: 0,
        very_late: 0,
        lost_call: 0,
        delay_ms: 5,
        kill: 0,
        boot: 0,
        cut: 0,
        gone: 0,
        copy: 0,
    };
    pub(crate) const LOSSY: Self = Self { twice: 300, lost_call: 10, delay_ms: 400, ..Self::CALM };
    pub(crate) const KILLS: Self = Self { kill: 60, delay_ms: 100, ..Self::CALM };
    pub(crate) const CUTS: Self = Self { cut: 100, twice: 100, delay_ms: 100, ..Self::CALM };
    pub(crate) const GONE: Self = Self { gone: 30, twice: 100, delay_ms: 100, ..Self::CALM };
    pub(crate) const COPIES: Self = Self { copy: 60, twice: 100, delay_ms: 100, ..Self::CALM };
    pub(crate) const ALL: Self = Self {
        twice: 200,
        very_late: 100,
        lost_call: 100,
        delay_ms: 300,
        kill: 30,
        boot: 300,
        cut: 20,
        gone: 10,
        copy: 10,
    };
}
