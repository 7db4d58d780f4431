//! The wire format of A2A in both versions: requests, replies, errors and cards, for a client and for a server.
//!
//! Pure. It does not decide what a message starts or answers, and has no notion of runs or tenants. Both sides use
//! the same types ([`model`], [`request`]), and `v1` and `v03` write them in the form of a version.
//!
//! A server handles a request in these steps:
//!
//! 1. [`service_parameters`] finds the version and the extensions that the headers name.
//! 2. JSON-RPC: [`json_rpc`] takes the frame off the body, and [`request::Method::named`] finds the operation.
//!    HTTP+JSON, which only 1.0 has: the server maps the path to the operation.
//! 3. [`read`] reads the parameters (`v1`, `v03`) into a [`request::Request`], which is the same for both. One
//!    refusal names all invalid fields.
//! 4. The server answers with a [`request::Reply`], a stream of [`model::StreamItem`], or a [`fault::Fault`].
//! 5. [`write()`] or [`write_item`] writes it in the form of the version, and [`json_rpc`] puts the frame around it.
//!
//! A client writes a request with [`write_request`], and reads the response with [`json_rpc::read_response`] and
//! [`received`]. A server reads strictly and a client leniently, because an invalid request can be refused but a
//! reply cannot.
//!
//! ```
//! use envoi_a2a::{fault::Kind, read, request::{Method, Params}, version::Version, write_request};
//! use envoi_contract::json::{Object, Value};
//!
//! let params = Object::from([("id", Value::from("task-1"))]);
//! let request = read(Version::V10, Method::Cancel, &params).unwrap();
//! assert!(matches!(&request.params, Params::Cancel { id, .. } if id == "task-1"));
//! // The other version has the same operation, and writes it in the same form.
//! assert_eq!(write_request(Version::V03, &request), Some(params));
//!
//! let refused = read(Version::V10, Method::Cancel, &Object::new()).unwrap_err();
//! assert_eq!(refused.kind, Kind::InvalidParams);
//! ```
//!
//! [`card`] is an agent's description of itself, and [`extension`] has the names that one Envoi uses to recognize
//! another.

mod base64_bytes;
pub mod card;
pub mod extension;
pub mod fault;
mod field_reader;
pub mod json_rpc;
pub mod model;
mod object_writer;
pub mod received;
pub mod request;
pub mod service_parameters;
mod v03;
mod v1;
pub mod version;

#[cfg(test)]
mod tests;

pub use v1::InPath;

use envoi_contract::json::{Object, Value};
use fault::Fault;
use model::StreamItem;
use request::{Method, Reply, Request};
use version::Version;

/// Reads the parameters of a JSON-RPC request.
///
/// # Errors
/// An `InvalidParams` that names all invalid fields.
pub fn read(version: Version, method: Method, params: &Object) -> Result<Request, Fault> {
    match version {
        Version::V10 => v1::request(method, params),
        Version::V03 => v03::request(method, params),
    }
}

/// Writes the parameters of a JSON-RPC request; `None` if the version has no such operation. 0.3 has no `tenant`.
#[must_use]
pub fn write_request(version: Version, request: &Request) -> Option<Object> {
    match version {
        Version::V10 => Some(v1::params(request)),
        Version::V03 => v03::params(&request.params),
    }
}

/// Reads a request of HTTP+JSON, which only 1.0 has. `query` is decoded; `body` is empty when the request has none.
///
/// # Errors
/// A `ParseError` for a body that is not JSON, else an `InvalidParams` that names the invalid fields.
pub fn read_rest(
    method: Method,
    path: InPath<'_>,
    query: &[(String, String)],
    body: &[u8],
) -> Result<Request, Fault> {
    v1::rest_request(method, path, query, body)
}

/// Writes the reply to a request: the `result` of JSON-RPC, or the body of HTTP+JSON.
#[must_use]
pub fn write(version: Version, reply: &Reply) -> Value {
    match version {
        Version::V10 => v1::reply(reply),
        Version::V03 => v03::reply(reply),
    }
}

/// Writes one item of a stream: the `result` of JSON-RPC, the data of HTTP+JSON, or the body for a webhook.
#[must_use]
pub fn write_item(version: Version, item: &StreamItem) -> Value {
    match version {
        Version::V10 => v1::stream_item(item),
        Version::V03 => v03::stream_item(item),
    }
}
