//! Text for a terminal: columns, differences, documents, durations, locations in a run and values as words.

pub(crate) mod columns;
pub(crate) mod duration;
pub(crate) mod known;
pub(crate) mod markdown;
pub(crate) mod shell;
pub(crate) mod words;

pub(crate) use envoi_changes::{lines as diff, location};
