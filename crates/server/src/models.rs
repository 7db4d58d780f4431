//! Models: which ones are offered, what they cost, and one request to a provider.
//!
//! Knows no run and no client: which run pays for a call, and who may make it, is decided by `bridge`.

pub(crate) mod catalog;
pub(crate) mod provider;
pub(crate) mod usage;
