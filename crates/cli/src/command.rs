//! One module a command.

pub(crate) mod answer;
pub(crate) mod cancel;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod conformance;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod filter;
pub(crate) mod fork;
pub(crate) mod import;
pub(crate) mod inbox;
pub(crate) mod init;
pub(crate) mod logs;
pub(crate) mod manual;
pub(crate) mod plan;
pub(crate) mod raise;
pub(crate) mod repair;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod store;
pub(crate) mod token;
pub(crate) mod why;
