//! What a terminal shows of text: its columns, differences, documents, durations, places in a run and values as words.

pub(crate) mod columns;
pub(crate) mod duration;
pub(crate) mod known;
pub(crate) mod markdown;
pub(crate) mod shell;
pub(crate) mod words;

pub(crate) use envoi_changes::{lines as diff, location};
