//! The network server: REST, event streams, A2A and the bridge to models, over the engine's desk.
//!
//! One table ([`operation::ALL`]) lists the operations of REST and of the bridge; it is used to route, admit,
//! limit and document requests. Owns HTTP, tokens, and which tenant may see what. Decides nothing about a
//! run: a request that changes a run goes to the engine's desk, as a command's does; a request that shows a
//! run reads the journal. Only this crate is asynchronous, and only this crate answers HTTP.
//!
//! The modules form layers. A file imports only from its own layer or from one further down this list:
//!
//! - `server` listens, `router` finds the operation, `cors` and `request_log` wrap every request.
//! - `rest`, `a2a` and `bridge` are the operations, one folder for each interface; `page` has the files of
//!   the web page.
//! - `commands` has the requests that these three send to the engine.
//! - `request` is a request in the form for operations, `admission` decides which requests are served.
//! - `state` is shared by all requests.
//! - `models` calls providers of models, `push` posts notifications to clients of A2A.
//! - `auth` makes and reads tokens and sessions, `limits` bounds what clients use, `http` knows the shapes of
//!   HTTP.

mod auth;
pub mod openapi;
pub mod operation;

#[cfg(feature = "serve")]
mod a2a;
#[cfg(feature = "serve")]
mod admission;
#[cfg(feature = "serve")]
mod bridge;
#[cfg(feature = "serve")]
mod commands;
#[cfg(feature = "serve")]
mod cors;
#[cfg(feature = "serve")]
mod http;
#[cfg(feature = "serve")]
mod limits;
#[cfg(feature = "serve")]
mod models;
#[cfg(feature = "serve")]
mod page;
#[cfg(feature = "serve")]
mod push;
#[cfg(feature = "serve")]
mod request;
#[cfg(feature = "serve")]
mod request_log;
#[cfg(feature = "serve")]
mod rest;
#[cfg(feature = "serve")]
mod router;
#[cfg(feature = "serve")]
mod server;
#[cfg(feature = "serve")]
mod state;

pub use auth::scope;
#[cfg(feature = "serve")]
pub use auth::{attempt_token::AttemptTokens, session, token};
#[cfg(feature = "serve")]
pub use envoi_notify::EgressPolicy;
#[cfg(feature = "serve")]
pub use http::tls::{Tls, TlsError};
#[cfg(feature = "serve")]
pub use models::catalog::{Key, Models, Offer, Provider};
#[cfg(feature = "serve")]
pub use server::{ServeError, Server};
#[cfg(feature = "serve")]
pub use state::{
    desk::Desk,
    settings::{A2a, Limits, Settings},
};
