//! The objects of `cluster` on Restate, which keeps their states and delivers their messages.
//!
//! This is the only crate that knows Restate and its SDK. It decides nothing: for each message it reads the state of the object, calls the
//! pure function of `cluster`, and does the writes and sends in their order ([`Endpoint`] answers the calls of Restate). [`Ingress`] is the
//! way in for calls of workers and of those who start runs and answer questions. [`Admin`] makes an endpoint known to Restate.
//!
//! **A handler does the same when it is called again.** Restate repeats an interrupted handler and compares what it does with the journal
//! of the first time; if it differs, the object is stuck for ever. So a handler depends on its message, the state under fixed keys, and
//! contents by digest ([`Contents`]), and on nothing else: no clock, no memory of an earlier message. [`Settings`] hold for the address
//! of an endpoint, as its code does: a change of either takes another address.
//!
//! **A message that is not as it must be is answered, and changes nothing.** Only what may pass, such as a store that cannot be reached, is
//! an error: Restate then calls the handler again. While it does, the object takes no other message. Restate 1.7 gives up after 70 calls,
//! some eleven minutes: it then pauses the invocation, and the object takes nothing until a person resumes it there.

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
