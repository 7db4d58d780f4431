//! Checks values against schemas: inputs of a run, and answers to a form.
//!
//! Used while a flow is read and while it runs.

pub mod answers;
pub mod env_file;
pub mod inputs;
pub(crate) mod json_schema;
