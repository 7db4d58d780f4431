//! What stands on the wire of A2A, in both versions: requests, replies, errors and the card.
//!
//! Pure. It does not decide what a message starts or answers, and knows no runs or tenants. A request goes this way:
//!
//! 1. [`version`] finds the version and the extensions that the headers name.
//! 2. JSON-RPC: [`json_rpc`] takes the frame off the body, and [`request::Method::named`] finds the operation. HTTP+JSON, which
//!    only 1.0 has: [`route`] finds the operation by the path.
//! 3. [`read`] reads the parameters (`v1`, `v03`) into a [`request::Request`], which is the same for both. One refusal names all
//!    fields that are wrong.
//! 4. The server makes of it a [`request::Reply`], a stream of [`model::StreamItem`], or a [`fault::Fault`].
//! 5. [`write()`] or [`write_item`] writes it in the words of the version, and [`json_rpc`] puts the frame around it.
//!
//! [`card`] is what an agent states about itself.

mod base64_bytes;
pub(crate) mod card;
pub(crate) mod fault;
mod field_reader;
pub(crate) mod json_rpc;
pub(crate) mod model;
mod object_writer;
pub(crate) mod request;
pub(crate) mod route;
pub(crate) mod service_parameters;
mod v03;
mod v1;
pub(crate) mod version;

#[cfg(test)]
mod tests;

pub(crate) use v1::InPath;

use envoi_contract::json::{Object, Value};
use fault::Fault;
use model::StreamItem;
use request::{Method, Reply, Request};
use version::Version;

/// Reads the parameters of a JSON-RPC request.
///
/// # Errors
/// An `InvalidParams` that names all fields that are wrong.
pub(crate) fn read(version: Version, method: Method, params: &Object) -> Result<Request, Fault> {
    match version {
        Version::V10 => v1::request(method, params),
        Version::V03 => v03::request(method, params),
    }
}

/// Reads a request of HTTP+JSON, which only 1.0 has. `query` is decoded; `body` is empty where there is none.
///
/// # Errors
/// A `ParseError` for a body that is no JSON, else an `InvalidParams` that names the fields that are wrong.
pub(crate) fn read_rest(
    method: Method,
    path: InPath<'_>,
    query: &[(String, String)],
    body: &[u8],
) -> Result<Request, Fault> {
    v1::rest_request(method, path, query, body)
}

/// Writes what came of a request: the `result` of JSON-RPC, the body of HTTP+JSON.
pub(crate) fn write(version: Version, reply: &Reply) -> Value {
    match version {
        Version::V10 => v1::reply(reply),
        Version::V03 => v03::reply(reply),
    }
}

/// Writes one item of a stream: the `result` of JSON-RPC, the data of HTTP+JSON, the body for a webhook.
pub(crate) fn write_item(version: Version, item: &StreamItem) -> Value {
    match version {
        Version::V10 => v1::stream_item(item),
        Version::V03 => v03::stream_item(item),
    }
}
