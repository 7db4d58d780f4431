//! Telling others what happened: one try of one notice, as a CloudEvent, to a command or to a webhook; or of anything else, to
//! an address that a client of the server has named.
//!
//! Owns what is sent ([`CloudEvent`]), how a try is made ([`Webhook`], [`Command`], [`Parcel`]), what its outcome means
//! ([`Outcome`]), when the next one is due ([`retry`]), and where a client's address may lead ([`Reach`]). Only this crate knows HTTP. It keeps nothing, reads no environment and no
//! clock of the day; who is told what, and that no notice is lost, is the engine's and the journal's.

mod client;
mod command;
mod event;
mod outcome;
pub mod outside;
mod parcel;
mod reach;
pub mod retry;
pub mod share;
mod webhook;

pub use command::Command;
pub use event::CloudEvent;
pub use outcome::Outcome;
pub use parcel::Parcel;
pub use reach::{Place, Reach};
pub use webhook::Webhook;

/// The variable, and beside it the header `Idempotency-Key`, by which a receiver knows a notice that it has had already.
pub const ID_VARIABLE: &str = "ENVOI_NOTICE_ID";
