//! A2A 0.3 over JSON-RPC, its only binding here: requests and results.
//!
//! Owns the names of members and enums of 0.3. Objects name their type in a member `kind`, and results are not
//! wrapped. Members that 0.3 cannot express are left out: the media type of texts and data, and the agent (`tenant`).

mod enums;
mod read;
mod write;
mod write_request;

#[cfg(test)]
mod tests;

pub(crate) use enums::{WRAPPED, WRAPPED_IN};
pub(super) use read::request;
pub(super) use write::{reply, stream_item};
pub(super) use write_request::params;
