//! A2A 0.3 over JSON-RPC, its only binding here: requests and results.
//!
//! Owns the names of members and the words of 0.3. Objects say what they are in a member `kind`, and results are not
//! wrapped. What 0.3 cannot say is left out: the media type of words and data, the agent (`tenant`) that is meant.

mod enums;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub(super) use read::request;
pub(super) use write::{reply, stream_item};
