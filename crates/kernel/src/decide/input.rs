//! A file for each input of a run.

pub(crate) mod answer;
pub(crate) mod call;
pub(crate) mod cancel;
pub(crate) mod correct;
pub(crate) mod expire;
pub(crate) mod files;
pub(crate) mod fork;
pub(crate) mod raise;
pub(crate) mod reopen;
pub(crate) mod settle;
pub(crate) mod start;
pub(crate) mod timer;
pub(crate) mod try_now;
