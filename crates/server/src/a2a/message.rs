//! A message of a client: it starts a run, or answers the question of one that waits.
//!
//! Owns that a message is done once, however often it comes. What the engine makes of it is decided there.

pub(crate) mod answer;
pub(crate) mod answer_task;
pub(crate) mod envelope;
pub(crate) mod inputs;
pub(crate) mod pending_push_config;
pub(crate) mod record;
pub(crate) mod send;
pub(crate) mod start_task;
