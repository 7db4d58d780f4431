//! The output of a command: its streams, its text and its report.

pub(crate) mod ansi;
pub(crate) mod cleaning;
pub(crate) mod closed;
pub(crate) mod report;
pub(crate) mod run_base;
pub(crate) mod strays;
pub(crate) mod stream;
pub(crate) mod text;
