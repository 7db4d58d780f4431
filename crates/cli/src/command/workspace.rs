//! Commands about the files of a workspace, and about the trees of runs.

pub(crate) mod apply;
pub(crate) mod cache;
pub(crate) mod diff;
pub(crate) mod gc;
pub(crate) mod patch;
pub(crate) mod pull_request;
pub(crate) mod restore;
