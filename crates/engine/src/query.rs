//! Queries of the journal: runs, and what is done for them now. Changes nothing.

pub(crate) mod activity;
pub(crate) mod flow_cache;
pub(crate) mod load;
pub(crate) mod misfit;
pub(crate) mod obstacles;
pub(crate) mod question;
pub mod snapshots;
