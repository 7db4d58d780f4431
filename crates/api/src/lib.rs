//! The data that programs receive and send: one type for each row and body of REST and of `--json`.
//!
//! Owns the members, names and spelling of these types ([docs/api.md](../../../docs/api.md)). The OpenAPI document
//! and the types of both libraries are generated from these types. Pure: it reads no store, no clock and no network.
//! It does not own the five contracts (`contract`) or the form of events in the journal (`kernel`).
//!
//! ```
//! use envoi_api::token::{Scope, Token};
//!
//! let token = Token { name: "ci".to_owned(), tenant: "local".to_owned(), scopes: vec![Scope::Read] };
//! let text = serde_json::to_string(&token)?;
//! assert_eq!(text, r#"{"name":"ci","tenant":"local","scopes":["read"]}"#);
//! assert_eq!(serde_json::from_str::<Token>(&text)?, token);
//! # Ok::<(), serde_json::Error>(())
//! ```

pub mod bridge;
pub mod event;
pub mod flow;
#[cfg(feature = "flow")]
mod from_flow;
#[cfg(feature = "journal")]
mod from_journal;
pub mod problem;
pub mod question;
pub mod request;
pub mod run;
mod scalar;
pub mod schema;
pub mod step;
pub mod store;
pub mod words;

pub use flow::{backtest, mistake, plan, shape};
#[cfg(feature = "flow")]
pub use from_flow::PlannedTexts;
#[cfg(feature = "journal")]
pub use from_journal::QuestionContext;
pub use question::preview;
pub use run::{amounts, comparison, file, log};
pub use scalar::{Time, any};
pub use step::{cause, handoff, headline};
pub use store::{bundle, cache, output, retention, token};
