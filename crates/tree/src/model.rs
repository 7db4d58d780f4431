//! Values: the list of a folder, and what differs between two.

pub(crate) mod bounds;
pub(crate) mod compare;
pub(crate) mod conflict;
pub(crate) mod list;
pub(crate) mod merge;
pub(crate) mod stop;
