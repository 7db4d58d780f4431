//! Derives one decision about what happens next from a step's hand-off text (contract 1).
//!
//! Owns the signal with its two wire forms, the resolver's input, the reading of the text and the decision table. It
//! does not act on a decision: limits, retries and questions belong to the run.
//!
//! ```
//! use envoi_contract::routing;
//!
//! let input = routing::decode_input(
//!     br#"{"handoff_text": "Review done. Status: UNVERIFIED",
//!          "routing": {"routing_kind": "microloop", "loop_target": "VERIFIED"}}"#,
//! )?;
//! let resolution = routing::resolve(&input)?;
//! assert_eq!(resolution.signal.decision, routing::Decision::Loop);
//! assert_eq!(resolution.signal.reason, "Loop target not reached (iteration 0 of 3)");
//! # Ok::<(), envoi_contract::error::Diagnostic>(())
//! ```

mod handoff;
mod hint;
mod input;
mod label;
mod resolve;
mod scan;
mod signal;
mod text;

#[cfg(test)]
mod tests;

pub(crate) use text::summary_lines;

pub use input::{Input, Kind, Routing, decode_input};
pub use resolve::{Audit, Resolution, resolve};
pub use signal::{Decision, Route, Signal};

use crate::code::Code;

/// Code of a refused resolver input.
pub const ROUTING_INVALID: Code = Code::RoutingInvalid;

/// Code of a refused signal.
pub const ROUTING_SIGNAL_INVALID: Code = Code::RoutingSignalInvalid;
