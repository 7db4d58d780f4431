//! Contents on disk, by digest.

pub(crate) mod contents;
pub(crate) mod durable;
pub(crate) mod examine;
pub(crate) mod intake;
pub(crate) mod pack;
