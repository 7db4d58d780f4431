//! The workspace of an attempt: which files it has changed, and copies of them.

pub(crate) mod artifact_copy;
mod artifact_name;
pub(crate) mod artifacts;
pub(crate) mod before;
pub(crate) mod cancellable;
pub(crate) mod kept;
pub(crate) mod slow;
