//! The text of a file as a tree: YAML, places, mistakes, and the readers that every part of the language shares.
//!
//! Knows nothing of flows.

pub(crate) mod diagnostic;
pub(crate) mod document;
pub(crate) mod keys;
pub(crate) mod list;
pub(crate) mod names;
pub(crate) mod path;
pub(crate) mod read;
pub(crate) mod suggestion;
pub(crate) mod tree;
pub(crate) mod yaml;
