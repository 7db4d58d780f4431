//! A2A 1.0: requests and results in ProtoJSON.
//!
//! Owns the names of members and enums of 1.0. Members are in camelCase (snake_case is accepted too), enums are
//! written as names, bytes are base64, times are RFC 3339 in UTC, and empty members are left out. The parameters of a
//! JSON-RPC request are the body of the HTTP+JSON request of the same operation. If HTTP+JSON has no body, they are
//! in the path and the query.

mod enums;
mod read;
mod rest;
mod write;
mod write_request;

#[cfg(test)]
mod tests;

pub(super) use read::request;
pub use rest::InPath;
pub(super) use rest::rest_request;
pub(super) use write::{reply, stream_item};
pub(super) use write_request::params;
