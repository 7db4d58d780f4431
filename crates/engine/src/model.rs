//! Types that the parts of this crate exchange: messages, requests, jobs, time and errors.

pub(crate) mod claim;
pub(crate) mod clock;
pub(crate) mod crash_point;
pub(crate) mod message;
pub mod protocol;
pub(crate) mod refused;
pub mod retention;
pub(crate) mod runner;
#[cfg(test)]
pub(crate) mod sample;
pub(crate) mod secret_source;
pub mod trace;
pub(crate) mod trouble;
