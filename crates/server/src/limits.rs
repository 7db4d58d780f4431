//! Counters that hold clients to their bounds; how much is allowed is in `state/settings.rs`.
//!
//! Owns the counting, in memory. How much is allowed is decided where a limit is made (`state`), and how a client learns
//! that it has reached one is decided by the operation.

pub(crate) mod byte_limit;
pub(crate) mod concurrency_limit;
pub(crate) mod connection_limit;
pub(crate) mod fair_semaphore;
pub(crate) mod key_lock;
pub(crate) mod rate_limit;
