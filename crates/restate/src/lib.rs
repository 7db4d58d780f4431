//! The objects of `cluster` on Restate, which stores their states and delivers their messages.
//!
//! This is the only crate that knows Restate and its SDK. It decides nothing: for each message it reads the
//! state of the object, calls the pure function of `cluster`, and does the writes and sends in their order
//! ([`Endpoint`] answers the calls of Restate). Workers, and clients that start runs and answer questions,
//! call through [`Ingress`]. [`Admin`] registers an endpoint with Restate.
//!
//! **A handler is deterministic.** Restate repeats an interrupted handler and compares its commands with the
//! journal of the first call; if they differ, the object is stuck for ever. So a handler depends only on its
//! message, the state under fixed keys, and contents by digest ([`Contents`]): no clock, no memory of an
//! earlier message. [`Settings`] belong to the address of an endpoint, as its code does: a change of either
//! needs another address.
//!
//! **An invalid message gets an answer, and changes nothing.** Only a temporary problem, such as an
//! unreachable store, is an error: then Restate calls the handler again. Meanwhile the object takes no other
//! message. Restate 1.7 gives up after 70 calls, about eleven minutes: it then pauses the invocation, and the
//! object takes no message until a person resumes it in Restate.

mod admin;
mod contents;
mod endpoint;
mod ingress;
mod names;
mod objects;
mod reply;
mod turn;

pub use admin::{Admin, NotRegistered};
pub use contents::{Contents, FlowName, Replica, Unavailable};
pub use endpoint::{Endpoint, Serving, Settings};
pub use ingress::{Ingress, NotAsked};
pub use objects::BadName;
pub use reply::Reply;
