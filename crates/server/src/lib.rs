//! The ways in over a network: REST and event streams over the engine's desk.
//!
//! One table ([`operation::ALL`]) says which operations there are; requests are routed, admitted, limited and described
//! by it. Owns HTTP, tokens, and who sees what. Decides nothing about a run: everything that changes one is a request to
//! the engine's desk, as a command makes it; everything that shows one is read from the journal. Only this crate is
//! asynchronous, and only this crate answers HTTP.

pub mod openapi;
pub mod operation;
pub mod scope;

#[cfg(feature = "serve")]
mod a2a;
#[cfg(feature = "serve")]
mod admission;
#[cfg(feature = "serve")]
mod amount;
#[cfg(feature = "serve")]
mod app;
#[cfg(feature = "serve")]
mod artifacts;
#[cfg(feature = "serve")]
mod attachments;
#[cfg(feature = "serve")]
mod begin;
#[cfg(feature = "serve")]
mod bridge;
#[cfg(feature = "serve")]
mod call;
#[cfg(feature = "serve")]
mod content;
#[cfg(feature = "serve")]
mod context;
#[cfg(feature = "serve")]
mod crowd;
#[cfg(feature = "serve")]
mod evidence;
#[cfg(feature = "serve")]
mod flows;
#[cfg(feature = "serve")]
mod follow;
#[cfg(feature = "serve")]
mod lanes;
#[cfg(feature = "serve")]
mod listen;
#[cfg(feature = "serve")]
mod logs;
#[cfg(feature = "serve")]
mod metrics;
#[cfg(feature = "serve")]
mod observe;
#[cfg(feature = "serve")]
mod pages;
#[cfg(feature = "serve")]
mod problem;
#[cfg(feature = "serve")]
mod questions;
#[cfg(feature = "serve")]
mod reply;
#[cfg(feature = "serve")]
mod router;
#[cfg(feature = "serve")]
mod runs;
#[cfg(feature = "serve")]
mod starts;
#[cfg(feature = "serve")]
mod streams;
#[cfg(feature = "serve")]
mod tls;
#[cfg(feature = "serve")]
pub mod token;
#[cfg(feature = "serve")]
mod verified;
#[cfg(feature = "serve")]
mod view;
#[cfg(feature = "serve")]
mod wakes;

#[cfg(feature = "serve")]
pub use app::{A2a, Limits, Settings};
#[cfg(feature = "serve")]
pub use bridge::{Models, Offer, Provider, Seal};
#[cfg(feature = "serve")]
pub use envoi_notify::Reach;
#[cfg(feature = "serve")]
pub use listen::{ServeError, Server};
#[cfg(feature = "serve")]
pub use tls::Tls;
