//! Contents on disk, by digest.

pub(crate) mod contents;
pub(crate) mod examine;
pub(crate) mod intake;
pub(crate) mod pack;
pub(crate) mod sweep;
