//! The five envelopes of a pipeline: strict reader, types, codecs, resolvers.
//!
//! Everything that crosses a boundary in a pipeline is one of five typed envelopes; this crate owns their exact
//! meaning. It does no IO and reads no clock, no environment and no random source: times and ids arrive as values,
//! and the same input gives the same bytes on every machine. It does not depend on how a step is run, how a run is
//! stored, or who the caller is.
//!
//! | module | boundary |
//! |---|---|
//! | [`routing`] | hand-off to control flow: one decision with a reason and a confidence |
//! | [`handoff`] | step to next step: its result, its files, the next step |
//! | [`envelope`] | the run itself: the state of the whole pipeline |
//! | [`skill_report`] | skill or tool to engine: whether it worked, whatever the exit code is |
//! | [`user_envelope`] | person to paused run: an answer with files through a text-only channel |
//!
//! [`schema`] describes them in JSON Schema, [`conformance`] in examples.
//!
//! These rules apply to all five (CONTRACTS 0): documents are UTF-8 JSON of at most 16 MiB and 127 levels, with each
//! member name once; integers that a contract reads lie in 0 to 2^53 - 1; free-form values keep member order, string
//! values and number tokens; members that a contract does not know are kept and written after the known ones (the
//! user envelope refuses them); an unknown word of a closed vocabulary is refused and never replaced by a default. A
//! refusal is an [`error::Diagnostic`].
//!
//! The five use [`json`] (the strict reader and writer), [`time`], [`digest`] and [`error`].
#![no_std]

extern crate alloc;

#[cfg(test)]
extern crate std;

pub mod code;
pub mod conformance;
mod decode;
pub mod digest;
pub mod envelope;
pub mod error;
pub mod handoff;
pub mod interpretation;
pub mod json;
mod labelled;
mod quoted;
pub mod routing;
#[cfg(feature = "serde")]
mod row;
pub mod schema;
pub mod skill_report;
#[cfg(feature = "serde")]
pub mod stored;
pub mod suggestion;
pub mod time;
pub mod user_envelope;
mod vocabulary;
