//! Values: the list of a folder, the differences between two, and the folders that a change takes away.

pub(crate) mod bounds;
pub(crate) mod compare;
pub(crate) mod conflict;
pub(crate) mod folders;
pub(crate) mod list;
pub(crate) mod merge;
pub(crate) mod scope;
pub(crate) mod stop;
