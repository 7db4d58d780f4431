//! Checks across the steps of a flow: targets exist, loops are bounded, and expressions read only steps that may have
//! run.

pub(crate) mod cached;
mod data_fields;
pub(crate) mod expression;
pub(crate) mod files;
pub(crate) mod forms;
pub(crate) mod goals;
pub(crate) mod graph;
mod quotes;
pub(crate) mod scripts;
pub(crate) mod warnings;
