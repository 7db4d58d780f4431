//! Commands that read and write the envelopes of the contracts.

pub(crate) mod conformance;
pub(crate) mod filter;
