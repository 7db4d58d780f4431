//! Which files a folder has, and which of them are known already.

pub(crate) mod cache;
pub(crate) mod git;
pub(crate) mod stat;
pub(crate) mod walk;
