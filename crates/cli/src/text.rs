//! What a terminal shows of text: its columns, differences, documents, durations, places in a run and values as words.

pub(crate) mod columns;
pub(crate) mod diff;
pub(crate) mod duration;
pub(crate) mod location;
pub(crate) mod markdown;
pub(crate) mod shell;
pub(crate) mod words;
