//! What commands and clients request of the engine, one module a request.

mod adopt;
mod answer;
mod call;
mod cancel;
mod family;
mod fork;
pub(crate) mod handler;
mod part;
mod restore;
mod resume;
mod start;
