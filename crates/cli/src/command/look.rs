//! Commands that show runs and their results. They change nothing.

pub(crate) mod artifacts;
pub(crate) mod inbox;
pub(crate) mod logs;
pub(crate) mod runs;
pub(crate) mod show;
pub(crate) mod why;
