//! Commands about a flow file, before there is a run.

pub(crate) mod backtest;
pub(crate) mod check;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod next;
pub(crate) mod plan;
