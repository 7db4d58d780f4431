//! A2A: other agents start, pause, answer and follow runs, in both versions of the protocol.
//!
//! The half that reads and writes what is on the wire is pure. A request goes this way:
//!
//! 1. [`version`] says which version it speaks and which extensions it names, by its headers.
//! 2. JSON-RPC: [`rpc`] takes the frame off the body, and [`request::Method::named`] finds the operation. HTTP+JSON, which is
//!    1.0 alone: the path says the operation.
//! 3. [`read`] takes the parameters apart (`v1`, `v03`) into a [`request::Request`], which is the same for both. All fields that are wrong are
//!    named in one refusal.
//! 4. What the server makes of it is a [`request::Reply`], or a stream of [`model::StreamItem`], or a [`fault::Fault`].
//! 5. [`write`] or [`write_item`] says it in the words of the version, and [`rpc`] puts the frame around it.
//!
//! [`card`] is what an agent says of itself, [`state`] what the status of a run is called, [`envelope`] the opt-in to contract 5.
//!
//! That half does not decide what a message starts or answers, and knows no runs, tasks or tenants.
//!
//! The other half is the server. [`door`] takes a request of HTTP and finds what it asks for ([`path`]), or refuses it
//! ([`refusal`]); [`send`] starts a run
//! ([`first`], [`inputs`]) or answers a question ([`further`], [`answer`]); [`tasks`] and [`pushes`] look things up and change
//! them; [`wait`] and [`stream`] follow, and [`push`] tells receivers that clients have named. What a client is told of a run is
//! what [`fold`] makes of its events, or [`glance`] of its state, and [`task`] writes down; they are pure too.

mod answer;
mod asking;
mod brought;
mod bytes;
pub(crate) mod card;
mod cards;
pub(crate) mod door;
pub(crate) mod envelope;
pub(crate) mod fault;
mod first;
mod fold;
mod further;
mod glance;
mod inputs;
mod look;
pub(crate) mod model;
mod path;
pub(crate) mod push;
mod pushes;
mod reading;
pub(crate) mod refusal;
pub(crate) mod request;
pub(crate) mod rpc;
mod send;
pub(crate) mod state;
mod stream;
mod task;
mod tasks;
mod v03;
mod v1;
pub(crate) mod version;
mod wait;
mod writing;

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
