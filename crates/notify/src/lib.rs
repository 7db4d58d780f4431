//! Sends notifications: one try of one notice, as a CloudEvent, to a command or a webhook; or one POST to an
//! address that a client of the server has named.
//!
//! Owns what is sent ([`CloudEvent`]), how a try is made ([`Webhook`], [`Command`], [`HttpPost`]), what its
//! outcome means ([`Outcome`]), when the next try is due ([`retry`]), how many are under way at the same time
//! ([`turns`]), the loop that runs the tries ([`delivery_loop`]), and which of a client's addresses are
//! allowed ([`EgressPolicy`]). It stores nothing, and reads neither the environment nor the wall clock. The
//! engine decides which recipients get a notice; the journal keeps each notice until it is delivered.
//!
//! ```
//! use envoi_notify::EgressPolicy;
//!
//! let policy = EgressPolicy::new(&["hooks.internal".to_owned()], Vec::new());
//! assert!(policy.check_url("https://example.com/hook").is_ok());
//! assert!(policy.check_url("http://hooks.internal/hook").is_ok(), "the configuration allows this host");
//! assert!(policy.check_url("https://169.254.169.254/latest").is_err(), "a cloud's own services");
//! ```

mod client;
mod command;
pub mod delivery_loop;
mod egress_policy;
mod event;
mod fair_share;
mod http_post;
mod ip_ranges;
mod outcome;
pub mod retry;
pub mod turns;
mod webhook;

pub use command::Command;
pub use egress_policy::{EgressPolicy, NotAllowed, Target};
pub use event::CloudEvent;
pub use http_post::HttpPost;
pub use outcome::Outcome;
pub use webhook::Webhook;

/// The environment variable with the id of a notice. A receiver recognizes a repeated notice by it, or by the
/// header `Idempotency-Key`.
pub const ID_VARIABLE: &str = "ENVOI_NOTICE_ID";
