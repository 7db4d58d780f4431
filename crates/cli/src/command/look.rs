//! Commands that show runs and what they left, and change nothing.

pub(crate) mod artifacts;
pub(crate) mod inbox;
pub(crate) mod logs;
pub(crate) mod runs;
pub(crate) mod show;
pub(crate) mod why;
