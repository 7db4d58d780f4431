//! The event loop, and its state for each run.

pub(crate) mod accounts;
pub(crate) mod active_run;
pub(crate) mod alarms;
pub(crate) mod changing;
pub(crate) mod engine;
pub(crate) mod held_runs;
pub(crate) mod outbox;
pub(crate) mod snapshots;
