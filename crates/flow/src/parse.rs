//! From the tree of a file to a draft: a module for each part of the language.
//!
//! A part is read alone. [`crate::check`] owns the rules across steps.

pub(crate) mod agent;
pub(crate) mod ask;
pub(crate) mod bounds;
mod cached;
pub(crate) mod draft;
pub(crate) mod file;
pub(crate) mod files;
pub(crate) mod for_each;
pub(crate) mod goals;
pub(crate) mod model;
pub(crate) mod notify;
pub mod outputs;
pub(crate) mod program;
pub(crate) mod routing;
pub(crate) mod schema;
pub(crate) mod secret;
pub(crate) mod shell;
pub(crate) mod step;
pub(crate) mod subflow;
pub(crate) mod waits;
pub(crate) mod workspace;
