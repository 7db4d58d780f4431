//! Limits on the use of resources by clients.
//!
//! Owns the counting, in memory. The amounts are chosen where a limit is made (`state`, and
//! `state/settings.rs`). The operation decides how a client learns that it has reached a limit.

pub(crate) mod byte_limit;
pub(crate) mod concurrency_limit;
pub(crate) mod connection_limit;
pub(crate) mod fair_semaphore;
pub(crate) mod key_lock;
pub(crate) mod rate_limit;
