//! The state that all requests share: the store, the engine's desk, the settings and the limits.
//!
//! Owns everything that lives as long as the server. It answers no request.

pub(crate) mod app;
pub(crate) mod attachments;
pub(crate) mod commit_watch;
pub(crate) mod contexts;
pub(crate) mod desk;
pub(crate) mod digest_cache;
pub(crate) mod head_cache;
pub(crate) mod request_counts;
pub(crate) mod settings;
pub(crate) mod shown_events;
pub(crate) mod so_far;
pub(crate) mod step_rows;
