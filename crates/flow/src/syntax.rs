//! The text of a file as a tree: YAML, locations, mistakes, and readers for all parts of the language.
//!
//! Does not depend on the content of flows.

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
