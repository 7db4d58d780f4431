//! The REST operations, one file for each group.
//!
//! Owns the members of bodies and answers. Requests that change a run go through `commands`.

pub(crate) mod artifacts;
pub(crate) mod correct;
pub(crate) mod event_stream;
pub(crate) mod files;
pub(crate) mod flows;
pub(crate) mod logs;
pub(crate) mod metrics;
pub(crate) mod questions;
pub(crate) mod rows;
pub(crate) mod run_contents;
pub(crate) mod runs;
pub(crate) mod sessions;
pub(crate) mod start;
pub(crate) mod steps;
