//! Models: which ones are offered, their prices, and one request to a provider.
//!
//! Knows no run and no client: `bridge` decides which run pays for a call, and which clients may make one.

pub(crate) mod catalog;
pub(crate) mod provider;
pub(crate) mod usage;
