//! A message of a client: it starts a run, or answers the question of a waiting run.
//!
//! Ensures that a message is carried out once, however often it is sent. The engine decides what follows from
//! it.

pub(crate) mod answer;
pub(crate) mod answer_task;
pub(crate) mod envelope;
pub(crate) mod inputs;
pub(crate) mod pending_push_config;
pub(crate) mod record;
pub(crate) mod send;
pub(crate) mod start_task;
