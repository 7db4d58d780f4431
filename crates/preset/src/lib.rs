//! Agent programs (`claude`, `codex`) and models as steps: how to start or call them, and how to interpret their
//! events or replies.
//!
//! Pure. A [`Preset`] is data about one program: its arguments for a start and for a resume ([`Invocation`]), whether
//! the caller chooses the session id, and the tested versions. A [`Reading`] takes the program's output, in pieces of
//! any size, and returns the [`Outcome`]: text, data, usage, session, and the class of a failure. A
//! [`protocol::Protocol`] does the same for one call of a model. Starts no process, sends nothing and reads no file.
//! The kernel decides what follows from an outcome.
//!
//! ```
//! use envoi_preset::{Exit, Masking, Preset, Reading};
//!
//! let mut reading = Reading::of(Preset::Codex, Masking::default());
//! let lines = reading.push(br#"{"type":"thread.started","thread_id":"01a2"}
//! {"type":"item.completed","item":{"type":"agent_message","text":"Done."}}
//! {"type":"turn.completed","usage":{"input_tokens":100,"output_tokens":10}}
//! "#);
//! assert_eq!(lines.len(), 3);
//! let outcome = reading.finish(Exit::Code(0), "", false);
//! assert_eq!((outcome.text.as_str(), outcome.session.as_deref()), ("Done.", Some("01a2")));
//! assert!(outcome.failure.is_none());
//! ```

mod ask;
mod events;
mod failure;
mod feedback;
mod invocation;
mod lines;
mod may;
mod member;
mod outcome;
mod pieces;
mod preset;
pub mod protocol;
mod reading;
pub mod reset;
mod usage;

pub use ask::{OWN_QUESTION, Pattern, ToolCall};
pub use failure::{Class, Failure};
pub use feedback::{MAX_FEEDBACK_BYTES, end_of_feedback};
pub use invocation::{Asks, Invocation, Resume};
pub use may::May;
pub use member::Masking;
pub use outcome::{Exit, Outcome};
pub use pieces::with_whole_text;
pub use preset::{NO_BACKGROUND_WORK, Preset, Support, Version};
pub use reading::{Part, ProgramLine, Reading};
pub use usage::{Figures, Usage};
