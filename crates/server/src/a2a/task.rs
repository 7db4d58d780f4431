//! A run as A2A clients see it: a task with a status, artifacts and a history.
//!
//! [`fold`] makes it of all events of the run, [`snapshot`] of its state and a few of its events; both give
//! the same task. [`loader`] reads their data from the store, and [`writer`] converts the task to its A2A
//! form. [`state`] maps the status.

pub(crate) mod fold;
pub(crate) mod loader;
pub(crate) mod snapshot;
pub(crate) mod state;
pub(crate) mod writer;
