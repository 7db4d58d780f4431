//! The requests of commands and clients to the engine, one module a request.

mod adopt;
mod answer;
pub(crate) mod apply;
pub(crate) mod beginnings;
mod call;
mod cancel;
pub(crate) mod collect;
pub mod elsewhere;
mod family;
mod fork;
pub(crate) mod handler;
mod isolate;
pub(crate) mod names;
mod part;
mod requests;
mod restore;
mod restore_part;
mod resume;
mod start;
pub(crate) mod take_up;
pub mod trees;
pub(crate) mod under_way;
