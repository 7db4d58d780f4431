//! The files that people and steps read: hand-offs and the newest version of each artifact.
//!
//! Owns their paths and that they equal the events. They are projections: nothing is fsynced, and a file that is
//! missing or differs is written again. No decision reads them. No link below the store's folder is followed.

mod answer;
mod artifacts;
mod attempts;
mod handoffs;
mod project;
mod restore;
mod run_files;
#[cfg(test)]
mod tests;

pub use artifacts::is_plain;
pub use project::{are_many, project, project_next};
pub use restore::{is_placed, place_stream, restore_answer, restore_run, restore_visit};
pub use run_files::digest_of;

pub(crate) use restore::restore;
pub(crate) use run_files::{digest_below, in_the_way};
