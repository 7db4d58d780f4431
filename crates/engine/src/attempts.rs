//! Attempts by real commands: their orders, their supervisors, and what they leave.

pub(crate) mod accounts;
mod agent;
mod cached;
pub(crate) mod callable_models;
mod conflict_edit;
pub(crate) mod copies;
mod failed_command;
mod feedback;
pub(crate) mod git;
pub(crate) mod going;
pub(crate) mod item_trees;
pub(crate) mod merge;
mod merge_error;
mod model;
pub(crate) mod not_passed;
mod order;
pub(crate) mod outside;
pub(crate) mod presence;
pub(crate) mod processes;
mod program;
mod secret_marks;
pub(crate) mod secrets;
mod settlement;
mod shared;
pub(crate) mod variables;
