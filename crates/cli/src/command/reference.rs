//! Commands that print documents: help, schemas, completions, manual pages.

pub(crate) mod completions;
pub(crate) mod explain;
pub(crate) mod help;
pub(crate) mod manual;
pub(crate) mod schema;
